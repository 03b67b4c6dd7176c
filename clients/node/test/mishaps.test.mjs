// SPDX-License-Identifier: Apache-2.0
//
// What goes wrong now and then, and must cost nobody else anything.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Client, ConnectionError, FileCursor, LimitReachedError, ParseError, ProtocolError, Release, stringify, Worker } from 'timerd'
import { Fake } from './fake.mjs'

const script = (name, body) => test(name, { timeout: 120_000 }, async () => {
  const fake = await new Fake().listen()
  const client = new Client({ socketPath: fake.path })
  try { await body(fake, client) } finally { client.close(); fake.close() }
})
const away = { code: -32005, message: 'one connection too many', data: { reason: 'limitReached' } }

test('Half of a character is refused before it is sent, and all else is text', () => {
  for (const text of ['\ud800', 'a\udfff', '\\\ud800', { '\udc00': 1 }]) assert.throws(() => stringify(text), /half of a character/)
  for (const text of ['\\ud800', '\\\\ud800', '\u{1f600}', '\\', 'ud800']) assert.equal(JSON.parse(stringify(text)), text)
})

test('What JSON cannot say is refused with its place, and is not told as null or left out', () => {
  const refused = [
    [NaN, 'the value is NaN'], [undefined, 'the value is undefined'],
    [{ params: { userInfo: { rate: NaN } } }, "'params.userInfo.rate' is NaN"],
    [{ a: [{ b: [1] }, { b: [1, -Infinity] }] }, "'a[1].b[1]' is -Infinity"],
    [[1, undefined], "'[1]' is undefined"], [[, 1], "'[0]' is undefined"],
    [{ a: () => {} }, "'a' is a function"], [{ a: Symbol('b') }, "'a' is a symbol"],
    [{ a: new Date(NaN) }, "'a' is a date that is none"], [{ a: Object(NaN) }, "'a' is NaN"],
    [{ a: Promise.resolve(1) }, "'a' is a Promise"], [{ a: new RangeError('b') }, "'a' is an Error"], [{ a: /b/ }, "'a' is a RegExp"],
    [{ a: new WeakMap() }, "'a' is a WeakMap"], [{ a: new WeakSet() }, "'a' is a WeakSet"], [[new ArrayBuffer(1)], "'[0]' is an ArrayBuffer"],
    [{ a: new DataView(new ArrayBuffer(2)) }, "'a' is a DataView"], [{ a: new Uint8Array(3) }, "'a' is a Uint8Array"],
    [{ a: new URLSearchParams('b=1') }, "'a' is a URLSearchParams"], [{ a: (function* () {})() }, "'a' is a Generator"],
    [{ a: new WeakRef({}) }, "'a' is a WeakRef"], [{ a: Object(Symbol('b')) }, "'a' is a Symbol"], [{ a: Object.assign(new Map(), { b: 1 }) }, "'a' is a Map"],
    [{ a: new Map([[1, 2]]) }, "'a' is a Map"], [[new Set([1])], "'[0]' is a Set"],
  ]
  for (const [value, message] of refused) assert.throws(() => stringify(value), { name: 'TypeError', message: `${message}, which JSON cannot say` })
  const shared = { n: 1 }
  const value = { left: undefined, none: null, big: 2n ** 70n, date: new Date(0), twice: [shared, shared], own: { toJSON: () => 'own', f() {} },
    error: Object.assign(new Error('no'), { toJSON: () => 'no' }), boxed: [Object(1n), Object(true), Object('')], said: { toJSON: () => 2n ** 64n },
    fields: new (class Order { n = 1 })(), none2: Object.create(null), bytes: Buffer.from('b') }
  assert.equal(stringify(value),
    '{"none":null,"big":1180591620717411303424,"date":"1970-01-01T00:00:00.000Z","twice":[{"n":1},{"n":1}],"own":"own","error":"no",' +
    '"boxed":[1,true,""],"said":18446744073709551616,"fields":{"n":1},"none2":{},"bytes":{"type":"Buffer","data":[98]}}')
})

script('A userInfo that JSON cannot say is refused before it is sent', async (fake, client) => {
  await assert.rejects(client.add({ schedule: { in: '1h' }, userInfo: NaN }), { name: 'TypeError', message: /^'params.userInfo' is NaN/ })
  const get = client.get(1)
  ;(await fake.take('job.get')).reply({ job: { id: 1 } })
  await get
  assert.deepEqual(fake.left, [])
})

