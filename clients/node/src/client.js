// SPDX-License-Identifier: Apache-2.0
//
// The client: every method by its name, and those that a web application needs as functions.

import { setTimeout as sleep } from 'node:timers/promises'
import { areObjects, isInteger, isObject, part, reserved, reservedLate } from './answer.js'
import { passes } from './ends.js'
import { ClosedError, errorOf } from './errors.js'
import { Link } from './link.js'
import { milliseconds } from './milliseconds.js'
import { defaultSocketPath } from './paths.js'
import { repeatableFor } from './repeatable.js'
import { watch } from './watch.js'

export class Client {
  #options
  #main
  #waiting = new Map() // of each connection for what waits: whether somebody waits on it
  #tied = new Map() // of each task that is tied to one of these, by its token: which
  #left = new Set() // those whose caller has gone, until they have ended
  #watches = new Set()
  #isClosed = false

  /** `socketPath`; `timeout`: ms for each call; `retryFor`: ms for which what may be repeated is tried again. */
  constructor({ socketPath = defaultSocketPath(), timeout, retryFor, maxCalls, maxBytes } = {}) {
    this.socketPath = socketPath
    this.#options = {
      timeout: milliseconds('timeout', timeout, 30_000), retryFor: milliseconds('retryFor', retryFor, 5_000), limits: { maxCalls, maxBytes },
    }
    this.#main = this.newLink()
  }

  /** A client whose daemon has answered. */
  static async connect(options) {
    const client = new Client(options)
    try {
      await client.call('daemon.status', {}, { retryFor: 0 })
    } catch (error) {
      client.close()
      throw error
    }
    return client
  }

  newLink() { return new Link(this.socketPath, this.#options.limits) }

  /** The result of any method. What waits in the daemon goes over a connection of its own. */
  async call(method, params = {}, options = {}) {
    if (this.#isClosed) throw new ClosedError('the client is closed')
    // What belongs into the parameters would be dropped here, and the call mean something else.
    const unknown = Object.keys(options ?? {}).find((name) => !callOptions.includes(name))
    if (unknown !== undefined) throw new TypeError(`'${unknown}' is no option of a call; accepted are ${callOptions.join(', ')}`)
    const waits = (method === 'task.reserve' && !isZero(params.wait)) || (method === 'run.output' && params.wait === true)
    // What is said to be undefined is not said.
    const all = {
      signal: options?.signal,
      timeout: milliseconds('timeout', options?.timeout, waits ? 0 : this.#options.timeout),
      retryFor: milliseconds('retryFor', options?.retryFor, this.#options.retryFor),
      repeatFor: repeatableFor(method, params),
    }
    if (method === 'task.reserve') return this.#reserve(params, all)
    if (waits) return this.#onOwnLink(method, params, all)
    const result = await this.#main.call(method, params, all)
    if (this.#tied.size > 0 && endings.has(method)) this.#untie(params, result)
    return result
  }

  /** `replace` and `dryRun` are said beside the definition, or beside all of a list. */
  async add(job, { replace, dryRun, ...options } = {}) {
    const more = { ...(replace === undefined ? {} : { replace }), ...(dryRun === undefined ? {} : { dryRun }) }
    if (!Array.isArray(job)) {
      const { job: added, ...rest } = await this.#ask('job.add', Object.keys(more).length === 0 ? job : { ...job, ...more }, options, 'job', isObject)
      return { ...added, ...rest }
    }
    const { jobs, existing } = await this.#ask('job.add', { jobs: job, ...more }, options, 'jobs', areObjects)
    const there = new Set(Array.isArray(existing) ? existing : [])
    return jobs.map((added) => (there.has(added.id) ? { ...added, existing: true } : added))
  }
  async get(job, options) { return (await this.#ask('job.get', target(job), options, 'job', isObject)).job }
  list(filter, options) { return this.#pages('job.list', filter, 'jobs', options) }
  runs(filter, options) { return this.#pages('run.list', filter, 'runs', options) }
  listTasks(filter, options) { return this.#pages('task.list', filter, 'tasks', options) }
  cancel(job, { kill, ...options } = {}) {
    return this.call('job.invalidate', { ...target(job), ...(kill === undefined ? {} : { kill }) }, options)
  }
  pause(job, options) { return this.call('job.pause', target(job), options) }
  resume(job, options) { return this.call('job.resume', target(job), options) }
  async setFireDate(job, fireDate, { from, ...options } = {}) {
    const params = { ...target(job), fireDate, ...(from === undefined ? {} : { from }) }
    const { job: moved, ...more } = await this.#ask('job.setFireDate', params, options, 'job', isObject)
    return { ...moved, ...more }
  }
  fire(job, options) { return this.call('job.fire', target(job), options) }

  /** Tasks of the queues; none where there was none in time. */
  async reserve(queues, { count, lease, wait, whileConnected, ...options } = {}) {
    const params = { queues: [queues].flat(), count, lease, wait, whileConnected }
    return reserved(await this.call('task.reserve', params, options), (answer) => this.#giveBackLate(answer))
  }
  extend(task, { lease, whileConnected, ...options } = {}) { return this.#say('task.extend', task, {}, { lease, whileConnected }, options) }
  finish(task, options) { return this.#say('task.finish', task, {}, {}, options) }
  fail(task, { reason, ...options } = {}) { return this.#say('task.fail', task, { reason }, {}, options) }
  release(task, { delay, ...options } = {}) { return this.#say('task.release', task, { delay }, {}, options) }
  async retry(which, options) { return (await this.#ask('task.retry', fires(which), options, 'count', isInteger)).count }
  async drop(which, options) { return (await this.#ask('task.drop', fires(which), options, 'count', isInteger)).count }
  async kick(queue, { owner, count, ...options } = {}) { return (await this.#ask('task.kick', { queue, owner, count }, options, 'count', isInteger)).count }
  queues(filter, options) { return this.#pages('queue.list', filter, 'queues', options) }
  async setQueue(queue, settings, options) {
    const { queue: set, made } = await this.#ask('queue.set', { queue, ...settings }, options, 'queue', isObject)
    return made === undefined ? set : { ...set, made }
  }
  status(options) { return this.call('daemon.status', {}, options) }

  /** The events, for ever: see watch.js. */
  watch(options = {}) {
    if (this.#isClosed) throw new ClosedError('the client is closed')
    const events = watch(() => this.newLink(), options, () => this.#watches.delete(events))
    this.#watches.add(events)
    return events
  }

  /**
   * Ends all connections; what waits is rejected. Tasks that are on their way to a reserve are given back behind this, which keeps a program from
   * its end for a second or two at most.
   */
  close() {
    if (this.#isClosed) return
    this.#isClosed = true
    for (const link of [this.#main, ...this.#waiting.keys()]) {
      if (!link.mayBringTasks) {
        link.close()
        continue
      }
      link.leave()
      this.#hearOut(link, hangingTime)
    }
    this.#waiting.clear()
    for (const link of this.#left) keepAliveFor(lastTime, link)
    for (const events of [...this.#watches]) events.return()
  }
  async [Symbol.asyncDispose ?? Symbol.for('timerd.asyncDispose')]() { this.close() }

  /** As `call`, of an answer that has to have this field. */
  async #ask(method, params, options, word, is) {
    const answer = await this.call(method, params, options)
    part(method, answer, word, is)
    return answer
  }

  async #say(method, task, each, all, options) {
    const one = ({ fire, token }) => ({ fire, token, ...each })
    if (!Array.isArray(task)) return (await this.#ask(method, { ...one(task), ...all }, options, 'task', isObject)).task
    const { tasks } = await this.#ask(method, { tasks: task.map(one), ...all }, options, 'tasks', areObjects)
    return tasks.map((told) => (told.error ? { ...told, error: errorOf(told.error) } : told))
  }

  async *#pages(method, filter = {}, key, options) {
    let cursor
    do {
      const page = await this.#ask(method, cursor === undefined ? filter : { ...filter, cursor }, options, key, areObjects)
      yield* page[key]
      cursor = page.cursor
    } while (cursor !== undefined)
  }

  /** Tasks that come after the caller has gone are released at once. */
  #reserve(params, options) {
    const late = (answer) => this.#giveBackLate(answer)
    // Its answer comes at once, and this connection stays for it: with its end what is tied to it would be lost, as one attempt.
    if (isZero(params.wait)) return this.#main.call('task.reserve', params, { ...options, late })
    // Who gives up such a wait stops writing, and hears its answer: no task is handed out to nobody.
    return this.#onOwnLink('task.reserve', { ...params, waitWhileConnected: true }, { ...options, late })
  }

  #giveBackLate(answer) {
    const tasks = reservedLate(answer).map(({ fire, token }) => ({ fire, token }))
    for (const { token } of tasks) this.#tied.delete(token)
    if (tasks.length > 0) this.#giveBack(tasks)
  }

  /** Also over a restart of the daemon, which says while it stops that it takes no more. What cannot be said comes back with the end of its lease. */
  async #giveBack(tasks) {
    const { timeout, retryFor } = this.#options
    const until = performance.now() + retryFor
    let own // once the client is closed
    for (let tries = 0; ; tries++) {
      if (this.#isClosed) own ??= this.#lastLink()
      try {
        await (own ?? this.#main).call('task.release', { tasks },
          { timeout: own ? 0 : timeout, retryFor, repeatFor: repeatableFor('task.release'), isNeeded: true })
        break
      } catch (error) {
        // The client may have been closed under it.
        if (error instanceof ClosedError ? own : !passes(error) || performance.now() >= until) break
      }
      await sleep(Math.min(50 * 2 ** tries, 1000), undefined, { ref: own !== undefined })
    }
    own?.close()
  }

  /** A connection of a client that is closed. */
  #lastLink() {
    const link = this.newLink()
    keepAliveFor(lastTime, link)
    setTimeout(() => link.close(), hangingTime).unref()
    return link
  }

  /** A connection on which nothing else waits. It ends with a call that is given up, unless tasks are tied to it, which would go back. */
  async #onOwnLink(method, params, options) {
    // On one that has stayed for its tasks the answer to a call that was given up may still be to come.
    const link = [...this.#waiting].find(([link, isBusy]) => !isBusy && link.isIdle)?.[0] ?? this.#newLinkOfItsOwn()
    this.#waiting.set(link, true)
    try {
      const result = await link.call(method, params, options)
      if (params.whileConnected) for (const { token } of reservedLate(result)) this.#tied.set(token, link)
      return result
    } finally {
      this.#waiting.set(link, false)
      // What has come, and this program has not come to read, may hand out tasks that would be lost with their connection.
      if (!link.isIdle) afterReading(() => this.#leave(link, method))
    }
  }

  #newLinkOfItsOwn() {
    const link = this.newLink()
    // With the connection its tasks have gone back.
    link.onLost = () => { for (const [token, tied] of this.#tied) if (tied === link) this.#tied.delete(token) }
    return link
  }

  /**
   * Ends a connection on which nobody waits for the answer that is to come, unless tasks are tied to it. That of a reserve is read until the daemon has
   * ended it: the tasks of an answer that nobody hears would wait for their leases to end.
   */
  #leave(link, method) {
    if (link.isIdle || this.#waiting.get(link) !== false || [...this.#tied.values()].includes(link)) return
    this.#waiting.delete(link)
    link.halfClose()
    this.#hearOut(link, method === 'task.reserve' ? hangingTime : 0)
  }

  /** Reads what comes over a connection that says no more until the daemon has ended it, for `limit` ms at most. */
  #hearOut(link, limit) {
    this.#left.add(link)
    const end = () => {
      clearTimeout(timer)
      link.close()
      this.#left.delete(link)
    }
    const timer = setTimeout(end, limit).unref()
    link.onLost = end
  }

  /** What has ended is tied to nothing; what was refused perhaps is. */
  #untie(params, result) {
    const told = result?.tasks ?? [result?.task]
    for (const [index, { token }] of (params.tasks ?? [params]).entries()) {
      if (told[index]?.state !== undefined) this.#tied.delete(token)
    }
    // Tasks alone have one stay.
    for (const [link, isBusy] of [...this.#waiting]) if (!isBusy) this.#leave(link, 'task.reserve')
  }
}

/** For how many ms a daemon that hangs, and does not end a connection that was given up, is waited for. */
const hangingTime = 30_000
/** For how many ms a client that was closed keeps its program from the end, to hear what is on its way. */
const lastTime = 1_000
function keepAliveFor(time, link) {
  link.keepsAlive = true
  setTimeout(() => { link.keepsAlive = false }, time).unref()
}
/** Once the event loop has read all that is there. */
const afterReading = (then) => setImmediate(() => setImmediate(then))
const endings = new Set(['task.finish', 'task.fail', 'task.release'])
const callOptions = ['signal', 'timeout', 'retryFor']

function target(job) {
  if (typeof job === 'number' || typeof job === 'bigint') return { id: job }
  if (typeof job === 'string') return { name: job }
  return Array.isArray(job) ? { ids: job } : job
}

const fires = (which) => (Array.isArray(which) ? { fires: which } : typeof which === 'object' ? which : { fires: [which] })
const isZero = (wait) => wait === undefined || !/[1-9]/.test(wait)
