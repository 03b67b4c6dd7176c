// SPDX-License-Identifier: Apache-2.0
//
// What became of tasks, said in lists: what ends while a list is on its way is in the next one.

import { areObjects } from './answer.js'
import { ClosedError, errorOf, ProtocolError } from './errors.js'
import { parse, stringify } from './json.js'
import { bounded, textOf } from './reason.js'

const mostBytes = 256 << 10
const passing = ['storageFailed', 'stopping', 'internalError', 'limitReached', 'connectionLost', 'cannotConnect', 'protocolError']
const methods = ['task.finish', 'task.fail', 'task.release']

export class Ends {
  #link
  #told
  #trouble
  #waiting = []
  #isBusy = false
  #idle = []
  #tries = 0
  constructor(link, told, trouble) {
    this.#link = link
    this.#told = told
    this.#trouble = trouble
  }

  /** Of `task`, whose `handle` names the attempt. What JSON cannot say of it becomes a failure, so that it costs no other task anything. */
  add(end) {
    try {
      this.#waiting.push(sayable(end))
    } catch (error) {
      this.#waiting.push(sayable(failure(end, `${end.method} cannot be said: ${textOf(error)}`, error)))
    }
    if (!this.#isBusy) {
      this.#isBusy = true
      setImmediate(() => this.#flush())
    }
  }

  /** Resolves once all is answered. */
  empty() { return this.#isBusy ? new Promise((resolve) => this.#idle.push(resolve)) : Promise.resolve() }

  async #flush() {
    while (this.#waiting.length > 0) {
      const all = this.#waiting.splice(0)
      await Promise.all(methods.map((method) => this.#send(method, all.filter((end) => end.method === method))))
    }
    this.#isBusy = false
    for (const resolve of this.#idle.splice(0)) resolve()
  }

  async #send(method, ends) {
    for (let from = 0; from < ends.length;) {
      const tasks = []
      for (let bytes = 0; tasks.length < 1000 && from + tasks.length < ends.length && bytes < mostBytes;) {
        const end = ends[from + tasks.length]
        tasks.push(end.item)
        bytes += end.bytes
      }
      const part = ends.slice(from, from + tasks.length)
      from += tasks.length
      try {
        const answer = await this.#link.call(method, { tasks }, { repeatFor: Infinity, retryFor: Infinity })
        if (!areObjects(answer?.tasks) || answer.tasks.length !== tasks.length) throw new ProtocolError(`the answer to '${method}' is not one for ${tasks.length} tasks`)
        const errors = answer.tasks.map((told) => told.error && errorOf(told.error))
        const again = part.filter((_, index) => passes(errors[index]))
        for (const [index, end] of part.entries()) if (!passes(errors[index])) this.#told(end, errors[index])
        if (again.length > 0) await this.#later(again, errors.find(passes))
        else this.#tries = 0
      } catch (error) {
        if (error instanceof ClosedError) continue
        if (passes(error)) {
          await this.#later(part, error)
        } else if (part.length > 1) {
          // One of them had all refused: each is said by itself.
          for (const end of part) await this.#send(method, [end])
        } else if (method !== 'task.fail') {
          this.#trouble(error)
          this.add(failure(part[0], `${method}: ${error.message}`, error))
        } else {
          this.#told(part[0], error)
        }
      }
    }
  }

  /** Has them said again after a pause. The heartbeat holds the leases meanwhile. */
  async #later(ends, error) {
    this.#trouble(error)
    await new Promise((resolve) => setTimeout(resolve, Math.min(50 * 2 ** this.#tries++, 1000)))
    this.#waiting.push(...ends)
  }
}

/** Whether it may be said a little later. A limit is one of connections here. */
export function passes(error) { return passing.includes(error?.reason) }

/** With its item of a list, a plain copy: it is made once, and what a handler has put there is not asked again. */
function sayable(end) {
  const text = stringify({ ...end.handle, ...end.more })
  return { ...end, item: parse(text), bytes: Buffer.byteLength(text) }
}

function failure(end, reason, cause) { return { ...end, method: 'task.fail', more: { reason: bounded(reason) }, cause } }
