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

/** Registers the tools now, and anew each time that the page comes back. */
export function keepRegistered(context: WebMCP.ModelContext, tools: readonly Remit.Tool[]): Promise<Remit.Registration> {
  let shown = new AbortController();
  addEventListener("pagehide", () => shown.abort());
  addEventListener("pageshow", (event) => {
    if (event.persisted) {
      shown = new AbortController();
      void registerAll(context, tools, shown.signal);
    }
  });
  return registerAll(context, tools, shown.signal);
}

/** Registers each tool; one that the browser refuses keeps no other back. */
async function registerAll(context: WebMCP.ModelContext, tools: readonly Remit.Tool[], signal: AbortSignal): Promise<Remit.Registration> {
  const names: string[] = [];
  const left: { name: string; reason: string }[] = [];
  await Promise.all(
    tools.map(async (tool) => {
      try {
        await context.registerTool(tool, { signal });
        names.push(tool.name);
      } catch (reason) {
        left.push({ name: tool.name, reason: String(reason) });
      }
    }),
  );
  return { tools: names, left };
}
