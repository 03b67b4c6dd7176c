// SPDX-License-Identifier: Apache-2.0
// Events of the daemon, as they happen. One stream for all pages of a browser that are seen: a lock says which page has it, and that one tells
// the others. A hidden page has none, and asks for the page anew when it is seen again. Numbers of events make sure that nothing is missed:
// a page knows as of which it was made, and a stream begins behind that.

import { renew } from "./fresh.js";
import { untilFirst } from "./time.js";

const channel = "BroadcastChannel" in window ? new BroadcastChannel("timerd") : null;
let source = null;      // the stream, in the page that has it
let release = null;     // gives the lock back
let waiting = null;     // ends the wait for the lock
let pause = 5000;       // before a stream is tried again that the browser has given up
let retry;
let isLost = false;     // whether the stream has broken off
let expiry;
let over = false;
let pending = null;     // what has come since it was last told
let seen = Number(document.body.dataset.seq || -1);  // -1: the page was made while no daemon answered, and is as of no event
let standing = document.getElementById("live")?.textContent ?? "";  // what is known of the stream
let unanswered = false;                                             // whether the reader waits for a page that the server did not have

/** Says in the foot of the page how live it is: first that the reader waits, where that is so. */
function say(words) {
  standing = words;
  const shown = unanswered ? "not live: the server had no answer to this; asking again" : standing;
  const place = document.getElementById("live");
  if (place && place.textContent !== shown) place.textContent = shown;
}

/** Notes whether the server had no page for what the reader has asked for, which is asked for again. */
export function noteUnanswered(is) {
  unanswered = is;
  say(standing);
}

/** Gives it up: this browser is not let in any more. */
export function giveUp(words) {
  unanswered = false;
  say(words);
  stop();
  over = true;
}

/** Begins to follow the daemon, while the page is seen. */
export function follow() {
  if ((document.body.dataset.on ?? "none") === "none") return;
  channel?.addEventListener("message", ({ data }) => hear(data));
  document.addEventListener("visibilitychange", () => document.hidden ? stop() : start(true));
  document.addEventListener("renewed", expect);
  window.addEventListener("pagehide", stop);
  window.addEventListener("pageshow", ({ persisted }) => { if (persisted) start(true); });
  if (!document.hidden) start(false);
}

function start(again) {
  if (over) return;
  if (again) renew();
  expect();
  if (waiting || source) return;
  if (!navigator.locks || !channel) return open();
  waiting = new AbortController();
  navigator.locks.request("timerd-events", { signal: waiting.signal }, () => new Promise((done) => {
    release = done;
    open();
  })).catch(() => { /* hidden before its turn */ });
  // Whoever has the stream answers how far it is: what it has told before this page listened was missed.
  channel.postMessage({ ask: true });
}

function stop() {
  clearTimeout(retry);
  clearTimeout(expiry);
  source?.close();
  source = null;
  waiting?.abort();
  waiting = null;
  release?.();
  release = null;
}

/**
 * Renews the page once it is not true any more though nothing was told: a date that was to come has passed, which fires without a word where its
 * fire waits; a day has ended, whose dates have stood there without it; or the page is as old as it says that it may become, as queues have no events.
 */
function expect() {
  clearTimeout(expiry);
  // A form that has come with the daemon is the reader's.
  const { on, age, until } = document.body.dataset;
  if (over || document.hidden || on === "none") return;
  const dates = [...document.querySelectorAll("main [data-far]")].map((element) => element.dataset.far);
  // A second for the event, which is there at once where there is one. More than a day is no timer.
  const next = Math.min(Number(age || Infinity) * 1000, untilFirst([until, ...dates]) + 1000);
  if (next < 86_400_000) expiry = setTimeout(() => { renew(); expect(); }, next);
}

function open() {
  clearTimeout(retry);
  source = new EventSource(seen < 0 ? "/events" : `/events?since=${seen}`);
  source.onopen = () => {
    pause = 5000;
    // What was asked for meanwhile, as a day had ended in a laptop's sleep, may have had no answer.
    tell(isLost ? { seq: seen, all: true, words: "live" } : { words: "live" });
    isLost = false;
  };
  source.onmessage = ({ data }) => gather(JSON.parse(data));
  source.addEventListener("lost", ({ data }) => {
    // A daemon with a new database counts anew.
    const { newest } = JSON.parse(data);
    tell(newest === undefined ? { seq: seen, all: true } : { upTo: newest, anew: true });
  });
  source.addEventListener("away", ({ data }) => tell({ away: JSON.parse(data).message }));
  source.addEventListener("back", () => tell({ seq: seen, all: true, words: "live" }));
  source.onerror = () => {
    isLost = true;
    tell({ words: "not live: trying again" });
    if (source?.readyState !== EventSource.CLOSED) return;  // the browser tries again by itself, from the last number
    // It was refused: where too many pages are open, it may have room later; where this browser is not let in any more, the page says so.
    retry = setTimeout(open, pause);
    pause = Math.min(2 * pause, 60_000);
    renew();
  };
}

/** Gathers events, so that a thousand a second are ten words to other pages. What is kept of them is bounded. */
function gather({ seq, job, run }) {
  if (!pending) {
    pending = { seq, keys: new Set(), all: false };
    setTimeout(() => {
      const { seq, keys, all } = pending;
      pending = null;
      tell({ seq, all, keys: [...keys] });
    }, 100);
  }
  pending.seq = seq;
  if (job) pending.keys.add(`job=${job}`);
  if (run) pending.keys.add(`run=${run}`);
  if (pending.keys.size > 500) {
    pending.all = true;
    pending.keys.clear();
  }
}

function tell(message) {
  channel?.postMessage(message);
  hear(message);
}

function hear({ seq, all, keys, words, away, ask, upTo, anew }) {
  if (ask) {
    if (source) channel.postMessage(seen < 0 ? { seq: seen, all: true, words: "live" } : { upTo: seen, words: "live" });
    return;
  }
  if (upTo !== undefined) {
    if (upTo > seen || anew) renew();
    seen = upTo;  // lower, too: the daemon may have begun to count anew while this page was hidden
  }
  if (words) say(words);
  if (away !== undefined) {
    say("not live: no daemon answers");
    renew();  // the server says why, and what to do
  }
  if (seq === undefined) return;
  const isNew = seq > seen;
  seen = Math.max(seen, seq);
  if (!isNew && !all) return;
  const on = document.body.dataset.on.split(" ");
  if (all || on.includes("all") || keys?.some((key) => on.includes(key))) renew();
}
