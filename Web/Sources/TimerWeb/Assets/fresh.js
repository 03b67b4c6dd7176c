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
    return page.body.dataset.seq === undefined ? null : page;
  } catch (error) {
    if (error.name === "AbortError") throw error;
    return null;  // the server is away: the stream says so, and begins anew
  }
}

/** Puts the live parts of `page` in place of those that are shown. */
function replace(page) {
  const focused = document.activeElement;
  setClock(page);
  document.body.dataset.seq = page.body.dataset.seq;
  document.title = page.title;
  const old = parts(document);
  for (const [name, part] of parts(page)) {
    const shown = old.get(name);
    if (shown?.isConnected) morph(shown, part);
  }
  // Other parts than there were: the page has become another one, such as once the daemon is back.
  if ([...parts(page).keys()].join() !== [...old.keys()].join()) {
    const main = document.querySelector("main"), part = page.querySelector("main");
    if (main && part) morph(main, part);
  }
  if (focused && !focused.isConnected) document.querySelector("main")?.focus({ preventScroll: true });
  age();
  document.dispatchEvent(new CustomEvent("renewed"));
}
