// SPDX-License-Identifier: Apache-2.0
//
// One connection to the daemon, made anew when it is lost. Requests are pipelined and answered in their order.

import { connect } from 'node:net'
import { isObject } from './answer.js'
import { BusyError, ClosedError, ConnectionError, errorOf, InvalidRequestError, ProtocolError, TimeoutError }
  from './errors.js'
import { parse, stringify } from './json.js'
import { mostMarks, withFewMarks } from './marks.js'
import { manyMayShare } from './signal.js'

const longestRequest = 1 << 20
const longestReply = 32 << 20
const mostInFlight = 128
/**
 * What is said, without an id, of a line that could not be read; all else without one concerns the connection, which ends with it.
 * A line that is too long, or has too many marks in a row, would be another such line, and is never sent.
 */
const ofLine = new Set(['parseError', 'invalidRequest'])

export class Link {
  #path
  #limits
  #queue = new Set()
  #inFlight = []
  #socket = null
  #isOpen = false
  #isFull = false
  #isClosed = false
  #parts = []
  #partBytes = 0
  #retryTimer = null
  #failures = 0
  #soon = null
  #nextId = 1
  #calls = 0
  #bytes = 0
  /** Grows with each connection that was made. */
  generation = 0
  #keepsAlive
  #isAnswered = false
  onNotification = () => {}
  onLost = () => {}

  constructor(path, { maxCalls = 10_000, maxBytes = 32 << 20 } = {}) {
    this.#path = path
    this.#limits = { maxCalls, maxBytes }
  }

