// SPDX-License-Identifier: Apache-2.0
//
// A worker: reserves tasks on one connection, says on another what became of them, and keeps its leases meanwhile.

import { EventEmitter } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { types } from 'node:util'
import { areObjects, reserved, reservedLate } from './answer.js'
import { ClosedError, ConnectionError, DeadlineError, errorOf, ProtocolError, Release } from './errors.js'
import { Ends, passes } from './ends.js'
import { Link } from './link.js'
import { milliseconds } from './milliseconds.js'
import { defaultSocketPath } from './paths.js'
import { bounded } from './reason.js'

const longestTimer = 2 ** 31 - 1
const mostQueues = 64
/**
 * For how many ms a stop waits for the answer to a reserve, since it was sent. With its connection the tasks of an answer that is on its way are lost, so a
 * young one is waited for: what it brings is released. Where none came for so long, hardly one comes just then.
 */
const quietTime = 1000
const units = { ms: 1, s: 1000, min: 60_000, h: 3_600_000, d: 86_400_000 }

/**
 * Events: `done`, `failed`, `released`, `lost` (task, error); `trouble` (error), after which it goes on by itself.
 */
export class Worker extends EventEmitter {
  #options
  #reserving
  #saying
  #ends
  #running = new Map() // by token
  #bound = 0 // the connection that the leases are tied to
  #quietAt = 0 // from when on a stop may end the reserve that is in progress
  #heartbeat = null
  #stopping = new AbortController()
  #cutShort = new AbortController()
  #changed = () => {}
  #run = null
  #refusal = null
  #tries = 0

