// A page's own script beside /remit.js.
async function names(): Promise<string[]> {
  const registered = await window.remit?.ready;
  for (const { name, reason } of registered?.left ?? []) {
    console.warn(`${name} is not registered: ${reason}`);
  }
  return [...(registered?.tools ?? [])];
}

// What an agent in the page makes of an answer.
function next(answer: Remit.Answer): string {
  if (typeof answer === "string") {
    return answer;
  }
  const wait: number | null = answer.recovery.retry_after_ms;
  return answer.retryable && wait !== null ? `again in ${wait} ms` : answer.content[1]?.text ?? answer.content[0].text;
}

// A tool is one that the browser takes.
async function again(tool: Remit.Tool, signal: AbortSignal): Promise<void> {
  await document.modelContext?.registerTool(tool, { signal });
  next(await tool.execute({ request_id: "Q1" }));
}

// @ts-expect-error An answer may be a failure: the compiler asks what becomes of it.
const text: string = await new Promise<Remit.Answer>(() => undefined);

export { again, names, text };
