({
  // The tools that the page knows; null without WebMCP.
  async names() {
    const context = document.modelContext;
    if (!context?.getTools || !context.executeTool) return null;
    return (await context.getTools()).map((tool) => tool.name);
  },

  // Keeps a tool for a later call, and tells the sandbox to unregister it.
  async keep(name) {
    const tools = await document.modelContext.getTools();
    globalThis[Symbol.for("remit.kept")] = tools.find((tool) => tool.name === name);
    dispatchEvent(new Event("withdraw"));
  },

  // Calls a tool once, the kept one if there is one. The input is the value
  // itself, which browsers take from Chromium 155 on.
  async call(name, input) {
    const context = document.modelContext;
    const kept = globalThis[Symbol.for("remit.kept")];
    const tool = kept ?? (await context.getTools()).find((tool) => tool.name === name);
    if (!tool) return { error: "NotFound" };
    const stop = new AbortController();
    globalThis[Symbol.for("remit.stop")] = stop;
    try {
      const text = await context.executeTool(tool, input, { signal: stop.signal });
      return { text: String(text) };
    } catch (error) {
      return { error: String(error?.name ?? "Error") };
    }
  },

  // Stops the call that runs.
  async stop() {
    globalThis[Symbol.for("remit.stop")].abort();
  },
})
