// What the pages for people do beyond what they do without a script: answers
// appear without leaving the page, a wait counts down, texts can be copied, and
// preferences can be moved. Whatever it shows comes from the server's own page.

/** The event of a form that an agent fills in, where the browser has agents. */
interface AgentSubmitEvent extends SubmitEvent {
  readonly agentInvoked?: boolean;
  respondWith?(answer: Promise<unknown>): void;
}

/** What an agent reads of one call at most, in code points. */
const CHARACTERS = 1500;

/** How often a countdown is written, in milliseconds. */
const TICK = 250;

let ticking: number | undefined;

/** The part of the address that holds a request; a fragment only names a place. */
function requestShown(): string {
  return location.pathname + location.search;
}

let shown = requestShown();

/** The elements under root that match a selector and are of a kind. */
function all<T extends Element>(root: ParentNode, selector: string, kind: new () => T): T[] {
  return Array.from(root.querySelectorAll(selector)).filter((found) => found instanceof kind) as T[];
}

/** A button that does not send a form. */
function button(words: string, label: string, press: () => void): HTMLButtonElement {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = words;
  made.setAttribute("aria-label", label);
  made.addEventListener("click", press);
  return made;
}

/** Puts a button to copy a text behind each text that is worth copying. */
function addCopiers(root: ParentNode): void {
  if (!navigator.clipboard) return;
  for (const block of all(root, "pre.copy", HTMLPreElement)) {
    const name = root.querySelector(`#${CSS.escape(block.getAttribute("aria-labelledby") ?? "none")}`)?.textContent ?? "the text";
    const said = document.createElement("span");
    said.setAttribute("role", "status");
    const copier = button("Copy", `Copy: ${name}`, () => {
      said.textContent = "";
      navigator.clipboard.writeText(block.textContent ?? "").then(
        () => (said.textContent = "Copied"),
        () => (said.textContent = "Not copied"),
      );
    });
    const line = document.createElement("p");
    line.className = "copier";
    line.append(copier, said);
    block.after(line);
  }
}

/** Exchanges what two rows of preferences hold. */
function exchange(a: Element, b: Element): void {
  const theirs = all(b, "select", HTMLSelectElement);
  all(a, "select", HTMLSelectElement).forEach((select, i) => {
    const other = theirs[i];
    if (other) [select.value, other.value] = [other.value, select.value];
  });
}

/** Gives each preference buttons that move it up and down. */
function addMoves(root: ParentNode): void {
  const rows = all(root, ".preference", HTMLLIElement);
  if (rows.length < 2) return;
  rows.forEach((row, i) => {
    const moves = document.createElement("span");
    moves.className = "moves";
    for (const [sign, words, other] of [["↑", "up", rows[i - 1]], ["↓", "down", rows[i + 1]]] as const) {
      const move = button(sign, `Move preference ${i + 1} ${words}`, () => {
        if (!other) return;
        exchange(row, other);
        other.querySelector("select")?.focus();
      });
      move.disabled = !other;
      moves.append(move);
    }
    row.append(moves);
  });
}

/** Writes what is left of a wait, rounded up: nobody is told to come early. */
function waitWords(ms: number): string {
  const units: [number, string][] = [[86_400_000, "days"], [3_600_000, "hours"], [60_000, "minutes"], [1000, "seconds"]];
  for (const [size, name] of units) {
    if (ms > size) return `${Math.ceil(ms / size)} ${name}`;
  }
  return "1 second";
}

/** Counts the wait of a failure down and offers the repetition only then. */
function startTimer(root: ParentNode): void {
  window.clearInterval(ticking);
  const timer = root.querySelector<HTMLElement>("#timer");
  if (!timer) return;
  const wait = Number(timer.dataset["wait"]);
  const repeat = root.querySelector<HTMLElement>(".repeat");
  if (!(wait > 0)) return;
  const until = performance.now() + wait;
  if (repeat) repeat.hidden = true;
  const show = (): void => {
    const left = until - performance.now();
    timer.textContent = left > 0 ? waitWords(left) : "over; it may be repeated now";
    if (left > 0) return;
    window.clearInterval(ticking);
    if (repeat) repeat.hidden = false;
  };
  show();
  ticking = window.setInterval(show, TICK);
}

/** Gives a part of the page all that a script adds to it. */
function enhance(root: ParentNode): void {
  addCopiers(root);
  addMoves(root);
  startTimer(root);
}

/** The address that a form leads to, without what may be left empty and was. */
function addressOf(form: HTMLFormElement): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of new FormData(form)) {
    const required = document.getElementById(`field-${name}`)?.getAttribute("aria-required") === "true";
    if (typeof value === "string" && (value !== "" || required)) parameters.append(name, value);
  }
  if (parameters.size === 0) parameters.append(form.dataset["whole"] ?? "request", "{}"); // an address without a request asks nothing
  return `${form.getAttribute("action") ?? ""}?${parameters.toString()}`;
}

/** Whether a form's tool has an effect. A form's own properties may be fields that are named like them. */
function posts(form: HTMLFormElement): boolean {
  return form.getAttribute("method") === "post";
}

