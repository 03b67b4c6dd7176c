// SPDX-License-Identifier: Apache-2.0
// Fetches the page's own address again, and puts its live parts in place of the old ones. There is one way to make a page: the server's.

import { morph } from "./morph.js";
import { age, setClock } from "./time.js";
import { giveUp, noteUnanswered } from "./live.js";

/** The parts of a page that renew themselves, by name. */
const parts = (page) => new Map([...page.querySelectorAll("[data-live], #away")].map((part) => [part.dataset.live ?? "#away", part]));

let wanted = false;   // something has happened since the last fetch began
let asked = 0;        // how often the reader has asked for another address
let shown = 0;        // which of these is shown
let failures = 0;     // how often in a row the server had no page for the last of these
let running = false;
let cost = 0;         // what the last one took: the next waits four times as long, so that a page is never busy with itself
let fetching = null;  // gives up the fetch that is on its way
let wake = null;      // ends the pause before the next one
let over = false;     // this browser is not let in any more
let away = false;     // no daemon answers

/** Renews the page soon; once, however often it is asked. */
export function renew() {
  wanted = true;
  if (!running && !document.hidden) run();
}

/** Makes `address`, the same page with another query, the page's own, and shows it without a pause. */
export function show(address) {
  history.replaceState(null, "", address);
  asked += 1;
  failures = 0;
  fetching?.abort();
  wake?.();
  renew();
}

async function run() {
  running = true;
  while (wanted && !document.hidden) {
    if (failures) await pause(Math.min(1000 * 2 ** failures, 30_000));
    else if (asked === shown) await pause(Math.min(Math.max(200, 4 * cost), 10_000));
    if (document.hidden) break;
    wanted = false;
    const began = performance.now(), number = asked;
    fetching = new AbortController();
    const page = await read(location.href, { signal: fetching.signal }).catch(() => null);
    if (number !== asked) {
      wanted = true;
      continue;
    }
    cost = performance.now() - began;
    if (page) {
      replace(page);
      shown = number;
      failures = 0;
      noteUnanswered(false);
    } else if (number !== shown && !over) {
      // What is only older than the daemon is renewed with its next event; what the reader waits for is asked for again.
      wanted = true;
      failures += 1;
      noteUnanswered(true);
    }
  }
  running = false;
}

function pause(milliseconds) {
  return new Promise((done) => {
    wake = done;
    setTimeout(done, milliseconds);
  });
}

document.addEventListener("visibilitychange", () => { if (!document.hidden && wanted && !running) run(); });

/** The page at an address; nothing where the server did not answer with one. */
export async function read(address, request = {}) {
  try {
    const answer = await fetch(address, { headers: { accept: "text/html" }, ...request });
    // Each start of the page has a host of its own: at the old one it answers 421.
    const isOver = [403, 421].includes(answer.status);
    if (isOver) {
      over = true;
      giveUp("not live: the page was begun anew; open the address that it has printed");
    }
    if (!(answer.headers.get("content-type") ?? "").startsWith("text/html") || isOver) return null;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (page.body.dataset.seq === undefined) return null;
    takeKey(page);
    return page;
  } catch (error) {
    if (error.name === "AbortError") throw error;
    return null;  // the server is away: the stream says so, and begins anew
  }
}

/** Whether this browser is not let in any more, so that nothing is to be asked for. */
export const isGivenUp = () => over;

/**
 * Whether there is somebody to send to what was typed here; where there is nobody, it is said above, and what was typed stays. A form that is sent
 * all the same takes it away: the browser keeps nothing of a page that no cache may keep.
 */
export async function answers() {
  const page = await read(location.href);
  const trouble = page ? page.querySelector("#away > *, #trouble") : unanswered();
  if (trouble) {
    tell(page ? unsent(trouble) : trouble);
    document.getElementById("away").scrollIntoView({ block: "nearest" });
  }
  return !trouble;
}

/** What a page of trouble says, to whoever stays on this one with what was typed. */
function unsent(trouble) {
  const shown = document.importNode(trouble, true), words = document.createElement("p");
  // This page does not: it is the reader's.
  const goesOn = shown.querySelector("[data-goes-on]");
  goesOn?.remove();
  words.textContent = "Nothing was sent, and what you have typed is still here"
    + (goesOn ? ": send it once more when a daemon answers." : ".");
  (shown.querySelector("div") ?? shown).append(words);
  return shown;
}

function unanswered() {
  const words = document.createElement("p");
  words.className = "conflict";
  words.textContent = "Nothing was sent, and what you have typed is still here. " + (over
    ? "This page was begun anew: copy what you have typed into the page at the address that it has printed."
    : "The page's own server, timerd-web, does not answer: send it once more when it does, or copy it into the page that you start anew.");
  return words;
}

/** Has the forms of this page go with the key of a fresh one: it is another where the server was started anew. */
function takeKey(page) {
  const key = page.querySelector("input[name=csrf]")?.value;
  if (!key) return;
  for (const field of document.querySelectorAll("input[name=csrf]")) field.value = key;
}

/** Puts the live parts of `page` in place of those that are shown; of a page of trouble only what it says, above them. */
function replace(page) {
  setClock(page);
  const trouble = page.querySelector("#away > *, #trouble");
  wait(Boolean(trouble?.matches(".away")));
  if (trouble) tell(trouble);
  else renewParts(page);
  age();
  document.dispatchEvent(new CustomEvent("renewed"));
}

/** Says what a page of trouble says. */
function tell(trouble) {
  const place = document.getElementById("away");
  // What is the same is not read aloud again.
  if (!place.firstElementChild?.isEqualNode(trouble)) place.replaceChildren(document.importNode(trouble, true));
}

/** While no daemon answers nothing can be done; what is shown is still read, what is typed and chosen still changed. */
function wait(isAway) {
  away = isAway;
  const all = ":is(main, dialog) :is(button:not([data-copy]), a[data-dialog])";
  for (const part of document.querySelectorAll(all)) part.inert = isAway;
}

// Enter in a field sends a form whose button is inert, too.
document.addEventListener("submit", (event) => {
  if (!away || event.target.method !== "post") return;
  event.preventDefault();
  event.stopImmediatePropagation();
}, { capture: true });

function renewParts(page) {
  const focused = document.activeElement;
  // One that was made while no daemon answered has nothing on it.
  const isEmpty = document.body.dataset.seq === "";
  const { seq, on, until, age = "" } = page.body.dataset;
  Object.assign(document.body.dataset, { seq, on, until, age });
  document.title = page.title;
  const old = parts(document), fresh = parts(page);
  if (isEmpty || kinds(old) !== kinds(fresh)) {
    // The page has become another one, such as once the daemon is back.
    morph(document.querySelector("main"), page.querySelector("main"));
  } else {
    for (const [name, part] of fresh) {
      const shown = old.get(name);
      if (shown.isConnected) morph(shown, part);
    }
  }
  if (focused && !focused.isConnected) document.querySelector("main").focus({ preventScroll: true });
}

/** Which parts there are, and as which elements: rows of a table cannot stand where a paragraph stood. */
function kinds(all) {
  return [...all].map(([name, part]) => `${part.nodeName} ${name}`).join();
}
