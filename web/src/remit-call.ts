// One call: refused in the page or sent, and in any case answered. Nothing is
// repeated, thrown or rejected here.

import type { Description, Failures } from "./remit-catalogue";
import { refusal } from "./remit-judge";

/** A tool, the failures that are made here, and the address of its calls. */
export interface Target {
  readonly tool: Description;
  readonly failures: Failures;
  readonly address: string;
}

/** The answer to an input: the bytes of a success, or a failure. */
export async function call(target: Target, input: unknown, options?: { readonly signal?: AbortSignal }): Promise<Remit.Answer> {
  const { tool, failures } = target;
  try {
    const signal = options?.signal; // whoever calls may have made it throw
    const body = bodyOf(input);
    if (body === undefined) {
      return failure(failures.unreadable);
    }
    const refused = refusal(body, tool.inputSchema, tool.refusals);
    if (refused !== undefined) {
      return failure(refused);
    }
    return signal?.aborted ? failure(failures.unsent) : await send(target, body, signal);
  } catch {
    return failure(failures.broken);
  }
}

/** The JSON of an input, undefined where it has none: older browsers and polyfills may give it as text, whose bytes stay. */
function bodyOf(input: unknown): string | undefined {
  if (typeof input === "string") {
    return input;
  }
  try {
    return JSON.stringify(input === undefined ? {} : input) as string | undefined;
  } catch {
    return undefined; // a cycle, or a number without a form in JSON
  }
}

async function send({ failures, address }: Target, body: string, signal: AbortSignal | undefined): Promise<Remit.Answer> {
  let response: Response;
  let text: string;
  try {
    response = await fetch(address, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body,
      redirect: "error",
      signal: signal ?? null,
    });
    text = await response.text();
  } catch {
    return failure(signal?.aborted ? failures.cancelled : failures.lost);
  }
  text = text.replace(/\n$/, ""); // it ends the body, and is no part of the answer
  const made = read(text);
  if (made && response.ok) {
    return text;
  }
  return made?.["recovery"] ? failure(text) : failure(unanswered(response, failures));
}

/** A text that is a JSON object, null for any other. */
function read(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && !Array.isArray(value) ? (value as Record<string, unknown> | null) : null;
  } catch {
    return null;
  }
}

/** The failure that a response means which is no answer of the tool. */
function unanswered(response: Response, failures: Failures): string {
  switch (response.status) {
    case 401:
      return failures.authenticate;
    case 403:
      return failures.denied;
    case 408:
    case 425:
    case 429:
    case 503:
      return waiting(failures.busy, response.headers.get("Retry-After"));
  }
  if (response.ok || response.status === 502 || response.status === 504) {
    return failures.lost;
  }
  return response.status < 500 ? failures.refused : failures.broken;
}

/** The bytes of a failure with the wait that a Retry-After states, if it states one. */
function waiting(bytes: string, retryAfter: string | null): string {
  const ms = retryAfter === null ? NaN : milliseconds(retryAfter.trim());
  if (Number.isNaN(ms)) {
    return bytes;
  }
  const body = JSON.parse(bytes) as { recovery: { retry_after_ms: number } };
  body.recovery.retry_after_ms = Math.min(ms, Number.MAX_SAFE_INTEGER);
  return JSON.stringify(body);
}

/** Digits are seconds; a date in the past is as good as none. */
function milliseconds(retryAfter: string): number {
  if (/^\d+$/.test(retryAfter)) {
    return Number(retryAfter) * 1000;
  }
  const left = /^[A-Z][a-z]{2}/.test(retryAfter) ? Date.parse(retryAfter) - Date.now() : NaN;
  return left > 0 ? left : NaN;
}

/** What an agent reads of one call at most, in code points. */
const characters = 1500;

/**
 * The object that a failed call resolves with: its body's members, and what other consumers look for. The bytes of the body
 * stand in it once more where an agent's budget has room for them.
 */
function failure(bytes: string): Remit.Failure {
  const body = JSON.parse(bytes) as Omit<Remit.Failure, "isError" | "content">;
  const sentence: Remit.Content = { type: "text", text: body.error };
  const brief: Remit.Failure = { ...body, isError: true, content: [sentence] };
  const whole: Remit.Failure = { ...brief, content: [sentence, { type: "text", text: bytes }] };
  return [...JSON.stringify(whole)].length <= characters ? whole : brief;
}