/** What is known where no answer came. */
function lossOf(form: HTMLFormElement): string {
  return posts(form)
    ? "No answer came. Whether the call took effect is not known; do not send it again."
    : "No answer came. This tool only reads: asking again is safe.";
}

/** Gives the heading of an answer the focus, and the screen to what it heads. */
function present(title: HTMLElement | null): void {
  if (!title) return;
  title.focus({ preventScroll: true });
  const top = title.getBoundingClientRect().top;
  if (top < 0 || top > window.innerHeight / 2) title.scrollIntoView();
}

/** Says in the answer's place that none came. */
function showLoss(form: HTMLFormElement): void {
  const title = document.getElementById("answer-title");
  if (!title) return;
  const sentence = document.createElement("p");
  sentence.className = "sentence";
  sentence.textContent = lossOf(form);
  const kept = title.cloneNode() as HTMLElement;
  kept.textContent = "No answer";
  title.parentElement?.replaceChildren(kept, sentence);
  present(kept);
}

/** The number of the last answer that was asked for: an older one that comes later is not shown. */
let latest = 0;

/** Shows the answer of another page of this tool in this one, and gives that page; the form stays where an agent waits for it. */
async function showAnswer(keep: boolean, address: string, init?: RequestInit): Promise<Document> {
  const turn = ++latest;
  const response = await fetch(address, init);
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const bytes = page.cloneNode(true) as Document;
  if (turn !== latest) return bytes;
  const work = page.getElementById("work");
  const here = document.getElementById("work");
  if (!work || !here) throw new Error("no page of a tool came");
  const fresh = document.adoptNode(work);
  enhance(fresh);
  const ask = keep ? here.querySelector(".ask") : null;
  if (ask) {
    fresh.querySelector(".ask")?.remove();
    while (ask.nextSibling) ask.nextSibling.remove();
    here.append(...fresh.childNodes);
  } else {
    here.replaceWith(fresh);
  }
  document.title = page.title;
  present(document.getElementById("answer-title"));
  return bytes;
}

/** Sends a form and shows the answer. */
async function send(form: HTMLFormElement, keep: boolean): Promise<Document> {
  if (posts(form)) {
    return showAnswer(keep, form.getAttribute("action") ?? "", { method: "POST", body: new URLSearchParams([...new FormData(form)] as [string, string][]) });
  }
  return follow(addressOf(form), keep);
}

/** Shows the answer to what an address asks, and keeps the address. */
async function follow(address: string, keep: boolean): Promise<Document> {
  const page = await showAnswer(keep, address);
  history.pushState(null, "", address);
  shown = requestShown();
  return page;
}

/** A failure in the form that an agent in the page reads. */
function failure(body: Record<string, unknown>, sentence: string, bytes: string): object {
  const brief = { ...body, isError: true, content: [{ type: "text", text: sentence }] };
  const whole = { ...brief, content: [...brief.content, { type: "text", text: bytes }] };
  return [...JSON.stringify(whole)].length <= CHARACTERS ? whole : brief;
}

/** What an agent that filled in the form gets: the bytes that a page shows, of a failure as an object. */
function agentAnswer(page: Document): unknown {
  const bytes = (page.getElementById("agent-bytes") ?? page.getElementById("answer-bytes"))?.textContent;
  if (!bytes) throw new Error("the page shows no answer");
  if (!page.querySelector("#answer.failed")) return bytes;
  const body = JSON.parse(bytes) as Record<string, unknown>;
  return failure(body, String(body["error"]), bytes);
}

/** The forms whose tool has an effect and is being called: a second press is the same call. */
const sending = new WeakMap<HTMLFormElement, Promise<unknown>>();

/** Says that no answer came, in the page and to an agent. */
function lost(form: HTMLFormElement): object {
  showLoss(form);
  const error = lossOf(form);
  const code = posts(form) ? "OUTCOME_UNKNOWN" : "TEMP_UNAVAILABLE";
  const wait = posts(form) ? null : 1000;
  const body = { error, code, retryable: !posts(form), recovery: { code, message: error, field: null, retry_after_ms: wait } };
  return failure(body, error, JSON.stringify(body));
}

document.addEventListener("submit", (event: AgentSubmitEvent) => {
  const form = event.target;
  if (!(form instanceof HTMLFormElement) || form.getAttribute("id") !== "form") return;
  event.preventDefault();
  const running = sending.get(form);
  const answer = running ?? send(form, event.agentInvoked === true).then(agentAnswer).catch(() => lost(form));
  if (event.agentInvoked) event.respondWith?.(answer);
  if (running || !posts(form)) return;
  sending.set(form, answer);
  form.setAttribute("aria-busy", "true");
  void answer.finally(() => {
    sending.delete(form);
    form.removeAttribute("aria-busy");
  });
});

document.addEventListener("click", (event) => {
  const form = document.querySelector("form");
  const link = event.target instanceof Element ? event.target.closest(".repeat") : null;
  if (!form || !link || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  follow(link.getAttribute("href") ?? "", false).catch(() => showLoss(form));
});

window.addEventListener("popstate", () => {
  if (requestShown() !== shown) location.reload();
});

enhance(document);
