// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { test } from 'node:test'
import { LeaseLostError, Release, Worker } from 'timerd'
import { Fake } from './fake.mjs'

const task = (fire) => ({ fire, token: 100 + fire, job: fire, queue: 'mails', attempt: 1, userInfo: { to: fire } })
const script = (name, options, body) => test(name, async () => {
  const fake = await new Fake().listen()
  const worker = new Worker({ socketPath: fake.path, wait: '1h', grace: 20, ...options })
  worker.on('trouble', () => {})
  const run = worker.run()
  try {
    const status = await fake.take('daemon.status')
    status.reply({})
    await body(fake, worker)
  } finally {
    fake.close()
    worker.stop({ grace: 0 })
    worker.stop()
    run.catch(() => {})
  }
})

script('Ends that come together go in one list, a failure with its reason, a release with its delay',
  { concurrency: 4, handlers: { mails: async ({ fire }) => {
    if (fire === 3) throw new Error('ä'.repeat(4000))
    if (fire === 4) throw new Release('10s')
  } } }, async (fake) => {
    const reserve = await fake.take('task.reserve')
    assert.deepEqual(reserve.params, { queues: ['mails'], count: 4, lease: '1min', wait: '1h', whileConnected: true })
    reserve.reply({ tasks: [1, 2, 3, 4].map(task) })
    const finish = await fake.take('task.finish')
    assert.deepEqual(finish.params.tasks, [{ fire: 1, token: 101 }, { fire: 2, token: 102 }])
    assert.notEqual(finish.socket, reserve.socket)
    const [failed] = (await fake.take('task.fail')).params.tasks
    assert.ok(Buffer.byteLength(failed.reason) <= 4096 && failed.reason.startsWith('Error: ä') && !failed.reason.includes('\ufffd'))
    assert.equal((await fake.take('task.release')).params.tasks[0].delay, '10s')
  })

for (const deadline of [Infinity, 2 ** 31]) {
  script(`A deadline of ${deadline} ms, more than a timer has, fails no task`, { deadline, handlers: {
    mails: (_, { signal }) => new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
      setTimeout(resolve, 50)
    }),
  } }, async (fake) => {
    ;(await fake.take('task.reserve')).reply({ tasks: [task(1)] })
    assert.deepEqual((await fake.take('task.finish')).params.tasks, [{ fire: 1, token: 101 }])
    assert.deepEqual(fake.left.filter((method) => method === 'task.fail'), [])
  })
}

script('A finish whose answer is lost is said again with the same token', { handlers: { mails: async () => {} } }, async (fake, worker) => {
  ;(await fake.take('task.reserve')).reply({ tasks: [task(1)] })
  const done = once(worker, 'done')
  await fake.take('task.finish')
  fake.disconnect()
  const again = await fake.take('task.finish')
  assert.deepEqual(again.params.tasks, [{ fire: 1, token: 101 }])
  again.reply({ tasks: [{ fire: 1, state: 'done' }] })
  await done
})

script('A handler that runs keeps its lease by extends, and its signal is aborted once that is lost',
  { lease: '600ms', handlers: { mails: (_, { signal }) => once(signal, 'abort') } }, async (fake, worker) => {
    ;(await fake.take('task.reserve')).reply({ tasks: [task(1)] })
    for (const told of [{ state: 'reserved' }, { error: { reason: 'storageFailed', message: 'full' } }, { state: 'reserved' }]) {
      ;(await fake.take('task.extend')).reply({ tasks: [{ fire: 1, ...told }] })
    }
    const lost = once(worker, 'lost')
    ;(await fake.take('task.extend')).reply({ tasks: [{ fire: 1, error: { reason: 'leaseLost', message: 'gone' } }] })
    assert.ok((await lost)[1] instanceof LeaseLostError)
    await fake.take('task.reserve')
    assert.ok(!fake.left.includes('task.fail') && !fake.left.includes('task.finish'))
  })

script('On a new connection the leases are tied to it before anything is reserved',
  { concurrency: 2, handlers: { mails: (_, { signal }) => once(signal, 'abort') } }, async (fake) => {
    ;(await fake.take('task.reserve')).reply({ tasks: [task(1)] })
    await fake.take('task.reserve')
    fake.disconnect()
    const extend = await fake.take('task.extend')
    assert.deepEqual(extend.params, { tasks: [{ fire: 1, token: 101 }], lease: '1min', whileConnected: true })
    assert.deepEqual(fake.left, [])
    extend.reply({ tasks: [{ fire: 1, state: 'reserved' }] })
    assert.equal((await fake.take('task.reserve')).params.count, 1)
  })

const full = new EventEmitter()
script('A worker without room ties its leases anew as soon as its connection has ended, and goes on', { handlers: { mails: () => {
  full.emit('begun')
  return once(full, 'go')
} } }, async (fake) => {
  const begun = once(full, 'begun')
  ;(await fake.take('task.reserve')).reply({ tasks: [task(1)] })
  await begun
  fake.disconnect()
  const extend = await fake.take('task.extend')
  assert.deepEqual(extend.params, { tasks: [{ fire: 1, token: 101 }], lease: '1min', whileConnected: true })
  extend.reply({ tasks: [{ fire: 1, state: 'reserved' }] })
  full.emit('go')
  ;(await fake.take('task.finish')).reply({ tasks: [{ fire: 1, state: 'done' }] })
  const reserve = await fake.take('task.reserve')
  assert.equal(reserve.socket, extend.socket)
})

script('In its grace the leases are tied with each extend, for the daemon may have been restarted',
  { lease: '900ms', grace: 2 ** 31, handlers: { mails: (_, { signal }) => once(signal, 'abort') } }, async (fake, worker) => {
    ;(await fake.take('task.reserve')).reply({ tasks: [task(1)] })
    ;(await fake.take('task.extend')).reply({ tasks: [{ fire: 1, state: 'reserved' }] })
    worker.stop()
    // A heartbeat from before the stop, which ties nothing, may come between.
    for (let ties = 0; ties < 3;) {
      const extend = await fake.take('task.extend')
      if (extend.params.whileConnected) ties += 1
      extend.reply({ tasks: [{ fire: 1, state: 'reserved' }] })
    }
  })

script('A task that is not done by its deadline is aborted and fails with that reason',
  { deadline: 20, handlers: { mails: (_, { signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))) } },
  async (fake) => {
    ;(await fake.take('task.reserve')).reply({ tasks: [task(1)] })
    assert.match((await fake.take('task.fail')).params.tasks[0].reason, /^DeadlineError: task 1/)
  })

let begun
const begins = new Promise((resolve) => { begun = resolve })
script('A worker that is stopped lets go what does not finish within the grace',
  // Long enough for the extend, which is not sent behind its end, on a machine that is busy.
  { grace: 8000, handlers: { mails: (_, { signal }) => { begun(); return once(signal, 'abort') } } }, async (fake, worker) => {
    ;(await fake.take('task.reserve')).reply({ tasks: [task(1)] })
    await begins
    const stopped = worker.stop()
    const extend = await fake.take('task.extend')
    assert.equal(extend.params.whileConnected, true)
    extend.reply({ tasks: [{ fire: 1, state: 'reserved' }] })
    ;(await fake.take('task.release')).reply({ tasks: [{ fire: 1, state: 'ready' }] })
    await stopped
  })
