// SPDX-License-Identifier: Apache-2.0
// What a run writes, as it comes. The page is full of it as of when it was made; the stream has what is behind that.

import { isGivenUp, renew } from "./fresh.js";

const LOST = "What is written does not come here: trying again.";
const MOST = 1_000_000;  // characters that are shown of what comes; a run may write for ever

let output = null;  // what is followed
let source = null;
let last = null;
let length = 0;  // characters that are shown
let pause = 5000;  // before a stream is tried again that the browser has given up
let retry;
let usual = "";  // what stands below the output while it comes

function open() {
  // Nothing is tried any more; the foot of the page says what to do.
  if (isGivenUp()) return say(false);
  if (source || document.hidden || !output?.dataset.follow) return;
  const address = new URL(output.dataset.follow, location.href);
  if (last) address.searchParams.set("after", last);
  source = new EventSource(address);
  source.onopen = () => {
    pause = 5000;
    say(false);
  };
  source.onerror = () => {
    say(true);
    if (source?.readyState !== EventSource.CLOSED) return;  // the browser tries again by itself, from where it was
    // It was refused, as by a proxy while its page is begun anew, or where there are streams enough: there may be room later.
    close();
    retry = setTimeout(open, pause);
    pause = Math.min(2 * pause, 60_000);
  };
  source.onmessage = ({ data, lastEventId }) => {
    last = lastEventId;
    append(JSON.parse(data));
  };
  source.addEventListener("end", () => {
    close();
    say(false);
    output.removeAttribute("data-follow");
    output.removeAttribute("role");
    renew();
  });
}

function close() {
  clearTimeout(retry);
  source?.close();
  source = null;
}

/** Says below the output whether it stands still. */
function say(isLost) {
  const note = document.getElementById("follow"), words = isLost ? LOST : usual;
  // What is the same is not read aloud again.
  if (note && note.textContent !== words) note.textContent = words;
}

function append({ html }) {
  // It stays at the end where one reads there, and where it is where one has scrolled up.
  const atEnd = output.scrollHeight - output.scrollTop - output.clientHeight < 40;
  const template = document.createElement("template");
  template.innerHTML = html;  // made by the server's builder, which lets text in as text alone; and no script runs by innerHTML
  length += template.content.textContent.length;
  output.append(template.content);
  if (length > MOST) trim();
  if (atEnd) output.scrollTop = output.scrollHeight;
}

/** Takes the oldest away, down to a half, so that it is seldom done. */
function trim() {
  while (length > MOST / 2 && output.firstChild) {
    const first = output.firstChild;
    const size = first.textContent.length;
    if (first.nodeType === Node.TEXT_NODE && length - size < MOST / 2) {
      first.nodeValue = first.nodeValue.slice(length - MOST / 2);
      length = MOST / 2;
      break;
    }
    first.remove();
    length -= size;
  }
  usual = "The older output is left out here; load the page anew for what is kept of it.";
  say(false);
}

/** Follows the output of the page; also of one that comes only once the daemon is back. */
function begin() {
  if (output) return;
  output = document.querySelector("[data-follow]");
  if (!output) return;
  length = output.textContent.length;
  output.scrollTop = output.scrollHeight;
  open();
}

document.addEventListener("visibilitychange", () => document.hidden ? close() : open());
window.addEventListener("pagehide", close);
window.addEventListener("pageshow", open);
document.addEventListener("renewed", begin);
begin();
