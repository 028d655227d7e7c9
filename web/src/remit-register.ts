// How long the tools stay registered: while the page is shown. A page that a
// browser keeps for going back (bfcache) has none, and has them again when it
// is shown again; within a document, navigation changes nothing.

declare global {
  interface Navigator {
    /** Where browsers and polyfills had it before document.modelContext. */
    readonly modelContext?: WebMCP.ModelContext;
  }
}

/** The browser's model context or that of a polyfill; undefined where there is none. */
export function modelContext(): WebMCP.ModelContext | undefined {
  return document.modelContext ?? navigator.modelContext;
}

/** Registers the tools when they are known, and anew each time that the page comes back; never while it is hidden. */
export async function keepRegistered(context: WebMCP.ModelContext, known: Promise<readonly Remit.Tool[]>): Promise<Remit.Registration> {
  let shown = new AbortController();
  const register = async (): Promise<Remit.Registration> => {
    const { signal } = shown;
    return registerAll(context, signal.aborted ? [] : await known, signal);
  };
  addEventListener("pagehide", () => shown.abort());
  addEventListener("pageshow", (event) => {
    if (event.persisted && shown.signal.aborted) {
      shown = new AbortController();
      register().catch(() => undefined); // the first registration has told why
    }
  });
  return register();
}

/** A reason in words, whatever was thrown. */
export function said(reason: unknown): string {
  try {
    return String(reason);
  } catch {
    return "a reason without words";
  }
}

/** Registers each tool; one that the browser refuses keeps no other back. */
async function registerAll(context: WebMCP.ModelContext, tools: readonly Remit.Tool[], signal: AbortSignal): Promise<Remit.Registration> {
  const names: string[] = [];
  const left: { name: string; reason: string }[] = [];
  await Promise.all(
    tools.map(async (tool) => {
      try {
        signal.throwIfAborted(); // the page was hidden before the tools were known
        await context.registerTool(tool, { signal });
        names.push(tool.name);
      } catch (reason) {
        left.push({ name: tool.name, reason: said(reason) });
      }
    }),
  );
  return { tools: names, left };
}
