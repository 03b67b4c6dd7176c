// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, NotFoundError, Worker } from 'timerd'
import { Daemon, programs } from './daemon.mjs'

const script = (name, body) => test(name, { skip: !programs, timeout: 600_000 }, async () => {
  const daemon = new Daemon().start()
  const client = new Client({ socketPath: daemon.socketPath, retryFor: 60_000 })
  try {
    await body(daemon, client)
  } finally {
    client.close()
    await daemon.stop()
  }
})

script('The real daemon: a job is added, watched, cancelled; the example sends its mail', async (daemon, client) => {
  const events = client.watch({ since: 0, types: ['fire.fired'] })
  const next = events.next()
  const job = await client.add({ schedule: { in: '50ms' }, userInfo: { big: 9007199254740993n } })
  const { value } = await next
  assert.equal(value.job, job.id)
  assert.equal(value.userInfo.big, 9007199254740993n)
  const [a] = await client.add([{ schedule: { in: '1h' } }, { schedule: { in: '2h' } }])
  assert.equal((await client.cancel(a.id)).jobs[0].state, 'invalidated')
  await assert.rejects(client.get(999), NotFoundError)
  await events.return()
  const before = await client.add([{ schedule: { in: '1ms' }, queue: 'others', key: 'k' }])
  const again = await client.add([{ schedule: { in: '1h' } }, { schedule: { in: '1ms' }, queue: 'others', key: 'k' }])
  assert.deepEqual(again.map((job) => job.existing), [undefined, true])
  assert.equal(again[1].id, before[0].id)
  const [task] = await client.reserve('others', { wait: '60s' })
  assert.equal((await client.release(task)).state, 'ready')
  assert.equal((await client.release(task)).state, 'ready')
  const worker = spawn(process.execPath, ['mail-worker.mjs'], { env: { ...process.env, TIMERD_SOCKET: daemon.socketPath } })
  await client.add({ schedule: { in: '10ms' }, queue: 'mails', userInfo: { to: 'ann@example.org' } })
  const [text] = await once(worker.stdout, 'data')
  assert.equal(String(text), 'mail to ann@example.org\n')
  worker.kill('SIGTERM')
  assert.deepEqual(await once(worker, 'exit'), [0, null])
})

script('What is given up leaves no connection and no place in the queue, and a closed client takes no task', async (daemon, client) => {
  const other = new Client({ socketPath: daemon.socketPath })
  try {
    const { connections } = await client.status()
    const job = await client.add({ schedule: { in: '0s' }, command: ['sleep', '600'] })
    const runs = async () => { for await (const run of client.runs({ job: job.id })) return run }
    let run
    while (!(run = await runs())) await sleep(20)
    const waits = [
      ['task.reserve', { queues: ['given up'], wait: '1h', lease: '1h' }],
      ['task.reserve', { queues: ['given up'], wait: '1h', whileConnected: true }],
      ['run.output', { id: run.id, wait: true }],
    ]
    for (let count = 0; count < 5; count++) {
      for (const [method, params] of waits) {
        await assert.rejects(other.call(method, params, { signal: AbortSignal.timeout(50) }), { name: 'TimeoutError' })
        // Whether it was sent within that time is the host's matter.
        await assert.rejects(other.call(method, params, { timeout: 50 }), { reason: 'timedOut' })
      }
    }
    // Of `other` its connections for what waits may be none, and its first one was never made.
    while ((await client.status()).connections > connections) await sleep(20)
    await assert.rejects(other.reserve('given up', { wait: '1h', lease: '1h', signal: AbortSignal.timeout(50) }), { name: 'TimeoutError' })
    other.close()
    while ((await client.status()).connections > connections) await sleep(20)
    await client.add({ schedule: { in: '0s' }, queue: 'given up' })
    const [task] = await client.reserve('given up', { wait: '60s' })
    assert.equal(task.attempt, 1)
    await client.finish(task)
    await client.cancel(job.id, { kill: true })
  } finally {
    other.close()
  }
})

script('Tasks that come as a reserve is aborted are all there for the next one', async (daemon, client) => {
  const count = 100
  await client.add(Array.from({ length: count }, () => ({ schedule: { in: '0s' }, queue: 'hasty' })))
  const taken = new Set()
  const take = (tasks) => { for (const task of tasks) taken.add(task.fire); return tasks }
  for (let delay = 0; delay < 100; delay++) {
    const abort = new AbortController()
    const reserve = client.reserve('hasty', { wait: '1h', lease: '1h', signal: abort.signal })
    setTimeout(() => abort.abort(), delay / 20)
    await reserve.then((tasks) => client.finish(take(tasks)), (error) => assert.equal(error.name, 'AbortError'))
  }
  while (taken.size < count) {
    const tasks = await client.reserve('hasty', { count, wait: '60s' })
    assert.notEqual(tasks.length, 0, `${count - taken.size} tasks wait for the end of their lease`)
    await client.finish(take(tasks))
  }
})

script('A daemon that is killed while a worker works and a watcher watches: nothing is lost, and nothing comes twice unless it says so', async (daemon, client) => {
  const count = 300
  const attempts = new Map() // of each task, in the order in which they came
  const fired = new Map() // of each job, how often its fire was told
  let changed = () => {}
  const until = async (holds) => { while (!holds()) await new Promise((resolve) => { changed = resolve }) }

  const events = client.watch({ since: 0, types: ['fire.fired'] })
  const watching = (async () => {
    for await (const event of events) {
      assert.notEqual(event.type, 'events.lost')
      fired.set(event.job, (fired.get(event.job) ?? 0) + 1)
      changed()
    }
  })()
  const worker = new Worker({
    socketPath: daemon.socketPath, concurrency: 8, lease: '5s',
    handlers: { mails: async (task) => {
      attempts.set(task.job, [...(attempts.get(task.job) ?? []), task.attempt])
      await new Promise((resolve) => setTimeout(resolve, 5))
    } },
  })
  let done = 0
  worker.on('done', () => { done += 1; changed() })
  const run = worker.run()

  const jobs = []
  for (let number = 0; number < count; number++) {
    jobs.push((await client.add({ schedule: { in: '1ms' }, queue: 'mails', key: `order-${number}` })).id)
    if (number % 75 === 50) {
      await until(() => done > number / 2 - 30) // so that it is in the midst of working
      await daemon.kill()
      daemon.start()
    }
  }
  await until(() => jobs.every((job) => attempts.has(job) && fired.has(job)))
  for (;;) { // what was reserved by a reply that was lost comes again once its lease is over
    const left = []
    for await (const task of client.listTasks({ queue: 'mails' })) left.push(task)
    if (left.length === 0) break
    await new Promise((resolve) => { changed = resolve; setTimeout(resolve, 200) })
  }
  await worker.stop()
  await run
  await events.return()
  await watching

  assert.equal(new Set(jobs).size, count)
  assert.deepEqual([...attempts.keys()].sort((a, b) => a - b), jobs)
  for (const [job, numbers] of attempts) {
    assert.deepEqual(numbers, [...new Set(numbers)].sort((a, b) => a - b), `job ${job} came with the attempts ${numbers}`)
  }
  assert.deepEqual([...fired.keys()].sort((a, b) => a - b), jobs)
  assert.deepEqual([...fired.values()].filter((times) => times > 1), [])
})
