// The entry of /remit.js: registers the tools of the server that the script
// came from, those that its data-tools names, for as long as the page is shown.

import { chosen, fetchCatalogue, own } from "./remit-catalogue";
import { keepRegistered, modelContext } from "./remit-register";

/** Sets the page's interface; of several script elements it is that of the last. */
function start(): void {
  const script = own();
  if (!script) {
    return;
  }
  const ready = register(script).catch((reason: unknown): Remit.Registration => ({ tools: [], left: [{ name: "", reason: String(reason) }] }));
  Object.defineProperty(window, "remit", { value: Object.freeze({ ready }), configurable: true });
}

async function register(script: HTMLScriptElement): Promise<Remit.Registration> {
  const context = modelContext();
  if (!context) {
    return { tools: [], left: [] };
  }
  const names = chosen(script);
  const all = await fetchCatalogue(script);
  const tools = names ? all.filter((tool) => names.includes(tool.name)) : all;
  const missing = names?.filter((name) => !all.some((tool) => tool.name === name)) ?? [];
  const registered = await keepRegistered(context, tools);
  return { ...registered, left: [...registered.left, ...missing.map((name) => ({ name, reason: "the server has no such tool" }))] };
}

start();
