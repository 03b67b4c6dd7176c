// SPDX-License-Identifier: Apache-2.0
//
// Sends delayed mails. Elsewhere: client.add({ schedule: { in: '10m' }, queue: 'mails', key: 'welcome-42', retries: 5, userInfo: { to } })

import { Worker } from 'timerd'

async function send({ to }) {
  console.log(`mail to ${to}`)
}

const worker = new Worker({
  handlers: { mails: (task, { signal }) => send(task.userInfo, signal) },
  concurrency: 10,
  deadline: 30_000,
  signals: true, // SIGTERM: what runs may finish
})
worker.on('trouble', (error) => console.error(`mails: ${error.message}`))
await worker.run()
