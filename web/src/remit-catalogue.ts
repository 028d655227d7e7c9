// What the server says of its tools, and which of them the page asks for.

import { call } from "./remit-call";
import type { Refusals, Schema } from "./remit-judge";

/** The bytes of the failures that are made in the page, each told by its cause. */
export interface Failures {
  /** No answer arrived, or none that can be read. */
  readonly lost: string;
  /** The input cannot be written as JSON. */
  readonly unreadable: string;
  /** Cancelled before it was sent. */
  readonly unsent: string;
  /** Cancelled after it was sent. */
  readonly cancelled: string;
  /** This script or the server broke. */
  readonly broken: string;
  /** A gateway or the server takes no calls now. */
  readonly busy: string;
  /** The server wants credentials, or refuses these. */
  readonly authenticate: string;
  readonly denied: string;
  /** The server did not take the request for a call. */
  readonly refused: string;
}

/** One tool as GET /v1/webmcp describes it. */
export interface Description {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Schema;
  readonly annotations: WebMCP.ToolAnnotations;
  readonly refusals: Refusals;
  /** Index into the catalogue's failures. */
  readonly failures: number;
}

interface Catalogue {
  readonly tools: readonly Description[];
  readonly failures: readonly Failures[];
}

/** The script's own element, null where it cannot be told. */
export function own(): HTMLScriptElement | null {
  const running = document.currentScript;
  if (running instanceof HTMLScriptElement) {
    return running;
  }
  const all = document.querySelectorAll<HTMLScriptElement>('script[src*="/remit.js"]'); // a module has no currentScript
  return all[all.length - 1] ?? null;
}

/** The server's tools, ready to be registered. */
export async function fetchCatalogue(script: HTMLScriptElement): Promise<Remit.Tool[]> {
  const at = new URL("v1/webmcp", script.src);
  const response = await fetch(at);
  if (!response.ok) {
    throw new Error(`${at.href} answered ${response.status}`);
  }
  const { tools, failures } = (await response.json()) as Catalogue;
  return tools.map((tool) => bind(tool, failures[tool.failures] as Failures, at.href));
}

function bind(tool: Description, failures: Failures, at: string): Remit.Tool {
  const address = `${at}/${encodeURIComponent(tool.name)}`;
  const { name, description, inputSchema, annotations } = tool;
  return { name, description, inputSchema, annotations, execute: (input, options) => call({ tool, failures, address }, input, options) };
}

/** The names in data-tools, apart by blanks or commas; undefined where it is absent. */
export function chosen(script: HTMLScriptElement): readonly string[] | undefined {
  return script.dataset["tools"]?.split(/[\s,]+/).filter((name) => name !== "");
}
