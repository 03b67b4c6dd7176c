// SPDX-License-Identifier: Apache-2.0
//
// Events as an async iterator: goes on over lost connections, tells of what was lost, drops repeats, keeps its place.

import { isInteger, part } from './answer.js'
import { ConnectionError, InternalError, ProtocolError, StoppingError, StorageFailedError } from './errors.js'
import { FileCursor } from './cursor.js'
import { manyMayShare } from './signal.js'

const mostQueued = 256
const mostQueuedBytes = 64 << 10
const firesKept = 512

/** The daemon is away or stopping, its disk is full for a while, it has all the connections that it may have. */
const passes = (error) => error.ofConnection || error instanceof StoppingError || error instanceof StorageFailedError
  || error instanceof InternalError || (error instanceof ConnectionError && !(error instanceof ProtocolError))

/**
 * `since`, `types`, `jobs`: as of events.subscribe. `cursor`: a file, or an object of `load` and `save`. The place is kept
 * once the next event is asked for, which does not wait for that: so after a crash events may come again, and none is left out.
 */
export function watch(newLink, { since, types, jobs, cursor, signal, onSubscribed }, onEnd) {
  const keeper = typeof cursor === 'string' ? new FileCursor(cursor) : cursor
  const queue = []
  let queuedBytes = 0
  let link
  let received = since
  let fires = []
  let wakes = [] // of those who ask for the next event
  const wake = () => { for (const go of wakes.splice(0)) go() }
  let failure = null
  let isOver = false
  let isStarted = false
  let isSubscribing = false
  let wanted = null // what is to be saved next
  let saving = null
  let taken = null // what the consumer works on

  const end = () => {
    if (isOver) return
    isOver = true
    link?.close()
    signal?.removeEventListener('abort', abort)
    onEnd()
    wake()
  }
  /** What it is given may be anything, also what is taken for false. */
  const fail = (error) => {
    if (!isOver) failure = { error }
    end()
  }
  const abort = () => fail(signal.reason)

  const put = (event, bytes) => {
    queue.push({ event, bytes })
    queuedBytes += bytes
    if (queue.length >= mostQueued || queuedBytes >= mostQueuedBytes) link.pause()
    wake()
  }
  const take = (method, params, bytes) => {
    if (isOver) return
    const numbers = { event: ['seq'], 'events.lost': ['after', 'through'] }[method] ?? []
    const missing = numbers.find((word) => !isInteger(params[word]))
    if (missing !== undefined) return fail(new ProtocolError(`the daemon tells '${method}' with a '${missing}' that is no integer`))
    if (method === 'events.lost') return put({ type: 'events.lost', ...params }, bytes)
    if (method !== 'event') return
    received = params.seq
    put(params, bytes)
  }

  const save = () => {
    if (!keeper || saving || wanted === null) return
    const value = wanted
    wanted = null
    saving = Promise.resolve(value).then((value) => keeper.save(value)).then(
      () => { saving = null; save() },
      (error) => { saving = null; fail(error) })
  }
  const keep = (seq) => {
    wanted = { seq, fires: [...fires] }
    save()
  }

  // Up to which event a loss has been told.
  let lostThrough = 0

  const subscribe = async () => {
    if (isSubscribing) return // a connection that ends while it is asked
    isSubscribing = true
    for (let tries = 0; !isOver; tries++) {
      try {
        const result = await link.call('events.subscribe', { since: received, types, jobs }, { retryFor: Infinity })
        const seq = part('events.subscribe', result, 'seq', isInteger)
        if (received === undefined) {
          received = seq
          keep(seq)
        }
        isSubscribing = false
        onSubscribed?.(result)
        return
      } catch (error) {
        if (isOver) return
        if (!passes(error)) return fail(error)
        await new Promise((resolve) => setTimeout(resolve, Math.min(20 * 2 ** tries, 1000)))
      }
    }
  }

  const start = async () => {
    const kept = await keeper?.load()
    if (kept !== undefined && kept !== null) {
      received = kept.seq ?? kept
      fires = [...(kept.fires ?? [])]
    }
    if (isOver) return
    link = newLink()
    link.keepsAlive = true
    link.onNotification = take
    link.onLost = (cause) => {
      if (cause instanceof ProtocolError) fail(cause)
      else if (cause?.ofConnection) setTimeout(subscribe, 1000) // the events cannot be read for a while
      else if (!isOver) subscribe()
    }
    await subscribe()
  }

  const isRepeat = (event) => {
    if (event.type !== 'fire.fired') return false
    if (event.redelivered && fires.includes(event.fire)) return true
    fires.push(event.fire)
    if (fires.length > firesKept) fires.shift()
    return false
  }

  const next = async () => {
    if (!isStarted) {
      isStarted = true
      if (signal?.aborted) fail(signal.reason)
      manyMayShare(signal)
      signal?.addEventListener('abort', abort)
      start().catch(fail)
    }
    if (taken !== null) {
      keep(taken)
      taken = null
    }
    for (;;) {
      if (failure) {
        const { error } = failure
        failure = null
        throw error
      }
      if (isOver) return { done: true, value: undefined }
      const first = queue.shift()
      if (first === undefined) {
        await new Promise((resolve) => wakes.push(resolve))
        continue
      }
      queuedBytes -= first.bytes
      if (queue.length < mostQueued / 2 && queuedBytes < mostQueuedBytes / 2) link.resume()
      const { event } = first
      // Behind events.lost root is sent what is left of those numbers: the next event says where the watch is.
      if (event.type === 'events.lost') {
        // Until then each new connection is told of the same loss, and perhaps of more.
        const after = Math.max(event.after, lostThrough)
        if (event.through <= after) continue
        lostThrough = event.through
        return { done: false, value: { ...event, after } }
      }
      if (isRepeat(event)) {
        keep(event.seq)
        continue
      }
      taken = event.seq
      return { done: false, value: event }
    }
  }

  return {
    next,
    async return(value) {
      end()
      failure = null
      while (saving) await saving
      return { done: true, value }
    },
    [Symbol.asyncIterator]() { return this },
  }
}
