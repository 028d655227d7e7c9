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

  // Calls a tool once, the kept one if there is one. Browsers up to Chromium
  // 154 take the input as JSON, and list schemas in the same form.
  async call(name, input) {
    const context = document.modelContext;
    const kept = globalThis[Symbol.for("remit.kept")];
    const tool = kept ?? (await context.getTools()).find((tool) => tool.name === name);
    if (!tool) return { error: "NotFound" };
    const stop = new AbortController();
    globalThis[Symbol.for("remit.stop")] = stop;
    const asText = typeof tool.inputSchema === "string" && typeof input === "object";
    try {
      const text = await context.executeTool(tool, asText ? JSON.stringify(input) : input, { signal: stop.signal });
      return { text: String(text) };
    } catch (error) {
      return { error: String(error?.name ?? "Error"), message: String(error?.message ?? error) };
    }
  },

  // Stops the call that runs.
  async stop() {
    globalThis[Symbol.for("remit.stop")].abort();
  },
})
