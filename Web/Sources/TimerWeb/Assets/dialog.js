// SPDX-License-Identifier: Apache-2.0
// What asks first does so in a dialog: with the words, the form and the address of its own page, which is shown where there are no scripts.

import { read } from "./fresh.js";
import { age } from "./time.js";

document.addEventListener("click", async (event) => {
  const link = event.target.closest("a[data-dialog]");
  if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  if (!show(await read(link.href))) location.assign(link.href);
});

document.addEventListener("submit", async (event) => {
  const { target: form, submitter } = event;
  if (!submitter?.matches("button[data-dialog]")) return;
  event.preventDefault();
  const body = new URLSearchParams(new FormData(form, submitter));
  if (show(await read(form.action, { method: "POST", body }))) return;
  // Not a question but an answer, such as that nothing is chosen: it is shown as a page.
  submitter.removeAttribute("data-dialog");
  form.requestSubmit(submitter);
  submitter.setAttribute("data-dialog", "");
});

/** Shows the question of a page; false where it asks none. */
function show(page) {
  const question = page?.querySelector("#confirm");
  if (!question || document.querySelector("dialog[open]")) return Boolean(question);
  const dialog = document.createElement("dialog");
  const part = document.importNode(question, true);
  const title = part.querySelector("h1");
  if (title) {
    title.id = "dialog-title";
    dialog.setAttribute("aria-labelledby", title.id);
  }
  dialog.append(part);
  document.body.append(dialog);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => {
    if (!event.target.closest("[data-cancel]") && event.target !== dialog) return;
    event.preventDefault();
    dialog.close();
  });
  dialog.showModal();
  // Not on what destroys: Enter alone is no answer.
  dialog.querySelector("[data-cancel]")?.focus();
  age();
  return true;
}
