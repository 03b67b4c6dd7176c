// SPDX-License-Identifier: Apache-2.0
//
// What answers have to be, so that a daemon which says something else is told as such.

import { ProtocolError } from './errors.js'

export const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value)
export const isInteger = (value) => Number.isInteger(value) || typeof value === 'bigint'
export const areObjects = (value) => Array.isArray(value) && value.every(isObject)

/** A field of the answer to `method`, which `is` as it has to be. */
export function part(method, answer, word, is) {
  const value = answer?.[word]
  if (!is(value)) throw new ProtocolError(`the answer to '${method}' has no '${word}' that can be read`, { sent: true })
  return value
}

const isTask = (task) => isObject(task) && isInteger(task.fire) && isInteger(task.token)

/** The tasks that a reserve has brought. Where one cannot be read, `late` is to give back those beside it, which are nobody's. */
export function reserved(answer, late) {
  try {
    return part('task.reserve', answer, 'tasks', (tasks) => Array.isArray(tasks) && tasks.every(isTask))
  } catch (error) {
    late(answer)
    throw error
  }
}

/** Those of an answer that nobody waits for any more: of one that cannot be read, none. */
export function reservedLate(answer) { return Array.isArray(answer?.tasks) ? answer.tasks.filter(isTask) : [] }