  /** `handlers`: a function for each queue. Times: `lease` is a duration such as "1min", all others are ms. */
  constructor({ handlers, socketPath = defaultSocketPath(), concurrency = 1, lease = '1min', wait = '1h', deadline,
    grace, signals = false }) {
    super()
    const part = /^([0-9]+)(ms|s|min|h|d)$/.exec(lease)
    if (!part) throw new RangeError(`lease '${lease}' is not understood; accepted is a number with ms, s, min, h or d, such as '1min'`)
    if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > 1000) {
      throw new RangeError(`concurrency '${concurrency}' is out of range; accepted are 1 to 1000`)
    }
    const queues = Object.keys(handlers ?? {})
    const wrong = queues.find((queue) => typeof handlers[queue] !== 'function')
    if (queues.length > mostQueues) throw new RangeError(`there are handlers for ${queues.length} queues; accepted are ${mostQueues} at most`)
    // Answered at once, it would ask without a pause.
    if (!/[1-9]/.test(wait)) throw new RangeError(`wait '${wait}' is too short; accepted is how long the daemon is to wait for a task, such as '1h'`)
    if (queues.length === 0) throw new TypeError('there is no handler; accepted is an object with a function for each queue')
    if (wrong !== undefined) throw new TypeError(`the handler of the queue '${wrong}' is no function`)
    const idle = queues.find((queue) => types.isGeneratorFunction(handlers[queue]))
    if (idle !== undefined) throw new TypeError(`the handler of the queue '${idle}' is a generator function; nothing of it would run`)
    this.#options = {
      handlers, queues, concurrency, lease, wait, deadline: milliseconds('deadline', deadline, 0), grace: milliseconds('grace', grace, 30_000), signals,
      leaseMs: part[1] * units[part[2]],
    }
    this.#reserving = new Link(socketPath)
    this.#reserving.onLost = () => this.#changed()
    this.#saying = new Link(socketPath)
    this.#ends = new Ends(this.#saying, (entry, error) => this.#told(entry, error), (error) => this.#tell('trouble', error))
  }

  /** Works until it is stopped. Rejects with what the daemon refuses for good, such as a lease that is too long, once what runs has been wound up. */
  run() { return this.#run ??= this.#work() }

  /**
   * Takes nothing more; what runs has `grace` ms to finish, then it is released. Resolves once all is said; where `grace` is no number of ms,
   * the worker stops with the grace that it has, and this rejects.
   */
  async stop({ grace } = {}) {
    let wrong
    try {
      this.#options.grace = milliseconds('grace', grace, this.#options.grace)
    } catch (error) {
      wrong = error
    }
    if (this.#stopping.signal.aborted) this.#cutShort.abort(new ClosedError('the worker was stopped a second time'))
    this.#stopping.abort()
    await this.#run?.catch(() => {}) // which is told to who has called `run`
    if (wrong) throw wrong
  }

  /** To listeners, whose own faults are theirs: as of any emitter they are uncaught, and stop nothing here. */
  #tell(event, ...what) { process.nextTick(() => this.emit(event, ...what)) }

  async #work() {
    const onSignal = () => { this.stop() }
    const names = this.#options.signals ? ['SIGTERM', 'SIGINT'] : []
    for (const name of names) process.on(name, onSignal)
    // From the stop on, whatever is waited for: a daemon that hangs may never answer.
    let grace
    this.#stopping.signal.addEventListener('abort', () => {
      grace = setTimeout(() => this.#cutShort.abort(new ClosedError('the grace of the worker is over')), Math.min(this.#options.grace, longestTimer))
    })
    try {
      while (!this.#stopping.signal.aborted) await this.#turn()
      await this.#windUp()
      if (this.#refusal) throw this.#refusal
    } finally {
      for (const name of names) process.off(name, onSignal)
      clearTimeout(grace)
      clearInterval(this.#heartbeat)
      this.#reserving.close()
      this.#saying.close()
    }
  }

  /** Reserves once, for as many as have room. Without room it ties the leases anew once their connection has ended. */
  async #turn() {
    const { queues, concurrency, lease, wait } = this.#options
    const room = concurrency - this.#running.size
    if (room <= 0 && this.#isBound(this.#reserving)) return this.#untilChanged(this.#stopping.signal)
    try {
      await this.#bind(this.#reserving)
      if (room <= 0) {
        this.#tries = 0
        return
      }
      const late = (answer) => {
        for (const task of reservedLate(answer)) this.#give(task)
        this.#changed()
      }
      this.#quietAt = performance.now() + quietTime
      const tasks = reserved(await this.#reserving.call('task.reserve', { queues, count: room, lease, wait, whileConnected: true },
        { generation: this.#bound, signal: this.#stopping.signal, late }), late)
      this.#tries = 0
      for (const task of tasks) this.#start(task)
    } catch (error) {
      if (this.#stopping.signal.aborted) return
      if (!passes(error)) {
        this.#refusal = error
        return this.#stopping.abort()
      }
      this.#tell('trouble', error)
      await pause(this.#tries++, this.#stopping.signal)
    }
  }

  #isBound(link) { return link.isOpen && link.generation === this.#bound }

  /** Ties the leases to the connection that is there now. After a restart of the daemon this keeps them. */
  async #bind(link) {
    if (this.#isBound(link)) return
    const entries = this.#held()
    // Without a task any request makes the connection.
    if (entries.length === 0) await link.call('daemon.status', {}, { signal: this.#stopping.signal })
    else await this.#extend(link, entries, { whileConnected: true }, { signal: this.#cutShort.signal })
    this.#bound = link.generation
  }

  #held() { return [...this.#running.values()].filter((entry) => !entry.isLost) }

  async #extend(link, entries, more, options) {
    if (entries.length === 0) return
    const tasks = entries.map(({ handle }) => handle)
    const told = await link.call('task.extend', { tasks, lease: this.#options.lease, ...more }, { repeatFor: Infinity, ...options })
    if (!areObjects(told?.tasks) || told.tasks.length !== tasks.length) throw new ProtocolError(`the answer to 'task.extend' is not one for ${tasks.length} tasks`)
    for (const [index, entry] of entries.entries()) {
      const error = told.tasks[index].error && errorOf(told.tasks[index].error)
      if (isLost(error) && !entry.isSaid) this.#lose(entry, error)
    }
  }

  #beat() {
    if (this.#heartbeat) return
    let isBusy = false
    this.#heartbeat = setInterval(() => {
      if (isBusy) return
      isBusy = true
      // In the grace they are tied to this connection, which may have been made anew.
      const more = this.#stopping.signal.aborted ? { whileConnected: true } : {}
      this.#extend(this.#saying, this.#held(), more, { retryFor: Infinity })
        .catch((error) => { if (!(error instanceof ClosedError)) this.#tell('trouble', error) })
        .finally(() => { isBusy = false })
    }, Math.min(this.#options.leaseMs / 3, longestTimer))
  }

  async #start(task) {
    const abort = new AbortController()
    const entry = { task, handle: handleOf(task), abort, isSaid: false, isLost: false }
    this.#running.set(entry.handle.token, entry)
    this.#beat()
    const { deadline } = this.#options
    const timer = deadline > 0 ? setTimeout(() => {
      abort.abort(new DeadlineError(`task ${task.fire} was not done within ${deadline} ms`))
    }, Math.min(deadline, longestTimer)) : undefined
    try {
      const value = await this.#options.handlers[task.queue](task, { signal: abort.signal })
      if (types.isGeneratorObject(value)) throw new TypeError('the handler has returned a generator, which nobody runs')
      this.#say(entry, 'task.finish')
    } catch (error) {
      const reason = abort.signal.reason instanceof DeadlineError ? abort.signal.reason : error
      const release = releaseOf(error)
      if (release) this.#say(entry, 'task.release', release, error)
      else this.#say(entry, 'task.fail', { reason: bounded(reason) }, reason)
    } finally {
      clearTimeout(timer)
      if (!entry.isWaited) this.#remove(entry)
    }
  }

  /** What came after the stop is released. Until that is answered it is held as what runs is. */
  #give(task) {
    const entry = { task, handle: handleOf(task), abort: new AbortController(), isSaid: false, isLost: false, isLate: true }
    this.#running.set(entry.handle.token, entry)
    this.#say(entry, 'task.release')
  }

  #say(entry, method, more = {}, error) {
    if (entry.isLost || entry.isSaid) return
    entry.isSaid = true
    entry.isWaited = true
    this.#ends.add({ task: entry.task, handle: entry.handle, method, more, entry, cause: error })
  }

  /** What was said has been answered. */
  #told({ task, method, entry, cause }, error) {
    if (entry) this.#remove(entry)
    if (isLost(error)) {
      if (entry && !entry.isLost) this.#tell('lost', task, error)
      return
    }
    if (error) return this.#tell('trouble', error)
    this.#tell({ 'task.finish': 'done', 'task.fail': 'failed', 'task.release': 'released' }[method], task, cause)
  }

  #lose(entry, error) {
    if (entry.isLost) return
    entry.isLost = true
    entry.abort.abort(error)
    this.#tell('lost', entry.task, error)
  }

  #remove(entry) {
    this.#running.delete(entry.handle.token)
    if (this.#running.size === 0) {
      clearInterval(this.#heartbeat)
      this.#heartbeat = null
    }
    this.#changed()
  }

  #untilChanged(signal) {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve()
      const go = () => {
        signal.removeEventListener('abort', go)
        this.#changed = () => {}
        resolve()
      }
      this.#changed = go
      signal.addEventListener('abort', go)
    })
  }

  /** Until the reserve that is in progress is answered, or was quiet for a while. */
  async #untilQuiet(limit) {
    for (let left; !this.#reserving.isIdle && !limit.aborted && (left = this.#quietAt - performance.now()) > 0;) {
      const timer = setTimeout(() => this.#changed(), left)
      await this.#untilChanged(limit)
      clearTimeout(timer)
    }
  }

  /** Withdraws the waiting reserve with its connection, once the leases have gone over to the other one. */
  async #withdraw(limit) {
    const tie = () => this.#extend(this.#saying, this.#held(), { whileConnected: true }, { retryFor: Infinity, signal: limit })
    for (let tries = 0; !limit.aborted; tries++) {
      try {
        await tie()
        await this.#untilQuiet(limit)
        if (this.#held().some(({ isLate }) => isLate)) await tie() // what has come goes back by its release
        return this.#reserving.halfClose()
      } catch (error) {
        this.#tell('trouble', error)
        if (!passes(error)) return
        await pause(tries, limit)
      }
    }
  }

  async #windUp() {
    const limit = this.#cutShort.signal
    await this.#withdraw(limit)
    while (this.#running.size > 0 && !limit.aborted) await this.#untilChanged(limit)
    for (const entry of this.#held().filter((entry) => !entry.isSaid)) {
      entry.abort.abort(new ClosedError('the worker is stopped'))
      this.#say(entry, 'task.release')
    }
    // What cannot be said within this time comes back with the end of its connection.
    const isSaid = await Promise.race([this.#ends.empty().then(() => true), sleep(5000, false, { ref: false })])
    if (!isSaid) this.#tell('trouble', new ConnectionError('of some tasks it could not be said what became of them; they may come again'))
  }
}

/** Before the next of `tries`; the signal ends it. */
function pause(tries, signal) {
  const delay = Math.min(50 * 2 ** tries, 5000) * (0.5 + Math.random() / 2)
  return sleep(delay, undefined, { signal }).catch(() => {})
}

/** Whether the task is this attempt's no more. */
function isLost(error) { return error?.reason === 'leaseLost' || error?.reason === 'notFound' }

/** What names this attempt: as it came, whatever the handler makes of its task. */
function handleOf({ fire, token }) { return { fire, token } }

/** What a thrown Release says. What is thrown may be a Proxy, and refuse even to be asked what it is: then it is none. */
function releaseOf(error) {
  try {
    return error instanceof Release ? { delay: error.delay } : undefined
  } catch {
    return undefined
  }
}