script('What cannot be said costs no other call anything', async (fake, client) => {
  const get = client.get(1)
  await assert.rejects(client.add({ schedule: { in: '1h' }, userInfo: '\ud800' }), TypeError)
  ;(await fake.take('job.get')).reply({ job: { id: 1 } })
  assert.equal((await get).id, 1)
})

script('An error without an id is that of the oldest request, and before any answer that of the connection', async (fake, client) => {
  const calls = [client.get(1), client.get(2), client.get(3)]
  const [first, second, third] = [await fake.take('job.get'), await fake.take('job.get'), await fake.take('job.get')]
  first.reply({ job: { id: 1 } })
  second.write({ jsonrpc: '2.0', id: null, error: { code: -32700, message: 'no', data: { reason: 'parseError' } } })
  third.reply({ job: { id: 3 } })
  assert.equal((await calls[0]).id, 1)
  await assert.rejects(calls[1], ParseError)
  assert.equal((await calls[2]).id, 3)
  fake.disconnect()
  const refused = [client.get(4), client.get(5)]
  ;(await fake.take('job.get')).write({ jsonrpc: '2.0', id: null, error: away })
  for (const call of refused) await assert.rejects(call, (error) => error instanceof LimitReachedError && error.ofConnection)
})

script('A line that could not be read is one call\'s alone, also ahead of any answer, and the connection goes on', async (fake) => {
  for (const [code, reason] of [[-32700, 'parseError'], [-32600, 'invalidRequest']]) {
    const client = new Client({ socketPath: fake.path })
    const calls = [client.add({ schedule: { in: '1h' } }), client.get(2), client.get(3)]
    const [first, second, third] = [await fake.take('job.add'), await fake.take('job.get'), await fake.take('job.get')]
    first.write({ jsonrpc: '2.0', id: null, error: { code, message: 'no', data: { reason } } })
    second.reply({ job: { id: 2 } })
    third.reply({ job: { id: 3 } })
    await assert.rejects(calls[0], (error) => error.reason === reason && !error.ofConnection)
    assert.deepEqual(await Promise.all(calls.slice(1)), [{ id: 2 }, { id: 3 }])
    const next = client.get(4)
    const last = await fake.take('job.get')
    assert.equal(last.socket, first.socket)
    last.reply({ job: { id: 4 } })
    assert.equal((await next).id, 4)
    client.close()
  }
})

script('A connection that ends behind an answer refuses nothing that may have been carried out', async (fake, client) => {
  const calls = [client.get(1), client.fire(2)]
  const [first, second] = [await fake.take('job.get'), await fake.take('job.fire')]
  first.reply({ job: { id: 1 } })
  second.write({ jsonrpc: '2.0', id: null, error: { code: -32004, message: 'you may not', data: { reason: 'notPermitted' } } })
  assert.equal((await calls[0]).id, 1)
  await assert.rejects(calls[1], (error) => error.reason === 'connectionLost' && error.cause.reason === 'notPermitted')
})

script('A client whose connection was not taken asks on another one', async (fake, client) => {
  const refused = [client.get(1), client.get(2)]
  const request = await fake.take('job.get')
  request.write({ jsonrpc: '2.0', id: null, error: away })
  for (const call of refused) await assert.rejects(call, LimitReachedError)
  await fake.take('job.get')
  const next = client.get(3)
  const other = await fake.take('job.get')
  assert.notEqual(other.socket, request.socket)
  other.reply({ job: { id: 3 } })
  assert.equal((await next).id, 3)
})

script('A watch whose events could not be read for a while goes on behind the last one', async (fake, client) => {
  const events = client.watch({ since: 3 })
  const next = events.next()
  const first = await fake.take('events.subscribe')
  first.reply({ seq: 4 })
  first.write({ jsonrpc: '2.0', id: null, error: { code: -32006, message: 'cannot read the events', data: { reason: 'storageFailed' } } })
  const request = await fake.take('events.subscribe')
  assert.equal(request.params.since, 3)
  request.reply({ seq: 4 })
  request.write({ jsonrpc: '2.0', method: 'event', params: { seq: 4, type: 'job.added' } })
  assert.equal((await next).value.seq, 4)
  await events.return()
})

