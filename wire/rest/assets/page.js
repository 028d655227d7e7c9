// Shows answers without leaving the page, and lets calls and configurations be
// copied. The page does its work without this file. Everything is put in as
// text, never as markup.
"use strict";

function element(name, text, className) {
  const made = document.createElement(name);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

function show(target, status, failed, sentence, body) {
  target.replaceChildren(element("h4", status, failed ? "failed" : ""));
  if (sentence) target.append(element("p", sentence));
  if (body) target.append(element("pre", body));
}

async function call(form) {
  const tool = form.dataset.tool;
  const target = document.getElementById("answer-" + tool);
  try {
    const response = await fetch("/v1/tools/" + encodeURIComponent(tool), {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: form.elements.input.value,
    });
    const text = (await response.text()).trimEnd();
    const failed = !response.ok;
    const { error = "", code = response.status } = failed ? JSON.parse(text) : {};
    show(target, failed ? "Failure " + code : "Answer", failed, error, text);
  } catch {
    show(target, "No answer", true, "The server did not answer. Whether it ran the call is not known.", "");
  }
}

for (const form of document.querySelectorAll("form[data-tool]")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    call(form);
  });
}

for (const block of document.querySelectorAll("pre.copy")) {
  if (!navigator.clipboard) break;
  const button = element("button", "Copy");
  button.type = "button";
  button.setAttribute("aria-label", "Copy " + (block.previousElementSibling?.textContent ?? "this"));
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(block.textContent);
    button.textContent = "Copied";
  });
  block.after(button);
}
