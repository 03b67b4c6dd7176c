// SPDX-License-Identifier: Apache-2.0
//
// What is given up, refused or closed.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { Client, stringify, TimeoutError, Worker } from 'timerd'
import { Fake } from './fake.mjs'

const task = (fire) => ({ fire, token: 100 + fire, job: fire, queue: 'mails', attempt: 1 })

test('An abort with any reason, also null, ends a call and a watch as one', async () => {
  const fake = await new Fake().listen()
  const client = new Client({ socketPath: fake.path })
  try {
    for (const reason of [null, 0, '', false]) {
      const abort = new AbortController()
      const call = client.get(1, { signal: abort.signal })
      const events = client.watch({ signal: abort.signal })
      const next = events.next()
      await fake.take('job.get')
      await fake.take('events.subscribe')
      abort.abort(reason)
      for (const ended of [call, next]) assert.deepEqual(await ended.then((value) => ({ value }), (error) => ({ error })), { error: reason })
    }
  } finally {
    client.close()
    fake.close()
  }
})

test('A wait that is aborted or too late leaves no connection, unless tasks are tied to it', async () => {
  const fake = await new Fake().listen()
  const client = new Client({ socketPath: fake.path })
  try {
    for (const [method, params] of [['task.reserve', { queues: ['mails'], wait: '1h' }], ['run.output', { id: 1, wait: true }],
      ['task.reserve', { queues: ['mails'], wait: '1h', whileConnected: true }]]) {
      const abort = new AbortController()
      const aborted = client.call(method, params, { signal: abort.signal })
      const first = await fake.take(method)
      abort.abort()
      await assert.rejects(aborted, { name: 'AbortError' })
      await assert.rejects(client.call(method, params, { timeout: 50 }), TimeoutError)
      for (const { socket } of [first, await fake.take(method)]) if (!socket.closed) await once(socket, 'close', { signal: AbortSignal.timeout(10_000) })
    }
  } finally {
    client.close()
    fake.close()
  }
})

test('A worker that is refused for good says what it has done, and its run is rejected; one that is turned away goes on', async () => {
  const fake = await new Fake().listen()
  const worker = new Worker({ socketPath: fake.path, concurrency: 2, handlers: { mails: () => {} } })
  const trouble = []
  worker.on('trouble', (error) => trouble.push(error.reason))
  const ended = worker.run().then(() => undefined, (error) => error)
  try {
    ;(await fake.take('daemon.status')).write({ jsonrpc: '2.0', id: null, error: { code: -32000, message: 'full', data: { reason: 'limitReached' } } })
    ;(await fake.take('daemon.status')).reply({})
    ;(await fake.take('task.reserve')).reply({ tasks: [task(1)] })
    const finish = await fake.take('task.finish')
    ;(await fake.take('task.reserve')).refuse('invalidParams', -32602)
    ;(await fake.take('task.extend')).reply({ tasks: [{}] })
    finish.reply({ tasks: [{}] })
    assert.equal((await ended).reason, 'invalidParams')
    assert.deepEqual(trouble, ['limitReached'])
    await worker.stop()
  } finally {
    fake.close()
  }
})

test('A BigInt that stands in an object, or that toJSON makes, is an integer; bytes with toJSON are said by it', () => {
  assert.equal(stringify({ a: Object(2n ** 60n), b: { toJSON: () => 5n } }), '{"a":1152921504606846976,"b":5}')
  assert.equal(stringify([Buffer.from('a')]), '[{"type":"Buffer","data":[97]}]')
})

test('A worker whose reserve would not wait is refused', () => {
  assert.throws(() => new Worker({ handlers: { mails: () => {} }, wait: '0s' }), RangeError)
})

test('A call that a close ends says whether it was sent', async () => {
  const fake = await new Fake().listen()
  const client = new Client({ socketPath: fake.path })
  try {
    const call = client.get(1)
    await fake.take('job.get')
    client.close()
    await assert.rejects(call, { reason: 'closed', sent: true })
  } finally {
    fake.close()
  }
})

test('What the daemon cannot do for a while with one task of a list is said again, and loses no lease', async () => {
  const fake = await new Fake().listen()
  let finish
  const worker = new Worker({ socketPath: fake.path, lease: '300ms', handlers: { mails: () => new Promise((resolve) => { finish = resolve }) } })
  const run = worker.run()
  const told = []
  for (const event of ['lost', 'trouble']) worker.on(event, () => told.push(event))
  const failed = { tasks: [{ fire: 1, error: { reason: 'storageFailed', message: 'the disk is full' } }] }
  try {
    ;(await fake.take('daemon.status')).reply({})
    ;(await fake.take('task.reserve')).reply({ tasks: [task(1)] })
    ;(await fake.take('task.extend')).reply(failed)
    ;(await fake.take('task.extend')).reply({ tasks: [{}] })
    const done = once(worker, 'done')
    finish()
    ;(await fake.take('task.finish')).reply(failed)
    ;(await fake.take('task.finish')).reply({ tasks: [{}] })
    await done
    assert.deepEqual(told, ['trouble', 'trouble'])
  } finally {
    fake.close()
    worker.stop({ grace: 0 })
    worker.stop()
    run.catch(() => {})
  }
})