  get isOpen() { return this.#isOpen }
  /** Whether every answer that the daemon owes has come, also those that nobody waits for any more. */
  get isIdle() { return this.#inFlight.length === 0 && this.#queue.size === 0 }

  /**
   * The result of a request. `repeatFor`: ms, since it was first sent, for which it may be sent again after its answer was lost. `retryFor`: ms for
   * which a request that was not sent, or may be sent again, is tried again. `generation`: goes over that connection or none.
   * `late` gets a result that comes after the caller has gone. `isNeeded`: never one call too many.
   */
  call(method, params, { signal, timeout = 0, repeatFor = 0, retryFor = 0, generation, late, isNeeded = false } = {}) {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      if (this.#isClosed) return reject(new ClosedError('the client is closed'))
      if (generation !== undefined && (generation !== this.generation || !this.#isOpen)) {
        return reject(new ConnectionError(`the connection for '${method}' is over`))
      }
      const id = this.#nextId++
      const text = `${stringify({ jsonrpc: '2.0', id, method, params })}\n`
      const bytes = Buffer.byteLength(text)
      if (bytes > longestRequest) {
        return reject(new InvalidRequestError(`the request '${method}' has ${bytes} bytes; accepted are ${longestRequest}`))
      }
      if (bytes > text.length && withFewMarks(text) !== text) {
        return reject(new InvalidRequestError(`the request '${method}' has more than ${mostMarks} marks in a row that combine with the character before them; the daemon takes no more`))
      }
      if (!isNeeded && (this.#calls >= this.#limits.maxCalls || this.#bytes + bytes > this.#limits.maxBytes)) {
        return reject(new BusyError(`'${method}' is one call too many: ${this.#calls} calls with ${this.#bytes} bytes wait for the daemon; ` +
          `accepted are ${this.#limits.maxCalls} calls and ${this.#limits.maxBytes} bytes`))
      }
      this.#calls += 1
      this.#bytes += bytes
      this.#holdProcess()
      const call = { id, method, text, repeatFor, repeatUntil: null, retryFor, retryUntil: null, generation, late, sent: false, repeated: false, over: false }
      const settle = (end, value) => {
        if (call.over) return
        call.over = true
        this.#calls -= 1
        this.#bytes -= bytes
        this.#holdProcess()
        clearTimeout(call.timer)
        signal?.removeEventListener('abort', call.abort)
        this.#queue.delete(call)
        call.text = null
        end(value)
      }
      // The reason of an abort may be anything, also what is taken for false.
      call.resolve = (result) => settle(resolve, result)
      call.reject = (error) => settle(reject, error)
      if (signal) {
        call.abort = () => call.reject(signal.reason)
        manyMayShare(signal)
        signal.addEventListener('abort', call.abort)
      }
      if (timeout > 0 && timeout < 2 ** 31) {
        call.timer = setTimeout(() => call.reject(new TimeoutError(
          `'${method}' was not answered within ${timeout} ms over '${this.#path}'`, { sent: call.sent })), timeout)
      }
      this.#queue.add(call)
      this.#pump()
    })
  }

  /** Whether the process lives on for this connection, also where no call waits, or though one does. */
  set keepsAlive(does) {
    this.#keepsAlive = does
    this.#holdProcess()
  }

  /** An idle connection keeps no program from its end. */
  #holdProcess() {
    if (this.#keepsAlive ?? this.#calls > 0) this.#socket?.ref()
    else this.#socket?.unref()
  }

  /** Stops reading, so that what is not taken waits in the daemon. */
  pause() { this.#socket?.pause() }
  resume() { this.#socket?.resume() }

  /** Whether the answer of a call is to come whose tasks somebody has to give back where its caller has gone. */
  get mayBringTasks() { return this.#isOpen && this.#inFlight.some((call) => call.late) }

  /** As `close`, but what is on its way is still read, and told to `late`. The process lives on for that until `keepsAlive` is false. */
  leave() {
    for (const call of [...this.#inFlight, ...this.#queue]) call.reject(new ClosedError('the client was closed', { sent: call.sent }))
    this.keepsAlive = true
    this.halfClose()
  }

  /** Says no more; answers that are on their way still come. */
  halfClose() {
    this.#isClosed = true
    this.#socket?.end()
    this.#holdProcess()
  }

  close() {
    this.#isClosed = true
    clearTimeout(this.#retryTimer)
    const socket = this.#socket
    this.#socket = null
    this.#isOpen = false
    socket?.destroy()
    for (const call of [...this.#inFlight.splice(0), ...this.#queue]) call.reject(new ClosedError('the client was closed', { sent: call.sent }))
  }

  #pump() {
    if (!this.#isOpen) return this.#connect()
    if (this.#queue.size === 0 || this.#isFull) return
    // An idle connection may have ended: its end is heard before anything is said to it.
    if (this.#inFlight.length > 0) return this.#flush()
    this.#soon ??= setImmediate(() => {
      this.#soon = null
      if (this.#isOpen) this.#flush()
    })
  }

  #flush() {
    const socket = this.#socket
    const now = performance.now()
    socket.cork()
    for (const call of this.#queue) {
      if (this.#inFlight.length >= mostInFlight || this.#isFull) break
      this.#queue.delete(call)
      call.repeatUntil ??= now + call.repeatFor
      if (call.sent && now >= call.repeatUntil) {
        call.reject(this.#unanswered(call, true)) // it has waited for too long
        continue
      }
      call.repeated = call.sent
      call.sent = true
      this.#inFlight.push(call)
      this.#isFull = !socket.write(call.text)
    }
    process.nextTick(() => socket.uncork())
  }

  #connect() {
    if (this.#socket || this.#retryTimer || this.#isClosed || this.#queue.size === 0) return
    const socket = connect(this.#path)
    this.#socket = socket
    this.#holdProcess()
    let cause
    socket.on('connect', () => {
      if (socket !== this.#socket) return
      this.#isOpen = true
      this.#isFull = false
      this.#isAnswered = false
      this.#holdProcess()
      this.#failures = 0
      this.generation += 1
      this.#pump()
    })
    socket.on('drain', () => {
      this.#isFull = false
      this.#pump()
    })
    socket.on('data', (chunk) => this.#take(chunk, socket))
    socket.on('end', () => {
      if (socket !== this.#socket) return
      socket.destroy()
      this.#lost(cause)
    })
    socket.on('error', (error) => { cause = error })
    socket.on('close', () => { if (socket === this.#socket) this.#lost(cause) })
  }

  #take(chunk, socket) {
    let from = 0
    for (;;) {
      const end = chunk.indexOf(0x0a, from)
      if (end < 0) break
      this.#parts.push(chunk.subarray(from, end))
      const line = this.#parts.length === 1 ? this.#parts[0] : Buffer.concat(this.#parts)
      this.#parts = []
      this.#partBytes = 0
      from = end + 1
      this.#line(line, socket)
      if (socket !== this.#socket) return
    }
    if (from === chunk.length) return
    this.#parts.push(chunk.subarray(from))
    this.#partBytes += chunk.length - from
    if (this.#partBytes > longestReply) socket.destroy(this.#broken(`a reply has more than ${longestReply} bytes`))
  }

  #line(bytes, socket) {
    let message
    try {
      message = parse(bytes.toString('utf8'))
    } catch (error) {
      return socket.destroy(this.#broken('what the daemon says is not JSON', error))
    }
    if (!isObject(message)) return socket.destroy(this.#broken('what the daemon says is no object'))
    if (typeof message.method === 'string' && message.id === undefined) {
      const params = message.params ?? {}
      if (!isObject(params)) return socket.destroy(this.#broken(`the parameters of '${message.method}' are no object`))
      return this.onNotification(message.method, params, bytes.length)
    }
    if (message.id === null) {
      // A refusal says that nothing was done; of a line that says nothing, nobody knows what became of the calls.
      if (!isObject(message.error)) return socket.destroy(this.#broken('an answer without an id has no error that is an object'))
      const error = errorOf(message.error)
      if (this.#inFlight.length > 0 && ofLine.has(error.reason)) {
        // Replies keep order, so it is the oldest request's. What stands behind it may have been carried out.
        this.#isAnswered = true
        this.#inFlight.shift().reject(error)
        return this.#pump()
      }
      error.ofConnection = true
      if (this.#isAnswered) {
        // Nobody knows what became of the calls.
        socket.destroy()
        return this.#lost(error)
      }
      // Who is not admitted is told so ahead of any answer.
      for (const call of [...this.#inFlight.splice(0), ...this.#queue]) call.reject(error)
      socket.destroy()
      return this.#lost()
    }
    // Replies keep order; only a caller that has gone may be passed over.
    const index = this.#inFlight.findIndex((call) => !call.over || call.id === message.id)
    const call = this.#inFlight[index]
    if (call === undefined || call.id !== message.id) return socket.destroy(this.#broken(`the daemon answers '${message.id}', which is not the next request`))
    this.#inFlight.splice(index, 1)
    this.#isAnswered = true
    if (call.over) {
      if (message.result !== undefined) call.late?.(message.result)
    } else if (message.error !== undefined && !isObject(message.error)) {
      this.#inFlight.unshift(call)
      return socket.destroy(this.#broken(`the error of '${call.method}' is no object`))
    } else if (message.error !== undefined) {
      const error = errorOf(message.error)
      error.repeated = call.repeated
      call.reject(error)
    } else if (message.result === undefined) {
      this.#inFlight.unshift(call)
      return socket.destroy(this.#broken(`the answer to '${call.method}' has neither result nor error`))
    } else {
      call.resolve(message.result)
    }
    this.#pump()
  }

  #broken(what, cause) {
    return new ProtocolError(`the connection to '${this.#path}' is given up: ${what}`, { cause })
  }

  #unanswered(call, wasOpen, cause) {
    return new ConnectionError(wasOpen
      ? `the connection to '${this.#path}' ended before '${call.method}' was answered`
      : `cannot connect to '${this.#path}': ${cause?.code ?? 'it was closed'}`,
      { reason: wasOpen ? 'connectionLost' : 'cannotConnect', sent: call.sent, cause })
  }

  #lost(cause) {
    const wasOpen = this.#isOpen
    this.#socket = null
    this.#isOpen = false
    this.#isFull = false
    this.#parts = []
    this.#partBytes = 0
    const now = performance.now()
    const waiting = [...this.#inFlight.splice(0), ...this.#queue]
    this.#queue.clear()
    // EACCES does not go away by waiting.
    const isHopeless = this.#isClosed || cause?.code === 'EACCES'
    for (const call of waiting) {
      if (call.over) continue
      call.retryUntil ??= now + call.retryFor
      if (call.sent && cause instanceof ProtocolError) {
        call.reject(new ProtocolError(cause.message, { sent: true, cause }))
        continue
      }
      const mayRepeat = (!call.sent || now < call.repeatUntil) && call.generation === undefined
      if (mayRepeat && !isHopeless && now < call.retryUntil) this.#queue.add(call)
      else call.reject(this.#unanswered(call, wasOpen, cause))
    }
    if (wasOpen) this.onLost(cause)
    if (this.#queue.size === 0 || this.#isClosed) return
    const delay = Math.min(20 * 2 ** this.#failures++, 1000) * (0.5 + Math.random() / 2)
    this.#retryTimer = setTimeout(() => {
      this.#retryTimer = null
      this.#connect()
    }, delay)
    if (this.#keepsAlive === false) this.#retryTimer.unref()
  }
}