script('A watch goes on where connections are too many, and subscribes once where one is lost as it asks', async (fake, client) => {
  const events = client.watch({ since: 3 })
  const next = events.next()
  ;(await fake.take('events.subscribe')).write({ jsonrpc: '2.0', id: null, error: away })
  fake.disconnect()
  await fake.take('events.subscribe')
  fake.disconnect()
  const request = await fake.take('events.subscribe')
  request.reply({ seq: 4 })
  request.write({ jsonrpc: '2.0', method: 'event', params: { seq: 4, type: 'job.added' } })
  assert.equal((await next).value.seq, 4)
  // A round trip over another connection later nothing more has come.
  const get = client.get(1)
  ;(await fake.take('job.get')).reply({ job: { id: 1 } })
  await get
  assert.deepEqual(fake.left, [])
  await events.return()
})

script('A watch whose daemon says what is no JSON ends with that', async (fake, client) => {
  const next = client.watch({}).next()
  const request = await fake.take('events.subscribe')
  request.reply({ seq: 4 })
  request.write('moo')
  await assert.rejects(next, ProtocolError)
})

script('A line that says nothing of the calls is no refusal: they may have been carried out, and the error names the socket', async (fake, client) => {
  for (const line of ['{"id":null}', '{"id":null,"error":null}', '{"id":null,"error":5}', '{"method":"event","params":5}', '[]', 'moo']) {
    const call = client.call('job.add', {})
    const refused = assert.rejects(call, (error) => error instanceof ProtocolError && error.sent && error.message.includes(fake.path), line)
    ;(await fake.take('job.add')).write(line)
    await refused
  }
})

script('Events that are asked for at once come to each who asks', async (fake, client) => {
  const events = client.watch({ since: 0 })
  const both = [events.next(), events.next()]
  const request = await fake.take('events.subscribe')
  request.reply({ seq: 2 })
  for (const seq of [1, 2]) request.write({ jsonrpc: '2.0', method: 'event', params: { seq, type: 'job.added' } })
  assert.deepEqual((await Promise.all(both)).map(({ value }) => value.seq), [1, 2])
  await events.return()
})

script('A cursor that cannot be kept ends the watch with its error', async (fake, client) => {
  const events = client.watch({ cursor: { load: () => 3, save: () => { throw new RangeError('the database is away') } } })
  const next = events.next()
  const request = await fake.take('events.subscribe')
  request.reply({ seq: 4 })
  request.write({ jsonrpc: '2.0', method: 'event', params: { seq: 4, type: 'job.added' } })
  await next
  await assert.rejects(events.next(), RangeError)
})

test('A damaged cursor is said, and not taken for none', async () => {
  const path = join(mkdtempSync(join(tmpdir(), 'timerd-cursor-')), 'cursor')
  assert.equal(await new FileCursor(path).load(), undefined)
  for (const text of ['', '{"seq":', '"5"', '{"fires":[]}']) {
    writeFileSync(path, text)
    await assert.rejects(new FileCursor(path).load(), /has no number but/)
  }
})

script('A key that is kept for half a minute, and what moves a date, is not sent twice', async (fake, client) => {
  const calls = [
    client.add({ schedule: { in: '1h' }, key: 'a', keyKept: '30s' }),
    client.add({ schedule: { in: '1h' }, key: 'a', replace: true }),
    client.setFireDate(1, '2026-12-01T08:00:00Z'),
  ]
  const kept = client.add({ schedule: { in: '1h' }, key: 'b', keyKept: '1min' })
  for (const method of ['job.add', 'job.add', 'job.add', 'job.setFireDate']) await fake.take(method)
  fake.disconnect()
  for (const call of calls) await assert.rejects(call, (error) => error instanceof ConnectionError && error.reason === 'connectionLost' && error.sent)
  const again = await fake.take('job.add')
  assert.equal(again.params.key, 'b')
  again.reply({ job: { id: 1 } })
  await kept
  assert.deepEqual(fake.left, [])
})

script('A job is sent again only while its key is there in any case', async (fake, client) => {
  let passed = 0
  const { now } = performance
  performance.now = () => now.call(performance) + passed
  try {
    const added = client.add({ schedule: { in: '1h' }, key: 'a', keyKept: '1min' }, { retryFor: 600_000 })
    const lost = assert.rejects(added, (error) => error.reason === 'connectionLost' && error.sent)
    for (const ms of [20_000, 20_000]) {
      await fake.take('job.add')
      passed += ms
      fake.disconnect()
    }
    await lost
    assert.deepEqual(fake.left, [])
  } finally {
    performance.now = now
  }
})

