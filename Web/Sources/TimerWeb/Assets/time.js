// SPDX-License-Identifier: Apache-2.0
// Distances in time that grow older without a request: each [data-far] holds a date, and says how far it is.

let skew = 0;  // the server's clock, less this browser's: milliseconds
let timer;

/** Takes over the server's clock, as the page that it made says it. */
export function setClock(page) {
  const now = Date.parse(page.body.dataset.now ?? "");
  if (!Number.isNaN(now)) skew = now - Date.now();
}

/** Says all distances anew, and once more when the first of them is to change. */
export function age() {
  clearTimeout(timer);
  if (document.hidden) return;
  const now = Date.now() + skew;
  let next = Infinity;
  for (const element of document.querySelectorAll("[data-far]")) {
    const distance = Date.parse(element.dataset.far) - now;
    if (Number.isNaN(distance)) continue;
    const words = far(distance);
    if (element.textContent !== words) element.textContent = words;
    next = Math.min(next, untilChange(distance));
  }
  if (next < 86_400_000) timer = setTimeout(age, next);
}

/** Milliseconds until the first of those dates that are to come. */
export function untilFirst(dates) {
  const now = Date.now() + skew;
  const distances = dates.map((date) => Date.parse(date) - now);
  return Math.min(...distances.filter((distance) => distance > 0));
}

// Up to which count of a unit it is said in it, as timerctl does: "119 s", then "2 min".
const units = [["s", 1000, 120], ["min", 60_000, 120], ["h", 3_600_000, 48], ["days", 86_400_000, 730]];

/** "in 4 min", "3 s ago", "now". */
export function far(distance) {
  const span = Math.abs(distance);
  if (span < 500) return "now";
  const [unit, size] = unitOf(span);
  const amount = Math.round(span / size);
  return distance > 0 ? `in ${amount} ${unit}` : `${amount} ${unit} ago`;
}

function unitOf(span) {
  return units.find(([, size, most]) => Math.round(span / size) < most) ?? ["years", 31_557_600_000];
}

/** Milliseconds until the words of a distance change: at the next half of its unit. */
function untilChange(distance) {
  const [, size] = unitOf(Math.abs(distance));
  const halves = distance / size - 0.5;
  const rest = (halves - Math.floor(halves)) * size;
  return Math.max(rest + 5, 200);
}

document.addEventListener("visibilitychange", age);
