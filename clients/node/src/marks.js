// SPDX-License-Identifier: Apache-2.0
//
// Marks that combine with the character before them, such as accents: of a line with more in a row than this the daemon says that it takes none of it,
// without its id, as of a connection that it does not take.

const mostMarks = 64
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

/** Whether its combining class is not 0: among two of such, that of the lower class comes first in the canonical form. */
function isMark(char) {
  if (/\p{Cn}/u.test(char)) return true
  const own = char.normalize('NFD')
  return `${char}\u0334`.normalize('NFD') !== `${own}\u0334` || `\u0301${char}`.normalize('NFD') !== `\u0301${own}`
}
