// SPDX-License-Identifier: Apache-2.0
//
// A server that a test scripts: each request waits until the test takes it.

import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

export class Fake {
  #folder = mkdtempSync(join(tmpdir(), 'timerd-node-'))
  #sockets = new Set()
  #requests = []
  #wakes = []
  path = join(this.#folder, 's.sock')

  async listen() {
    this.server = createServer({ allowHalfOpen: true }, (socket) => {
      this.#sockets.add(socket)
      socket.on('error', () => {})
      socket.on('end', () => socket.end())
      socket.on('close', () => this.#sockets.delete(socket))
      createInterface({ input: socket }).on('error', () => {}).on('line', (line) => {
        const { id, method, params } = JSON.parse(line)
        const write = (value) => socket.write(`${typeof value === 'string' ? value : JSON.stringify(value)}\n`)
        this.#requests.push({
          id, method, params, socket, write,
          reply: (result) => write({ jsonrpc: '2.0', id, result }),
          refuse: (reason, code = -32000) => write({ jsonrpc: '2.0', id, error: { code, message: reason, data: { reason } } }),
        })
        for (const wake of this.#wakes.splice(0)) wake()
      })
    })
    await new Promise((resolve) => this.server.listen(this.path, resolve))
    return this
  }

  /** The next request of this method; others stay. */
  async take(method) {
    let isLate = false
    const limit = setTimeout(() => {
      isLate = true
      for (const wake of this.#wakes.splice(0)) wake()
    }, 60_000)
    try {
      for (;;) {
        const index = this.#requests.findIndex((request) => request.method === method)
        if (index >= 0) return this.#requests.splice(index, 1)[0]
        // Thrown here, so that the test ends, and what it has started.
        if (isLate) throw new Error(`no request '${method}' came within 60 s`)
        await new Promise((resolve) => this.#wakes.push(resolve))
      }
    } finally {
      clearTimeout(limit)
    }
  }

  get left() { return this.#requests.map(({ method }) => method) }
  disconnect() { for (const socket of this.#sockets) socket.destroy() }
  close() {
    this.disconnect()
    this.server.close()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
