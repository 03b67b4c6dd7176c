// SPDX-License-Identifier: Apache-2.0
//
// Marks that combine with the character before them, such as accents: of a line with more in a row than this the daemon says that it takes none of it,
// without its id, as of a connection that it does not take.

export const mostMarks = 64
// What this Node does not know may be a mark to the daemon.
const mayBeMarks = /[\p{M}\p{Cn}]+/gu

/** The text without the marks that are too many. */
export function withFewMarks(text) {
  return text.replace(mayBeMarks, (row) => {
    if (row.length <= mostMarks) return row
    let marks = 0
    let kept = ''
    for (const char of row) {
      marks = isMark(char) ? marks + 1 : 0
      if (marks <= mostMarks) kept += char
    }
    return kept
  })
}

// Two signs each in the canonical form, with a mark among them, and of the class 0 themselves; and the planes of ideographs, also of those that this
// Node does not know.
const isNone = /[\u0c48\u0dda\u0ddd\u0f73\u0f75\u0f76\u0f78\u0f81\u{20000}-\u{3ffff}]/u

/** Whether its combining class is not 0: among two of such, that of the lower class comes first in the canonical form. */
function isMark(char) {
  if (isNone.test(char)) return false
  if (/\p{Cn}/u.test(char)) return true
  const own = char.normalize('NFD')
  return `${char}\u0334`.normalize('NFD') !== `${own}\u0334` || `\u0301${char}`.normalize('NFD') !== `\u0301${own}`
}
