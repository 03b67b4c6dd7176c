// SPDX-License-Identifier: Apache-2.0
// All that the page does by itself. Each part works alone, and the page without any of it.

import "./dialog.js";
import "./forms.js";
import "./output.js";
import { follow } from "./live.js";
import { age, setClock } from "./time.js";

// What was done is told once: reading the page again does not tell it again.
const flash = document.getElementById("flash");
if (flash) flash.focus({ preventScroll: true });
const address = new URL(location.href);
if (address.searchParams.has("flash")) {
  address.searchParams.delete("flash");
  history.replaceState(null, "", address);
}
document.getElementById("errors")?.focus();

setClock(document);
age();
follow();
