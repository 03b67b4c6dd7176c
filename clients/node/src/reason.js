// SPDX-License-Identifier: Apache-2.0
//
// The reason of a failure: the text of what was thrown, which may be anything.

import { withFewMarks } from './marks.js'

/** The text of an error, at most 4096 bytes of UTF-8, cut between two characters, and with no more marks in a row than a daemon takes. */
export function bounded(error) {
  const bytes = Buffer.from(withFewMarks(textOf(error))) // half of a character becomes U+FFFD
  if (bytes.length <= 4096) return bytes.toString()
  let end = 4096
  while ((bytes[end] & 0xc0) === 0x80) end -= 1
  return bytes.toString('utf8', 0, end)
}

/** A handler may throw anything, also what has no text. */
export function textOf(error) {
  try {
    return error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  } catch {
    return `${typeof error} whose text cannot be made`
  }
}
