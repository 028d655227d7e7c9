// Shows answers without leaving the page, and lets calls and configurations be
// copied. The page does its work without this file.
"use strict";

function note(target, sentence) {
  const made = document.createElement("p");
  made.className = "failed";
  made.textContent = sentence;
  target.replaceChildren(made);
}

// The answer is the part of the page that the form would lead to.
async function send(form) {
  const target = document.getElementById("answer-" + form.dataset.tool);
  try {
    const response = await fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)) });
    const text = await response.text();
    if (!response.ok) {
      note(target, JSON.parse(text).error);
      return;
    }
    const page = new DOMParser().parseFromString(text, "text/html");
    target.replaceChildren(...page.getElementById(target.id).childNodes);
  } catch {
    note(target, "No answer came. Whether the call was executed is not known.");
  }
}

for (const form of document.querySelectorAll("form[data-tool]")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(form);
  });
}

for (const block of document.querySelectorAll("pre.copy")) {
  if (!navigator.clipboard) break;
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.setAttribute("aria-label", "Copy: " + (block.previousElementSibling?.textContent ?? "this"));
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(block.textContent);
    button.textContent = "Copied";
  });
  block.after(button);
}
