// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { Fake } from './fake.mjs'

test('The example sends a mail, finishes its task and ends by SIGTERM', { timeout: 120_000 }, async () => {
  const fake = await new Fake().listen()
  const worker = spawn(process.execPath, ['mail-worker.mjs'], { env: { ...process.env, TIMERD_SOCKET: fake.path } })
  try {
    ;(await fake.take('daemon.status')).reply({})
    const said = once(worker.stdout, 'data')
    ;(await fake.take('task.reserve')).reply({ tasks: [{ fire: 1, token: 1, queue: 'mails', attempt: 1, userInfo: { to: 'ann@example.org' } }] })
    ;(await fake.take('task.finish')).reply({ tasks: [{ fire: 1, state: 'done' }] })
    assert.equal(String((await said)[0]), 'mail to ann@example.org\n')
    worker.kill('SIGTERM')
    assert.deepEqual(await once(worker, 'exit'), [0, null])
  } finally {
    worker.kill('SIGKILL')
    fake.close()
  }
})
