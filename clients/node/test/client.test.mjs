// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as timerd from 'timerd'
import { Fake } from './fake.mjs'

const { Client, parse, stringify } = timerd
const script = (name, body) => test(name, { timeout: 120_000 }, async () => {
  const fake = await new Fake().listen()
  const client = new Client({ socketPath: fake.path })
  try { await body(fake, client) } finally { client.close(); fake.close() }
})

test('Integers of 64 bits go in and come out exactly, and other text stays as it is', () => {
  const text = '{"a":9223372036854775807,"b":-9007199254740993,"c":"9223372036854775807","d":"\\\\\\"9223372036854775807","e":12,"f":0.12345678901234567}'
  const value = parse(text)
  assert.equal(value.a, 9223372036854775807n)
  assert.equal(value.b, -9007199254740993n)
  assert.equal(value.c, '9223372036854775807')
  assert.equal(value.e, 12)
  assert.equal(parse(stringify(value)).a, value.a)
  assert.match(stringify(value), /"a":9223372036854775807,"b":-9007199254740993,"c":"9/)
})

script('Pipelined calls are answered in their order, a refusal by the class of its reason', async (fake, client) => {
  const calls = [client.get(1), client.get(2)]
  const [first, second] = [await fake.take('job.get'), await fake.take('job.get')]
  first.reply({ job: { id: 1 } })
  second.refuse('notFound', -32001)
  assert.equal((await calls[0]).id, 1)
  await assert.rejects(calls[1], (error) => error instanceof timerd.NotFoundError && error instanceof timerd.TimerdError && error.code === -32001)
})

script('An option that no call has is refused before anything is sent, as is a setting by the daemon', async (fake, client) => {
  await assert.rejects(client.drop({ queue: 'q', state: 'ready' }, { count: 1 }), /'count' is no option of a call/)
  await assert.rejects(client.call('job.get', { id: 1 }, { timout: 5 }), TypeError)
  const set = client.setQueue('q', { maxResrved: 3 })
  const request = await fake.take('queue.set')
  assert.deepEqual(request.params, { queue: 'q', maxResrved: 3 })
  request.refuse('invalidParams', -32602)
  await assert.rejects(set, timerd.TimerdError)
  assert.deepEqual(fake.left, [])
})

script('Of a queue that was made with its settings that is said', async (fake, client) => {
  for (const result of [{ queue: { queue: 'q' }, made: true }, { queue: { queue: 'q' } }]) {
    const set = client.setQueue('q', { paused: true })
    ;(await fake.take('queue.set')).reply(result)
    assert.deepEqual(await set, result.made ? { queue: 'q', made: true } : { queue: 'q' })
  }
})

script('Of a queue it may be said whose is meant', async (fake, client) => {
  const kicked = client.kick('q', { owner: 'ann', count: 2 })
  const kick = await fake.take('task.kick')
  assert.deepEqual(kick.params, { queue: 'q', owner: 'ann', count: 2 })
  kick.reply({ count: 2 })
  assert.equal(await kicked, 2)
  for (const [method, call] of [['task.retry', 'retry'], ['task.drop', 'drop']]) {
    const which = { queue: 'q', owner: 'ann', state: 'dead', count: 1 }
    const changed = client[call](which)
    const request = await fake.take(method)
    assert.deepEqual(request.params, which)
    request.reply({ count: 1 })
    assert.equal(await changed, 1)
  }
  const set = client.setQueue('q', { owner: 'ann', paused: true })
  const request = await fake.take('queue.set')
  assert.deepEqual(request.params, { queue: 'q', owner: 'ann', paused: true })
  request.refuse('notFound', -32001)
  await assert.rejects(set, timerd.NotFoundError)
  const all = client.kick('q')
  const plain = await fake.take('task.kick')
  assert.deepEqual(plain.params, { queue: 'q' })
  plain.reply({ count: 0 })
  assert.equal(await all, 0)
})

script('A read whose connection ends is asked again, and an add without a key is not', async (fake, client) => {
  const get = client.get(1)
  const add = client.add({ schedule: { in: '1h' } })
  const keyed = client.add({ schedule: { in: '1h' }, key: 'k' })
  await Promise.all([fake.take('job.get'), fake.take('job.add')])
  await fake.take('job.add')
  fake.disconnect()
  await assert.rejects(add, (error) => error instanceof timerd.ConnectionError && error.sent)
  ;(await fake.take('job.get')).reply({ job: { id: 1 } })
  const again = await fake.take('job.add')
  assert.equal(again.params.key, 'k')
  again.reply({ job: { id: 7 }, existing: true })
  assert.equal((await get).id, 1)
  assert.deepEqual(await keyed, { id: 7, existing: true })
  assert.deepEqual(fake.left, [])
})

script('A calendar is read again, and an add with a key is not where its job has ended with the connection', async (fake, client) => {
  const reads = ['job.calendar', 'run.calendar', 'job.dates']
  const read = reads.map((method) => client.call(method, {}))
  const add = client.add({ schedule: { in: '1h' }, key: 'k', whileConnected: true })
  for (const method of [...reads, 'job.add']) await fake.take(method)
  fake.disconnect()
  await assert.rejects(add, (error) => error instanceof timerd.ConnectionError && error.sent)
  for (const method of reads) (await fake.take(method)).reply({ said: method })
  assert.deepEqual(await Promise.all(read), reads.map((method) => ({ said: method })))
  assert.deepEqual(fake.left, [])
})

script('What the daemon notes of a job that is added or moved comes with it', async (fake, client) => {
  const added = client.add({ schedule: { at: '2026-10-25T02:30:00', tz: 'Europe/Berlin' } })
  ;(await fake.take('job.add')).reply({ job: { id: 1 }, notes: ['the first of two'] })
  assert.deepEqual(await added, { id: 1, notes: ['the first of two'] })
  const moved = client.setFireDate(1, '2026-10-25T02:30:00', { from: '2026-10-24T00:00:00Z' })
  const move = await fake.take('job.setFireDate')
  assert.deepEqual(move.params, { id: 1, fireDate: '2026-10-25T02:30:00', from: '2026-10-24T00:00:00Z' })
  move.reply({ job: { id: 1 }, notes: ['the first of two'] })
  assert.deepEqual(await moved, { id: 1, notes: ['the first of two'] })
})

script('A job is tried, and a list of them, and that is asked again where its answer is lost', async (fake, client) => {
  const job = { schedule: { in: '1h' } }
  for (const [jobs, params, answer] of [[job, job, { job: { id: 1 } }], [[job], { jobs: [job] }, { jobs: [{ id: 1 }] }]]) {
    const tried = client.add(jobs, { dryRun: true })
    await fake.take('job.add')
    fake.disconnect()
    const again = await fake.take('job.add')
    assert.deepEqual(again.params, { ...params, dryRun: true })
    again.reply(answer)
    await tried
  }
})

script('Of several jobs those that were there have existing; a failure whose answer is lost is said again', async (fake, client) => {
  const added = client.add([{ schedule: { in: '1h' }, key: 'a' }, { schedule: { in: '1h' }, key: 'b' }])
  ;(await fake.take('job.add')).reply({ jobs: [{ id: 1 }, { id: 2 }], existing: [2] })
  assert.deepEqual(await added, [{ id: 1 }, { id: 2, existing: true }])
  const failed = client.fail({ fire: 1, token: 5 }, { reason: 'no' })
  await fake.take('task.fail')
  fake.disconnect()
  const again = await fake.take('task.fail')
  assert.deepEqual(again.params, { fire: 1, token: 5, reason: 'no' })
  again.reply({ task: { fire: 1, state: 'dead' } })
  assert.equal((await failed).state, 'dead')
})

script('A call ends with its signal and with its time, and the late answer is nobody else\'s', async (fake, client) => {
  const abort = new AbortController()
  const aborted = client.get(1, { signal: abort.signal })
  const late = await fake.take('job.get')
  abort.abort()
  await assert.rejects(aborted, { name: 'AbortError' })
  const tooLate = assert.rejects(client.get(2, { timeout: 1000 }), (error) => error instanceof timerd.TimeoutError && error.sent)
  const second = await fake.take('job.get')
  await tooLate
  const third = client.get(3)
  const last = await fake.take('job.get')
  for (const [request, id] of [[late, 1], [second, 2], [last, 3]]) request.reply({ job: { id } })
  assert.equal((await third).id, 3)
})

script('What waits for a daemon that does not answer is bounded by number and bytes', async (fake) => {
  const client = new Client({ socketPath: fake.path, maxCalls: 3, maxBytes: 100_000 })
  const calls = [1, 2, 3].map((id) => client.get(id))
  await assert.rejects(client.get(4), timerd.BusyError)
  client.close()
  for (const call of calls) await assert.rejects(call, timerd.ClosedError)
})

script('Tasks that come for a reserve that was aborted are released at once', async (fake, client) => {
  const abort = new AbortController()
  const reserve = client.reserve('mails', { wait: '1h', signal: abort.signal })
  const request = await fake.take('task.reserve')
  request.reply({ tasks: [{ fire: 5, token: 9 }] })
  abort.abort()
  await assert.rejects(reserve, { name: 'AbortError' })
  assert.deepEqual((await fake.take('task.release')).params, { tasks: [{ fire: 5, token: 9 }] })
})

script('A reserve that does not wait, and that is aborted, leaves its connection to the tasks that are tied to it', async (fake, client) => {
  const status = client.status()
  const first = await fake.take('daemon.status')
  first.reply({ version: '1' })
  await status
  const abort = new AbortController()
  const aborted = client.reserve('mails', { whileConnected: true, signal: abort.signal })
  const request = await fake.take('task.reserve')
  abort.abort()
  await assert.rejects(aborted, { name: 'AbortError' })
  request.reply({ tasks: [{ fire: 5, token: 9 }] })
  const release = await fake.take('task.release')
  assert.deepEqual(release.params.tasks, [{ fire: 5, token: 9 }])
  assert.deepEqual([request.socket, release.socket], [first.socket, first.socket])
  assert.equal(first.socket.readableEnded, false)
})

script('Tasks that nobody has come for are released also where the daemon is restarted meanwhile', async (fake) => {
  const client = new Client({ socketPath: fake.path, retryFor: 60_000 })
  try {
    const abort = new AbortController()
    const aborted = client.reserve('mails', { signal: abort.signal })
    const request = await fake.take('task.reserve')
    abort.abort()
    await assert.rejects(aborted, { name: 'AbortError' })
    request.reply({ tasks: [{ fire: 5, token: 9 }] })
    ;(await fake.take('task.release')).refuse('stopping')
    await fake.take('task.release')
    fake.disconnect()
    const release = await fake.take('task.release')
    assert.deepEqual(release.params, { tasks: [{ fire: 5, token: 9 }] })
    release.reply({ tasks: [{ fire: 5, state: 'ready' }] })
  } finally { client.close() }
})

script('An answer that is there as its reserve is aborted costs its tasks nothing', async (fake, client) => {
  const abort = new AbortController()
  const reserve = (options) => client.reserve('mails', { wait: '1h', whileConnected: true, ...options })
  const aborted = reserve({ signal: abort.signal })
  const request = await fake.take('task.reserve')
  request.reply({ tasks: [{ fire: 5, token: 9 }] })
  abort.abort()
  await assert.rejects(aborted, { name: 'AbortError' })
  const release = await fake.take('task.release')
  assert.deepEqual(release.params.tasks, [{ fire: 5, token: 9 }])
  assert.equal(request.socket.readableEnded, false)
  release.reply({ tasks: [{ fire: 5, state: 'ready' }] })
  const next = reserve()
  const again = await fake.take('task.reserve')
  assert.equal(again.socket, request.socket)
  again.reply({ tasks: [] })
  assert.deepEqual(await next, [])
})

script('A connection that tasks are tied to is used again, also behind a reserve that was refused here', async (fake, client) => {
  const reserve = (options) => client.reserve('mails', { wait: '1h', whileConnected: true, ...options })
  const first = reserve()
  const tied = await fake.take('task.reserve')
  tied.reply({ tasks: [{ fire: 5, token: 9 }] })
  await first
  await assert.rejects(reserve({ signal: AbortSignal.abort() }), { name: 'AbortError' })
  const abort = new AbortController()
  const aborted = reserve({ signal: abort.signal })
  const late = await fake.take('task.reserve')
  assert.equal(late.socket, tied.socket)
  abort.abort()
  await assert.rejects(aborted, { name: 'AbortError' })
  // Its answer is still on its way, and whoever asks meanwhile waits for nobody else's.
  const other = reserve()
  const beside = await fake.take('task.reserve')
  assert.notEqual(beside.socket, tied.socket)
  beside.reply({ tasks: [] })
  assert.deepEqual(await other, [])
  late.reply({ tasks: [{ fire: 6, token: 10 }] })
  await fake.take('task.release')
  const again = [reserve(), reserve()]
  const sockets = [await fake.take('task.reserve'), await fake.take('task.reserve')]
  for (const request of sockets) request.reply({ tasks: [] })
  await Promise.all(again)
  assert.deepEqual(new Set(sockets.map(({ socket }) => socket)), new Set([tied.socket, beside.socket]))
})

script('The tasks of an answer that comes behind the abort of its reserve, however late, are released', async (fake, client) => {
  const abort = new AbortController()
  const reserve = client.reserve('mails', { wait: '1h', signal: abort.signal })
  const request = await fake.take('task.reserve')
  assert.equal(request.params.waitWhileConnected, true)
  request.socket.removeAllListeners('end')
  const halfClosed = once(request.socket, 'end')
  abort.abort()
  await assert.rejects(reserve, { name: 'AbortError' })
  await halfClosed
  // The client goes on meanwhile.
  const status = client.status()
  ;(await fake.take('daemon.status')).reply({ version: '1' })
  await status
  request.reply({ tasks: [{ fire: 5, token: 9 }] })
  request.socket.end()
  const release = await fake.take('task.release')
  assert.deepEqual(release.params.tasks, [{ fire: 5, token: 9 }])
  release.reply({ tasks: [{ fire: 5, state: 'ready' }] })
})

script('A connection on which a reserve was aborted ends once its tasks are over, or at once', async (fake, client) => {
  const reserve = (options) => client.reserve('mails', { wait: '1h', whileConnected: true, ...options })
  const first = reserve()
  const tied = await fake.take('task.reserve')
  tied.reply({ tasks: [{ fire: 5, token: 9 }, { fire: 6, token: 10 }] })
  const tasks = await first
  const giveUp = async () => {
    const abort = new AbortController()
    const aborted = reserve({ signal: abort.signal })
    const request = await fake.take('task.reserve')
    const ended = once(request.socket, 'end').then(() => 'ended')
    abort.abort()
    await assert.rejects(aborted, { name: 'AbortError' })
    return { socket: request.socket, ended }
  }
  const { socket, ended } = await giveUp()
  assert.equal(socket, tied.socket)
  for (const [index, task] of tasks.entries()) {
    const finished = client.finish(index === 0 ? task : [task])
    assert.equal(await Promise.race([ended, fake.take('task.finish').then((request) => {
      const told = { fire: task.fire, state: 'done' }
      request.reply(index === 0 ? { task: told } : { tasks: [told] })
    })]), undefined)
    await finished
  }
  await ended
  await (await giveUp()).ended
})

for (const reason of [null, 0, '', false]) {
  script(`An abort with the reason ${JSON.stringify(reason)} rejects a call and a watch`, async (fake, client) => {
    const abort = new AbortController()
    const rejected = async (call) => {
      try {
        await call
      } catch (error) {
        return { error }
      }
      return 'resolved'
    }
    const { signal } = abort
    const calls = [client.get(1, { signal }), client.reserve('mails', { wait: '1h', signal }), client.watch({ signal }).next()].map(rejected)
    for (const method of ['job.get', 'task.reserve', 'events.subscribe']) await fake.take(method)
    abort.abort(reason)
    assert.deepEqual(await Promise.all(calls), Array(3).fill({ error: reason }))
  })
}

script('A client that is closed says which of its calls may have been carried out', async (fake, client) => {
  const sent = client.get(1)
  await fake.take('job.get')
  const other = new Client({ socketPath: fake.path })
  const unsent = other.get(2) // over a connection that is not made yet
  client.close()
  other.close()
  for (const [call, isSent] of [[sent, true], [unsent, false]]) {
    await assert.rejects(call, (error) => error instanceof timerd.ClosedError && error.sent === isSent)
  }
})

script('Many calls may share one signal, and node warns of no leak', async (fake, client) => {
  const warnings = []
  const note = (warning) => warnings.push(warning.message)
  process.on('warning', note)
  const { signal } = new AbortController()
  const calls = Array.from({ length: 20 }, (_, id) => client.get(id, { signal }))
  for (const id of calls.keys()) (await fake.take('job.get')).reply({ job: { id } })
  await Promise.all(calls)
  process.off('warning', note)
  assert.deepEqual(warnings, [])
})

script('All pages of a list come, and a list of ends has an error for each that failed', async (fake, client) => {
  const jobs = (async () => { const all = []; for await (const job of client.list()) all.push(job.id); return all })()
  ;(await fake.take('job.list')).reply({ jobs: [{ id: 1 }], cursor: 1 })
  const second = await fake.take('job.list')
  assert.equal(second.params.cursor, 1)
  second.reply({ jobs: [{ id: 2 }] })
  assert.deepEqual(await jobs, [1, 2])
  const told = client.finish([{ fire: 1, token: 11 }, { fire: 2, token: 12 }])
  ;(await fake.take('task.finish')).reply({ tasks: [{ fire: 1, state: 'done' }, { fire: 2, error: { reason: 'leaseLost', message: 'no' } }] })
  assert.ok((await told)[1].error instanceof timerd.LeaseLostError)
})

script('What is left of numbers that were lost is told, and the cursor stays in front of it', async (fake, client) => {
  const saved = []
  const events = client.watch({ cursor: { load: () => 0, save: ({ seq }) => { saved.push(seq) } } })
  const first = events.next()
  const request = await fake.take('events.subscribe')
  request.reply({ seq: 3502 })
  request.write({ jsonrpc: '2.0', method: 'events.lost', params: { after: 0, through: 3502 } })
  for (const seq of [1, 3502]) request.write({ jsonrpc: '2.0', method: 'event', params: { seq, type: 'job.added' } })
  assert.equal((await first).value.through, 3502)
  assert.equal((await events.next()).value.seq, 1)
  assert.deepEqual(saved, [])
  assert.equal((await events.next()).value.seq, 3502)
  await events.return()
  assert.deepEqual(saved, [1])
})

script('A loss is told once, however often the watch connects before an event comes', async (fake, client) => {
  const events = client.watch({ since: 5, types: ['fire.fired'] })
  const lose = async (through) => {
    const request = await fake.take('events.subscribe')
    request.reply({ seq: through })
    request.write({ jsonrpc: '2.0', method: 'events.lost', params: { after: 5, through } })
  }
  const first = events.next()
  await lose(100)
  assert.deepEqual((await first).value, { type: 'events.lost', after: 5, through: 100 })
  const second = events.next()
  fake.disconnect()
  await lose(100)
  fake.disconnect()
  await lose(120)
  assert.deepEqual((await second).value, { type: 'events.lost', after: 100, through: 120 })
  await events.return()
})

script('A watch goes on behind its cursor, drops repeats and tells of lost events', async (fake, client) => {
  const file = join(mkdtempSync(join(tmpdir(), 'timerd-cursor-')), 'cursor')
  const events = client.watch({ since: 3, cursor: file })
  const send = (request, params, method = 'event') => request.write({ jsonrpc: '2.0', method, params })
  let next = events.next()
  let request = await fake.take('events.subscribe')
  assert.equal(request.params.since, 3)
  request.reply({ seq: 4 })
  send(request, { seq: 4, type: 'fire.fired', fire: 9 })
  assert.equal((await next).value.seq, 4)
  next = events.next()
  fake.disconnect()
  request = await fake.take('events.subscribe')
  assert.equal(request.params.since, 4)
  request.reply({ seq: 6 })
  send(request, { seq: 5, type: 'fire.fired', fire: 9, redelivered: true })
  send(request, { after: 5, through: 8 }, 'events.lost')
  assert.deepEqual((await next).value, { type: 'events.lost', after: 5, through: 8 })
  await events.return()
  assert.equal(JSON.parse(readFileSync(file, 'utf8')).seq, 5)
  const again = client.watch({ cursor: file })
  again.next()
  assert.equal((await fake.take('events.subscribe')).params.since, 5)
})
