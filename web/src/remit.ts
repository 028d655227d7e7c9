// The entry of /remit.js: registers the tools of the server that the script
// came from, those that its data-tools names, for as long as the page is shown.

import { chosen, fetchCatalogue, own } from "./remit-catalogue";
import { keepRegistered, modelContext, said } from "./remit-register";

/** Sets the page's interface; of several script elements it is that of the last. */
function start(): void {
  const script = own();
  if (!script) {
    return;
  }
  const ready = register(script).catch((reason: unknown): Remit.Registration => ({ tools: [], left: [{ name: "", reason: said(reason) }] }));
  // A page that has made the name its own keeps it; its tools are registered all the same.
  Reflect.defineProperty(window, "remit", { value: Object.freeze({ ready }), configurable: true });
}

async function register(script: HTMLScriptElement): Promise<Remit.Registration> {
  const context = modelContext();
  if (!context) {
    return { tools: [], left: [] };
  }
  const names = chosen(script);
  const all = fetchCatalogue(script);
  const tools = all.then((list) => (names ? list.filter((tool) => names.includes(tool.name)) : list));
  const registered = await keepRegistered(context, tools);
  const served = await all;
  const missing = names?.filter((name) => !served.some((tool) => tool.name === name)) ?? [];
  return { ...registered, left: [...registered.left, ...missing.map((name) => ({ name, reason: "the server has no such tool" }))] };
}

start();