test('A daemon that is away is named with its socket', async () => {
  const client = new Client({ socketPath: '/nonexistent/s.sock', retryFor: 0 })
  await assert.rejects(client.get(1), { reason: 'cannotConnect', sent: false, message: "cannot connect to '/nonexistent/s.sock': ENOENT" })
  client.close()
})

test('A program ends though it has closed no client', { timeout: 120_000 }, async () => {
  const fake = await new Fake().listen()
  const program = spawn(process.execPath, ['--input-type=module', '-e', `
    import { Client } from 'timerd'
    const client = new Client({ socketPath: ${JSON.stringify(fake.path)} })
    console.log((await client.get(1)).id)
  `], { stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    ;(await fake.take('job.get')).reply({ job: { id: 1 } })
    assert.deepEqual(await once(program, 'exit'), [0, null])
  } finally {
    program.kill('SIGKILL')
    fake.close()
  }
})

const worked = (name, handler, body, options) => test(name, { timeout: 120_000 }, async () => {
  const fake = await new Fake().listen()
  const worker = new Worker({ socketPath: fake.path, concurrency: 2, grace: 20, handlers: { mails: handler }, ...options })
  const run = worker.run()
  try {
    ;(await fake.take('daemon.status')).reply({})
    await body(fake, worker)
  } finally {
    fake.close()
    worker.stop({ grace: 0 })
    worker.stop()
    run.catch(() => {})
  }
})
const task = (fire) => ({ fire, token: 100 + fire, job: fire, queue: 'mails', attempt: 1 })

worked('A handler that throws what has no text has failed, and the worker goes on', () => { throw Object.create(null) }, async (fake) => {
  ;(await fake.take('task.reserve')).reply({ tasks: [task(1)] })
  const failed = await fake.take('task.fail')
  assert.match(failed.params.tasks[0].reason, /cannot be made/)
  failed.reply({ tasks: [{ fire: 1, state: 'dead' }] })
  await fake.take('task.reserve')
})

worked('Of a list that is refused each is said by itself, and what cannot be said is a failure', () => {}, async (fake, worker) => {
  ;(await fake.take('task.reserve')).reply({ tasks: [task(1), task(2)] })
  const list = await fake.take('task.finish')
  assert.equal(list.params.tasks.length, 2)
  list.refuse('invalidParams', -32602)
  const first = await fake.take('task.finish')
  assert.deepEqual(first.params.tasks, [{ fire: 1, token: 101 }])
  const done = once(worker, 'done')
  first.refuse('invalidParams', -32602)
  ;(await fake.take('task.finish')).reply({ tasks: [{ fire: 2, state: 'done' }] })
  assert.equal((await done)[0].fire, 2)
  const failed = await fake.take('task.fail')
  assert.deepEqual(failed.params.tasks, [{ fire: 1, token: 101, reason: 'task.finish: invalidParams' }])
})

worked('What cannot be taken of a list for a while is said again, and the rest is not', () => {}, async (fake, worker) => {
  worker.on('trouble', () => {})
  ;(await fake.take('task.reserve')).reply({ tasks: [task(1), task(2)] })
  const done = once(worker, 'done')
  ;(await fake.take('task.finish')).reply({ tasks: [{ fire: 1, error: { reason: 'storageFailed', message: 'full' } }, { fire: 2, state: 'done' }] })
  assert.equal((await done)[0].fire, 2)
  const again = await fake.take('task.finish')
  assert.deepEqual(again.params.tasks, [{ fire: 1, token: 101 }])
  const last = once(worker, 'done')
  again.reply({ tasks: [{ fire: 1, state: 'done' }] })
  assert.equal((await last)[0].fire, 1)
})

for (const reason of ['invalidParams', 'notPermitted', 'unknownMethod']) {
  test(`A worker whose reserve is refused for good ends with ${reason}, once what runs is done`, { timeout: 120_000 }, async () => {
    const fake = await new Fake().listen()
    let go
    const worker = new Worker({ socketPath: fake.path, concurrency: 2, handlers: { mails: () => new Promise((resolve) => { go = resolve }) } })
    const run = worker.run()
    try {
      ;(await fake.take('daemon.status')).reply({})
      ;(await fake.take('task.reserve')).reply({ tasks: [task(1)] })
      ;(await fake.take('task.reserve')).refuse(reason)
      ;(await fake.take('task.extend')).reply({ tasks: [{ fire: 1, state: 'reserved' }] })
      go()
      ;(await fake.take('task.finish')).reply({ tasks: [{ fire: 1, state: 'done' }] })
      await assert.rejects(run, { reason })
      await worker.stop()
    } finally {
      fake.close()
    }
  })
}

test('A worker with too many queues, or one that would not wait, is said at once', () => {
  const queues = (count) => Object.fromEntries(Array.from({ length: count }, (_, number) => [`q${number}`, () => {}]))
  assert.throws(() => new Worker({ handlers: queues(65) }), /65 queues; accepted are 64/)
  new Worker({ handlers: queues(64), wait: '100ms' })
  for (const wait of ['0s', '0', '00ms', '0d', '0days', '0 min', '']) assert.throws(() => new Worker({ handlers: queues(1), wait }), /wait '.*' is too short/)
})

const garbage = [null, 1, 'x', [], {}, { tasks: null }, { tasks: 1 }, { tasks: 'x' }, { tasks: [null] }, { tasks: [{ fire: 1 }] }, { tasks: { length: 1 } }]

script('An answer of another kind is a ProtocolError, and one that nobody waits for is nothing', async (fake, client) => {
  const handle = { fire: 1, token: 2 }
  const calls = [
    ['job.add', () => client.add({ schedule: { in: '1h' } })], ['job.add', () => client.add([{ schedule: { in: '1h' } }])], ['job.get', () => client.get(1)],
    ['job.setFireDate', () => client.setFireDate(1, 'now')], ['task.reserve', () => client.reserve('mails')], ['task.finish', () => client.finish(handle)],
    ['task.finish', () => client.finish([handle])], ['task.retry', () => client.retry(1)], ['queue.set', () => client.setQueue('mails', {})],
    ['job.list', () => client.list().next()], ['task.reserve', () => client.reserve('mails', { wait: '1h', whileConnected: true })],
  ]
  for (const answer of garbage) {
    for (const [method, call] of calls) {
      if (method === 'task.finish' && answer?.tasks?.[0]?.fire === 1) continue // it says enough
      const asked = call()
      ;(await fake.take(method)).reply(answer)
      await assert.rejects(asked, (error) => error instanceof ProtocolError && error.sent, `${call} ${JSON.stringify(answer)}`)
    }
    for (const wait of [undefined, '1h']) {
      const controller = new AbortController()
      const reserve = client.reserve('mails', { wait, signal: controller.signal })
      const late = await fake.take('task.reserve')
      controller.abort()
      await assert.rejects(reserve, { name: 'AbortError' })
      late.reply(answer)
    }
  }
  const get = client.get(1)
  ;(await fake.take('job.get')).reply({ job: { id: 1 } })
  assert.deepEqual(await get, { id: 1 })
  assert.deepEqual(fake.left, [])
})

script('Tasks beside one that cannot be read go back at once', async (fake, client) => {
  for (const options of [{}, { wait: '1h' }, { wait: '1h', whileConnected: true }]) {
    const reserve = client.reserve('mails', { count: 3, ...options })
    ;(await fake.take('task.reserve')).reply({ tasks: [{ fire: 1, token: 2 }, { fire: 3, token: [] }, { fire: 4, token: 5 }] })
    await assert.rejects(reserve, ProtocolError)
    const release = await fake.take('task.release')
    assert.deepEqual(release.params.tasks, [{ fire: 1, token: 2 }, { fire: 4, token: 5 }])
    release.reply({ tasks: [{ fire: 1, state: 'ready' }, { fire: 4, state: 'ready' }] })
  }
})

test('A worker whose daemon answers with something of another kind goes on', { timeout: 120_000 }, async () => {
  const fake = await new Fake().listen()
  const worker = new Worker({ socketPath: fake.path, handlers: { mails: () => {} } })
  const troubles = []
  worker.on('trouble', (error) => troubles.push(error))
  const run = worker.run()
  try {
    ;(await fake.take('daemon.status')).reply({})
    for (const answer of [null, { tasks: [null] }, { tasks: [{ fire: 1 }] }]) (await fake.take('task.reserve')).reply(answer)
    ;(await fake.take('task.reserve')).reply({ tasks: [{ fire: 8, token: 80 }, null] })
    const release = await fake.take('task.release')
    assert.deepEqual(release.params.tasks, [{ fire: 8, token: 80 }])
    release.reply({ tasks: [{ fire: 8, state: 'ready' }] })
    ;(await fake.take('task.reserve')).reply({ tasks: [task(1)] })
    ;(await fake.take('task.finish')).reply({ tasks: [null] })
    const done = once(worker, 'done')
    ;(await fake.take('task.finish')).reply({ tasks: [{ fire: 1, state: 'done' }] })
    await done
    assert.ok(troubles.length === 5 && troubles.every((error) => error instanceof ProtocolError), troubles.join())
  } finally {
    fake.close()
    await worker.stop({ grace: 0 })
    await run
  }
})

script('A watch that is told of an event without its number ends with that, and keeps its place', async (fake, client) => {
  for (const [method, params] of [['event', { type: 'job.added' }], ['event', { type: 'job.added', seq: '8' }], ['events.lost', { after: 7 }]]) {
    const saved = []
    const watch = client.watch({ cursor: { load: () => 7, save: ({ seq }) => saved.push(seq) } })
    const next = watch.next()
    const subscription = await fake.take('events.subscribe')
    subscription.reply({ seq: 7 })
    subscription.write({ jsonrpc: '2.0', method, params })
    await assert.rejects(next, ProtocolError)
    await watch.return()
    assert.deepEqual(saved, [])
  }
})

test('Tasks that come for a reserve that was given up go back though no call more may wait', { timeout: 120_000 }, async () => {
  const fake = await new Fake().listen()
  const client = new Client({ socketPath: fake.path, maxCalls: 1 })
  try {
    const get = client.get(1)
    const asked = await fake.take('job.get')
    const controller = new AbortController()
    const reserve = client.reserve('mails', { wait: '1h', signal: controller.signal })
    const late = await fake.take('task.reserve')
    controller.abort()
    await assert.rejects(reserve, { name: 'AbortError' })
    late.reply({ tasks: [task(1)] })
    assert.deepEqual((await fake.take('task.release')).params.tasks, [{ fire: 1, token: task(1).token }])
    asked.reply({ job: { id: 1 } })
    await get
  } finally {
    client.close()
    fake.close()
  }
})

script('More marks in a row than the daemon takes are refused before they are sent', async (fake, client) => {
  // It answers such a line without its id, as it does a connection that it does not take.
  for (const row of ['\u0301'.repeat(64), '\u0334'.repeat(64), '\u{1d165}'.repeat(64)]) {
    const get = client.get(`${'\u6f22'.repeat(100)}${row}\u0915${row}${'\ufe0f'.repeat(100)}`)
    ;(await fake.take('job.get')).reply({ job: { id: 1 } })
    await get
    await assert.rejects(client.get(`a${row}\u0301`), { name: 'InvalidRequestError', message: /more than 64 marks/ })
  }
  // Of class 0, though there are marks in the canonical form; ideographs, of which this Node may know nothing.
  const none = [...'\u0c48\u0dda\u0ddd\u0f73\u0f75\u0f76\u0f78\u0f81'].map((sign) => sign.repeat(65))
  for (const text of [...none, '\u{2ebf0}\u{323b0}\u{3ffff}'.repeat(30)]) {
    const get = client.get(text)
    ;(await fake.take('job.get')).reply({ job: { id: 1 } })
    await get
  }
  assert.deepEqual(fake.left, [])
})

test('A reason has no more marks in a row than the daemon takes', { timeout: 120_000 }, async () => {
  const fake = await new Fake().listen()
  const row = '\u0301'.repeat(64)
  const worker = new Worker({ socketPath: fake.path, handlers: { mails: () => { throw new Error(`e${row}\u0301\u0323n${row}`) } } })
  const run = worker.run()
  try {
    ;(await fake.take('daemon.status')).reply({})
    ;(await fake.take('task.reserve')).reply({ tasks: [task(1)] })
    const fail = await fake.take('task.fail')
    assert.equal(fail.params.tasks[0].reason, `Error: e${row}n${row}`)
    const failed = once(worker, 'failed')
    fail.reply({ tasks: [{ fire: 1, state: 'dead' }] })
    await failed
  } finally {
    fake.close()
    await worker.stop({ grace: 0 })
    await run
  }
})

test('A time that is no number of milliseconds is said, and is not taken for none', { timeout: 120_000 }, async () => {
  for (const wrong of ['5s', '1000', NaN, -1, 5n, {}]) {
    for (const name of ['deadline', 'grace']) assert.throws(() => new Worker({ handlers: { mails: () => {} }, [name]: wrong }), { name: 'TypeError', message: RegExp(`^${name} `) })
    for (const name of ['timeout', 'retryFor']) {
      assert.throws(() => new Client({ [name]: wrong }), { name: 'TypeError', message: RegExp(`^${name} `) })
      const client = new Client({ socketPath: '/nowhere/s.sock' })
      await assert.rejects(client.get(1, { [name]: wrong }), { name: 'TypeError', message: RegExp(`^${name} `) })
      client.close()
    }
    const worker = new Worker({ socketPath: '/nonexistent/s.sock', handlers: { mails: () => {} } })
    const run = worker.run()
    await assert.rejects(worker.stop({ grace: wrong }), { name: 'TypeError' })
    await run // it has stopped all the same
  }
  new Worker({ handlers: { mails: () => {} }, deadline: Infinity, grace: 0 })
})

test('A limit that is undefined is that of the client', { timeout: 120_000 }, async () => {
  const fake = await new Fake().listen()
  const client = new Client({ socketPath: fake.path, timeout: 20 })
  try {
    for (const timeout of [undefined, null]) await assert.rejects(client.get(1, { timeout, retryFor: undefined, signal: undefined }), { reason: 'timedOut' })
  } finally {
    client.close()
    fake.close()
  }
})

test('A handler that is no function is said at once', () => {
  assert.throws(() => new Worker({ handlers: { mails: 'send' } }), /'mails' is no function/)
})

test('A handler that is a generator function is said at once', () => {
  for (const handler of [function* () {}, async function* () {}]) {
    assert.throws(() => new Worker({ handlers: { mails: handler } }), /'mails' is a generator function/)
  }
})

const generators = [function* () { throw new Error('it ran') }, async function* () { throw new Error('it ran') }]
worked('A generator that a handler returns is a failure', ({ fire }) => generators[fire - 1](), async (fake) => {
  ;(await fake.take('task.reserve')).reply({ tasks: [task(1), task(2)] })
  const { tasks } = (await fake.take('task.fail')).params
  assert.deepEqual(tasks.map(({ reason }) => reason), Array(2).fill('TypeError: the handler has returned a generator, which nobody runs'))
})

const circular = {}
circular.itself = circular
class Sly extends Release { get delay() { throw new Error('no delay') } set delay(_) {} }
const unsayable = [
  [() => new Release(circular), /^task.release cannot be said: TypeError/],
  [() => new Release('\ud800'), /^task.release cannot be said: .*half of a character/],
  [() => new Release({ toString: () => '', toJSON() { throw null } }), /^task.release cannot be said: null/],
  [() => new Sly(), /./],
  [() => new Proxy({}, { getPrototypeOf() { throw new Error('no') }, get() { throw new Error('no') } }), /whose text cannot be made/],
]
for (const [index, [thrown, reason]] of unsayable.entries()) {
  worked(`What a handler says that cannot be said is its own failure (${index + 1})`, (held) => {
    held.token = circular // what names the attempt is what came
    if (held.fire === 1) throw thrown()
  }, async (fake, worker) => {
    ;(await fake.take('task.reserve')).reply({ tasks: [task(1), task(2)] })
    const done = once(worker, 'done')
    const failed = await fake.take('task.fail')
    assert.equal(failed.params.tasks[0].token, 101)
    assert.match(failed.params.tasks[0].reason, reason)
    const finish = await fake.take('task.finish')
    assert.deepEqual(finish.params.tasks, [{ fire: 2, token: 102 }])
    failed.reply({ tasks: [{ fire: 1, state: 'dead' }] })
    finish.reply({ tasks: [{ fire: 2, state: 'done' }] })
    assert.equal((await done)[0].fire, 2)
    await fake.take('task.reserve')
  })
}

const held = (_, { signal }) => once(signal, 'abort')
worked('A daemon that hangs keeps no worker beyond its grace', held, async (fake, worker) => {
  ;(await fake.take('task.reserve')).reply({ tasks: [task(1)] })
  await fake.take('task.reserve') // so it has begun
  // Long enough for the extend, which is not sent behind its end, on a machine that is busy.
  const stopped = worker.stop({ grace: 8000 })
  await fake.take('task.extend') // which nobody answers
  await fake.take('task.release')
  await stopped
})

worked('A second stop ends the grace though the daemon hangs, or has gone', held, async (fake, worker) => {
  ;(await fake.take('task.reserve')).reply({ tasks: [task(1)] })
  await fake.take('task.reserve')
  const stopped = worker.stop({ grace: Infinity })
  await fake.take('task.extend')
  fake.close()
  worker.stop()
  await stopped
})

worked('A stop is heard while the worker ties its leases to a connection whose daemon hangs', held, async (fake, worker) => {
  ;(await fake.take('task.reserve')).reply({ tasks: [task(1)] })
  await fake.take('task.reserve')
  fake.disconnect()
  await fake.take('task.extend')
  await worker.stop({ grace: 50 })
})

worked('An extend that passes at a stop is said again, and the waiting reserve is withdrawn then', held, async (fake, worker) => {
  ;(await fake.take('task.reserve')).reply({ tasks: [task(1)] })
  const waiting = await fake.take('task.reserve')
  const withdrawn = once(waiting.socket, 'end')
  worker.stop({ grace: 20_000 })
  ;(await fake.take('task.extend')).refuse('storageFailed')
  const again = await fake.take('task.extend')
  assert.deepEqual([again.params.whileConnected, again.params.tasks], [true, [{ fire: 1, token: 101 }]])
  again.reply({ tasks: [{ fire: 1, state: 'reserved' }] })
  await withdrawn
})

worked('What comes for a reserve in progress at a stop is released before its connection ends', held, async (fake, worker) => {
  const { now } = performance
  const moment = now.call(performance)
  performance.now = () => moment // in which the reserve is young
  const other = new Client({ socketPath: fake.path })
  try {
    ;(await fake.take('task.reserve')).reply({ tasks: [task(1)] })
    const waiting = await fake.take('task.reserve')
    let isOver = false
    waiting.socket.once('end', () => { isOver = true })
    const stopped = worker.stop({ grace: 2 ** 31 })
    ;(await fake.take('task.extend')).reply({ tasks: [{ fire: 1, state: 'reserved' }] })
    // Some round trips later its connection is still there.
    for (let trips = 0; trips < 5; trips++) {
      const status = other.status()
      ;(await fake.take('daemon.status')).reply({})
      await status
    }
    assert.equal(isOver, false)
    waiting.reply({ tasks: [task(2)] })
    const release = await fake.take('task.release')
    assert.deepEqual(release.params.tasks, [{ fire: 2, token: 102 }])
    const tie = await fake.take('task.extend')
    assert.deepEqual(tie.params.tasks, [{ fire: 1, token: 101 }, { fire: 2, token: 102 }])
    assert.deepEqual([tie.params.whileConnected, isOver], [true, false])
    const replies = [() => tie.reply({ tasks: tie.params.tasks.map(({ fire }) => ({ fire, state: 'reserved' })) }), () => release.reply({ tasks: [{ fire: 2, state: 'ready' }] })]
    for (const reply of tie.id < release.id ? replies : replies.reverse()) reply()
    worker.stop()
    ;(await fake.take('task.release')).reply({ tasks: [{ fire: 1, state: 'ready' }] })
    await stopped
  } finally {
    performance.now = now
    other.close()
  }
}, { lease: '1d' })

worked('A stop ends a reserve that was quiet for a second', held, async (fake, worker) => {
  const { now } = performance
  ;(await fake.take('task.reserve')).reply({ tasks: [task(1)] })
  const waiting = await fake.take('task.reserve')
  performance.now = () => now.call(performance) + 3_600_000
  try {
    const withdrawn = once(waiting.socket, 'end')
    worker.stop({ grace: 2 ** 31 })
    ;(await fake.take('task.extend')).reply({ tasks: [{ fire: 1, state: 'reserved' }] })
    await withdrawn
  } finally {
    performance.now = now
  }
}, { lease: '1d' })

test('A stop is heard while the daemon does not answer at all', { timeout: 120_000 }, async () => {
  const fake = await new Fake().listen()
  const worker = new Worker({ socketPath: fake.path, handlers: { mails: () => {} } })
  const run = worker.run()
  try {
    await fake.take('daemon.status')
    await worker.stop()
    await run
  } finally {
    fake.close()
  }
})
