// SPDX-License-Identifier: Apache-2.0
// Makes one part of the page what another is, and keeps the elements that stay: so also focus, what is chosen, open and typed,
// and where it is scrolled to.

/** Makes `old` what `fresh` is. */
export function morph(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName) {
    old.replaceWith(document.importNode(fresh, true));
    return;
  }
  if (old.nodeType !== Node.ELEMENT_NODE) {
    old.nodeValue = fresh.nodeValue;
    return;
  }
  const before = old.matches(".state") ? old.textContent : null;
  attributes(old, fresh);
  // What is being typed is the reader's.
  if (!(old === document.activeElement && old.matches("input, textarea, select"))) children(old, fresh);
  if (before !== null && before !== old.textContent) mark(old);
}

function attributes(old, fresh) {
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !mine(old, name)) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value && !mine(old, name)) old.setAttribute(name, value);
  }
}

/** Whether an attribute is the reader's, or the scripts'. */
function mine(element, name) {
  // A move keeps the date that it was made with for as long as something is typed into it: another move in between is a conflict.
  if (name === "value" && element.matches("input[type=hidden][name=from]")) return isTyped(element.form);
  return (name === "open" && element.matches("details")) || (name === "hidden" && element.matches("[data-copy]"))
    || (name === "checked" || name === "value") && element.matches("input:not([type=hidden]), option");
}

function isTyped(form) {
  return [...form?.elements ?? []].some((field) => field.matches("input:not([type=hidden]), textarea") && field.value !== field.defaultValue);
}

function children(old, fresh) {
  const names = new Set([...fresh.childNodes].map(key));
  const kept = new Map();
  // First goes what is gone, so that what stays need not move.
  for (const child of [...old.childNodes]) {
    const name = key(child);
    if (name && !names.has(name)) child.remove();
    else if (name) kept.set(name, child);
  }
  let here = old.firstChild;
  for (const next of [...fresh.childNodes]) {
    const name = key(next);
    if (name && kept.has(name)) {
      const found = kept.get(name);
      kept.delete(name);
      if (found === here) here = here.nextSibling;
      else move(old, found, here);
      morph(found, next);
    } else if (!name && here && !key(here) && here.nodeName === next.nodeName) {
      const current = here;
      here = here.nextSibling;
      morph(current, next);
    } else {
      old.insertBefore(document.importNode(next, true), here);
    }
  }
  while (here) {
    const gone = here;
    here = here.nextSibling;
    gone.remove();
  }
}

/** Moves an element and, where the browser can, its focus with it. */
function move(parent, element, before) {
  if (parent.moveBefore) parent.moveBefore(element, before);
  else parent.insertBefore(element, before);
}

/** What tells an element from its neighbours, also after it has moved: an id, or where its form or its first link leads. */
function key(node) {
  if (node.nodeType !== Node.ELEMENT_NODE) return null;
  if (node.id) return "#" + node.id;
  if (node.dataset.live) return "live " + node.dataset.live;
  if (!node.matches("tr, li")) return null;
  // Hidden fields are the same in every form.
  const link = node.querySelector("form[action], input[name]:not([type=hidden]), a[href]");
  if (!link) return null;
  if (link.matches("input")) return `${node.nodeName} ${link.name}=${link.defaultValue}`;
  return `${node.nodeName} ${link.getAttribute(link.matches("form") ? "action" : "href")}`;
}

/** A state that has changed shows it for a moment. */
function mark(element) {
  element.classList.remove("changed");
  void element.offsetWidth;  // begins the movement anew
  element.classList.add("changed");
  element.addEventListener("animationend", () => element.classList.remove("changed"), { once: true });
}
