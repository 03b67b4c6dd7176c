// SPDX-License-Identifier: Apache-2.0
//
// JSON whose integers are exact: what a Number cannot hold exactly is a BigInt, both ways.

import { randomBytes } from 'node:crypto'

// It stands in front of an integer that travels through JSON.parse or JSON.stringify as a string. Nobody else
// can know it, so no string of a user's begins with it by intent, and 128 bits none by chance.
const mark = `timerd:${randomBytes(16).toString('hex')}:`
const marked = new RegExp(`"${mark}(-?[0-9]+)"`, 'g')

/** The value of a JSON text; integers beyond 2^53 are BigInts, all other numbers are Numbers. */
export function parse(text) {
  if (!/[0-9]{16}/.test(text)) return JSON.parse(text)
  const guarded = guardIntegers(text)
  if (guarded === text) return JSON.parse(text)
  return JSON.parse(guarded, (_, value) =>
    typeof value === 'string' && value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value)
}

/** The JSON text of a value; a BigInt is written as the integer that it is. Half of a character is no text, and refused. */
export function stringify(value) {
  const text = write(value)
  if (halfCharacter.test(text)) throw new TypeError('a text has half of a character (a surrogate that stands alone), which JSON cannot say')
  return text
}

// JSON.stringify escapes what stands alone, and nothing else, in this way.
const halfCharacter = /(?<!\\)(?:\\\\)*\\ud[89a-f][0-9a-f]{2}/

function write(value) {
  // An application may have given BigInt a toJSON, often one that makes a string: here it stays a number.
  if (BigInt.prototype.toJSON === undefined) {
    try {
      return JSON.stringify(value)
    } catch (error) {
      if (!/BigInt/.test(error.message)) throw error
    }
  }
  const text = JSON.stringify(value, function (key, converted) {
    return typeof this[key] === 'bigint' ? mark + this[key] : converted
  })
  return text.replace(marked, '$1')
}

/** The text with each integer that a Number cannot hold exactly as a marked string. */
function guardIntegers(text) {
  let result = ''
  let copied = 0
  let at = 0
  while (at < text.length) {
    const code = text.charCodeAt(at)
    if (code === 0x22) {
      at = endOfString(text, at)
    } else if (code === 0x2d || (code >= 0x30 && code <= 0x39)) {
      const end = endOfNumber(text, at)
      const word = text.slice(at, end)
      if (/^-?[0-9]+$/.test(word) && !Number.isSafeInteger(Number(word))) {
        result += `${text.slice(copied, at)}"${mark}${word}"`
        copied = end
      }
      at = end
    } else {
      at += 1
    }
  }
  return copied === 0 ? text : result + text.slice(copied)
}

/** The index behind the string that begins at `start`; the text's end where it is not closed. */
function endOfString(text, start) {
  let at = start + 1
  for (;;) {
    const quote = text.indexOf('"', at)
    if (quote < 0) return text.length
    let slashes = 0
    while (text.charCodeAt(quote - 1 - slashes) === 0x5c) slashes += 1
    if (slashes % 2 === 0) return quote + 1
    at = quote + 1
  }
}

/** The index behind the number that begins at `start`. */
function endOfNumber(text, start) {
  let at = start + 1
  while (at < text.length && /[0-9.eE+-]/.test(text[at])) at += 1
  return at
}
