// Runs before the scripts of a page whose browser tells nothing of calls: wraps
// what the page registers with its modelContext. Each message to the binding is
// {tool} for a registration, {id, tool, input} for a call that begins, and
// {id, status, output} for one that ends.
(() => {
  const prototype = globalThis.ModelContext?.prototype;
  const tell = globalThis.__remitRecorder;
  if (!prototype?.registerTool || !tell) return;
  const register = prototype.registerTool;
  const written = (value) => {
    try {
      return JSON.stringify(value) ?? null;
    } catch {
      return null;
    }
  };
  prototype.registerTool = function (tool, ...rest) {
    const execute = tool.execute;
    tell(JSON.stringify({ tool: String(tool.name) }));
    const wrapped = Object.create(tool, {
      execute: {
        enumerable: true,
        value: async (input, ...others) => {
          const id = crypto.randomUUID?.() ?? String(Math.random());
          tell(JSON.stringify({ id, tool: String(tool.name), input: written(input) ?? "null" }));
          try {
            const output = await execute.call(tool, input, ...others);
            tell(`{"id":${JSON.stringify(id)},"status":"completed","output":${written(output) ?? "null"}}`);
            return output;
          } catch (error) {
            tell(JSON.stringify({ id, status: "error", output: null }));
            throw error;
          }
        },
      },
    });
    return register.call(this, wrapped, ...rest);
  };
})();
