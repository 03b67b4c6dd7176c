// SPDX-License-Identifier: Apache-2.0
//
// JSON whose integers are exact: what a Number cannot hold exactly is a BigInt, both ways.

import { randomBytes } from 'node:crypto'
import { types } from 'node:util'

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

/**
 * The JSON text of a value; a BigInt is written as the integer that it is, and what is undefined in an object is left out. What JSON cannot say, and
 * would be told as null or as nothing at all, is refused, and so is half of a character, which is no text.
 */
export function stringify(value) {
  const text = write(value)
  if (halfCharacter.test(text)) throw new TypeError('a text has half of a character (a surrogate that stands alone), which JSON cannot say')
  return text
}

// JSON.stringify escapes what stands alone, and nothing else, in this way.
const halfCharacter = /(?<!\\)(?:\\\\)*\\ud[89a-f][0-9a-f]{2}/

function write(value) {
  const way = [] // from the value to what is looked at: each object, and its key in the one before
  const text = JSON.stringify(value, function (key, converted) {
    while (way.length > 0 && way[way.length - 1].object !== this) way.pop()
    const given = this[key]
    // An application may have given BigInt a toJSON, often one that makes a string: here it stays a number.
    const integer = types.isBigIntObject(given) ? BigInt.prototype.valueOf.call(given) : typeof given === 'bigint' ? given : converted
    if (typeof integer === 'bigint') return mark + integer
    const wrong = unsayable(given, converted, way.length === 0 || Array.isArray(this))
    if (wrong) throw new TypeError(`${place(way, key)} is ${wrong}, which JSON cannot say`)
    if (typeof converted === 'object' && converted !== null) way.push({ object: converted, key })
    return converted
  })
  return text.replace(marked, '$1')
}

/** What a value is that JSON.stringify makes null, nothing or an empty object of. `isNeeded`: it cannot be left out. */
function unsayable(given, converted, isNeeded) {
  const value = types.isNumberObject(converted) ? Number(converted) : converted
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value)
  if (typeof value === 'function' || typeof value === 'symbol') return `a ${typeof value}`
  if (value === undefined && isNeeded) return 'undefined'
  if (value === null && types.isDate(given)) return 'a date that is none'
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const kind = Object.prototype.toString.call(value).slice(8, -1)
  if (!opaque.some((is) => is(value)) && (tellable.has(kind) || Object.keys(value).length > 0)) return undefined
  return `${/^[AEIO]/.test(kind) ? 'an' : 'a'} ${kind}`
}

// Of these JSON.stringify says nothing, or not what they are, whatever else they have; so it does of all that is of a kind of its own and has nothing else.
const opaque = [
  types.isMap, types.isSet, types.isWeakMap, types.isWeakSet, types.isPromise, types.isNativeError, types.isRegExp, types.isSymbolObject,
  types.isAnyArrayBuffer, ArrayBuffer.isView,
]
const tellable = new Set(['Object', 'String', 'Boolean'])

/** Such as 'params.userInfo.rates[2]'. */
function place(way, key) {
  if (way.length === 0) return 'the value'
  const [, ...keys] = [...way.map((step) => step.key), key]
  return `'${keys.map((one, index) => (Array.isArray(way[index].object) ? `[${one}]` : `${index > 0 ? '.' : ''}${one}`)).join('')}'`
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
