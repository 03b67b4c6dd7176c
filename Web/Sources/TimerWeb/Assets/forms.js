// SPDX-License-Identifier: Apache-2.0
// Forms that answer while one types: filters and previews. Without this they have a button.

import { answers, read, show } from "./fresh.js";
import { morph } from "./morph.js";

/** Calls `action` once nothing was typed for a moment, with a signal that is given when more is typed. */
function whileTyping(form, action) {
  let timer, request;
  const soon = () => {
    clearTimeout(timer);
    request?.abort();
    timer = setTimeout(() => {
      request = new AbortController();
      action(request.signal)?.catch(() => { /* more was typed */ });
    }, 250);
  };
  form.addEventListener("input", soon);
  return soon;
}

const bound = new WeakSet();

/** The forms that nothing listens to yet: also those of a page that comes once the daemon is back. */
function unbound(selector) {
  const forms = [...document.querySelectorAll(selector)].filter((form) => !bound.has(form));
  for (const form of forms) bound.add(form);
  return forms;
}

function bind() {
  for (const form of unbound("form[data-filter]")) {
    whileTyping(form, () => {
      const words = new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ""));
      // What the address says beside the form, such as the order, stays; not the page of a list.
      for (const [name, value] of new URLSearchParams(location.search)) {
        if (!form.elements[name] && name !== "cursor" && name !== "flash") words.append(name, value);
      }
      show(`${form.action.split("?")[0]}${words.size ? "?" : ""}${words}`);
    });
  }

  for (const form of unbound("form[data-preview]")) {
    const touched = new Set();
    form.addEventListener("focusout", ({ target }) => { if (target.name) touched.add(target.name); });
    whileTyping(form, async (signal) => {
      const body = new URLSearchParams(new FormData(form));
      body.set("do", "preview");
      const page = await read(form.action, { method: "POST", body, signal });
      if (!page) return;
      const preview = document.getElementById("preview"), fresh = page.getElementById("preview");
      if (preview && fresh) morph(preview, fresh);
      errors(form, page, touched);
      document.dispatchEvent(new CustomEvent("renewed"));
    });
  }
}

/** What is wrong with each field, below it; not with one that nobody has filled in yet. */
function errors(form, page, touched) {
  for (const field of form.querySelectorAll(".field")) {
    const control = field.querySelector("input, select, textarea");
    const fresh = control?.id && page.getElementById(control.id);
    if (!fresh) continue;
    const wrong = page.getElementById(`e-${control.name}`);
    const shown = field.querySelector(".error");
    if (wrong && !touched.has(control.name) && !control.value) continue;
    shown?.remove();
    if (wrong) control.after(document.importNode(wrong, true));
    for (const name of ["aria-invalid", "aria-describedby"]) {
      if (fresh.hasAttribute(name)) control.setAttribute(name, fresh.getAttribute(name));
      else control.removeAttribute(name);
    }
  }
}

let sent = new WeakSet();

// What was typed is nowhere else: it is sent once there is somebody to send it to.
let answered = null;  // the form that is sent now, as somebody has answered
let asking = new WeakSet();  // the forms for which it is looked whether somebody is there
document.addEventListener("submit", async (event) => {
  const { target: form, submitter } = event;
  if (event.defaultPrevented || !form.matches("form[data-preview]") || answered === form) return;
  event.preventDefault();
  // A second press would ask while the page goes, have no answer, and say that nothing was sent.
  if (asking.has(form) || sent.has(form)) return;
  asking.add(form);
  form.setAttribute("aria-busy", "true");
  try {
    if (!await answers()) return;
    answered = form;
    form.requestSubmit(submitter);
  } finally {
    answered = null;
    asking.delete(form);
    form.removeAttribute("aria-busy");
  }
});

// A form is sent once, however often its button is pressed: a second press would fire a second time.
document.addEventListener("submit", (event) => {
  if (event.defaultPrevented || event.target.method !== "post") return;
  if (sent.has(event.target)) event.preventDefault();
  else sent.add(event.target);
});
window.addEventListener("pageshow", () => { sent = new WeakSet(); });

// Choosing rows of a table.
document.addEventListener("change", ({ target }) => {
  if (target.matches("[data-all]")) {
    for (const box of target.closest("table").querySelectorAll("td input[type=checkbox]")) box.checked = target.checked;
  }
  count();
});

function count() {
  for (const place of document.querySelectorAll("[data-chosen]")) {
    const boxes = [...place.closest("form").querySelectorAll("td input[type=checkbox]")];
    const chosen = boxes.filter((box) => box.checked).length;
    place.textContent = chosen ? `${chosen} chosen` : "";
    const all = place.closest("form").querySelector("[data-all]");
    if (all) {
      all.checked = chosen > 0 && chosen === boxes.length;
      all.indeterminate = chosen > 0 && chosen < boxes.length;
    }
  }
}

// Copying, where the browser allows it.
function offerCopies() {
  if (!navigator.clipboard) return;
  for (const button of document.querySelectorAll("[data-copy]")) button.hidden = false;
}
document.addEventListener("click", async ({ target }) => {
  const button = target.closest("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(button.parentElement.querySelector("code").textContent);
  const word = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = word; }, 2000);
});

function ready() {
  bind();
  count();
  offerCopies();
}
document.addEventListener("renewed", ready);
ready();
