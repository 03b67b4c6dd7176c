// SPDX-License-Identifier: Apache-2.0
//
// Times that a caller gives as a number of milliseconds.

/** The time, or `otherwise` where none is given. A text such as '5s' would be no limit at all, or none of the time that was meant. */
export function milliseconds(name, value, otherwise) {
  if (value === undefined || value === null) return otherwise
  if (typeof value !== 'number' || !(value >= 0)) throw new TypeError(`${name} '${String(value)}' is not understood; accepted is a number of milliseconds`)
  return value
}
