// SPDX-License-Identifier: Apache-2.0
//
// A real daemon of a test's own, which may be killed and started again.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

export const programs = process.env.TIMERD_PROGRAMS

export class Daemon {
  #folder = mkdtempSync(join(tmpdir(), 'timerd-node-'))
  #process
  socketPath = join(this.#folder, 's.sock')

  start() {
    this.#process = spawn(join(programs, 'timerd'), ['--database', join(this.#folder, 'd.sqlite'), '--socket', this.socketPath], { stdio: 'ignore' })
    return this
  }

  /** kill -9. */
  async kill() {
    const exit = once(this.#process, 'exit')
    this.#process.kill('SIGKILL')
    await exit
  }

  async stop() {
    const exit = once(this.#process, 'exit')
    this.#process.kill()
    await exit
    // Its runner ends a moment later, and leaves a file there. rmSync's own retries do not look for new files.
    for (let triesLeft = 1500; ; triesLeft--) {
      try {
        return rmSync(this.#folder, { recursive: true, force: true })
      } catch (error) {
        if (error.code !== 'ENOTEMPTY' || triesLeft === 0) throw error
      }
      await sleep(20)
    }
  }
}
