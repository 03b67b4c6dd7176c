// SPDX-License-Identifier: Apache-2.0
//
// Signals that a caller gives.

import { setMaxListeners } from 'node:events'

/** One signal may be that of very many calls, each of which takes its listener off again: node need not warn of a leak. */
export function manyMayShare(signal) {
  if (signal instanceof EventTarget) setMaxListeners(0, signal)
}
