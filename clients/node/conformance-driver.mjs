// SPDX-License-Identifier: Apache-2.0
//
// The driver of docs/conformance: commands on standard input, an answer for each on standard output.

import { createInterface } from 'node:readline'
import { Client, parse, stringify, TimerdError } from './src/index.js'

let client
let events
let timeout = 30_000

const told = (error) => {
  if (!(error instanceof TimerdError)) return { error: { reason: error.name, message: error.message } }
  const { code, reason, message, data } = error
  if (code === undefined) return { error: { reason, message } }
  return { error: { code, message, ...(data?.reason === undefined ? {} : { reason: data.reason }) } }
}
const call = (command) => client.call(command.call, command.params, { timeout, retryFor: Math.min(timeout, 2000) })
  .then((result) => ({ result }), told)

async function answer(command) {
  if (command.connect !== undefined) {
    client = new Client({ socketPath: command.connect })
    return { result: null }
  }
  if (command.call !== undefined) return call(command)
  if (command.giveUp !== undefined) {
    const signal = AbortSignal.timeout(200)
    return client.call(command.giveUp, command.params, { signal }).then((result) => ({ result }), (error) => {
      if (error !== signal.reason) throw error
      return { result: null }
    })
  }
  if (command.calls !== undefined) return { results: await Promise.all(command.calls.map(call)) }
  if (command.watch !== undefined) {
    return new Promise((resolve) => {
      events = client.watch({ ...command.watch, onSubscribed: (result) => resolve({ result }) })
      pending = events.next()
      pending.catch((error) => resolve(told(error)))
    })
  }
  if (command.next !== undefined) {
    try {
      const { value } = await (pending ?? events.next())
      pending = null
      if (value === undefined) return { error: { reason: 'connectionLost' } }
      if (value.type !== 'events.lost') return { event: value }
      const { type, ...lost } = value
      return { lost }
    } catch (error) {
      pending = null
      return told(error)
    }
  }
  if (command.close !== undefined) {
    client.close()
    return { result: null }
  }
  if (command.timeout !== undefined) {
    timeout = Number(command.timeout) * 1000
    return { result: null }
  }
  return { error: { reason: 'unsupported' } }
}

let pending = null
for await (const line of createInterface({ input: process.stdin })) {
  let said
  try {
    said = await answer(parse(line))
  } catch (error) {
    said = told(error)
  }
  process.stdout.write(`${stringify(said)}\n`)
}
client?.close()
