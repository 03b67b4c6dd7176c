// SPDX-License-Identifier: Apache-2.0
//
// Where the daemon listens, found as timerctl finds it (Sources/TimerControl/DefaultPaths.swift).

import { existsSync, statSync } from 'node:fs'
import { userInfo } from 'node:os'

const systemSocket = '/run/timerd/timerd.sock'

/** The socket of $TIMERD_SOCKET, else of the user's own daemon, else the system's if that alone is there. */
export function defaultSocketPath({
  environment = process.env,
  uid = process.geteuid(),
  exists = existsSync,
  isDirectory = (path) => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false,
  home = () => userInfo().homedir,
} = {}) {
  if (environment.TIMERD_SOCKET) return environment.TIMERD_SOCKET
  if (uid === 0) return systemSocket
  const folder = (name) => (environment[name]?.startsWith('/') ? environment[name] : undefined)
  const state = () => folder('XDG_STATE_HOME') ?? `${homeFolder(environment.HOME, home)}/.local/state`
  const perUser = `/run/user/${uid}`
  const runtime = folder('XDG_RUNTIME_DIR') ?? (isDirectory(perUser) ? perUser : state())
  const own = `${runtime.endsWith('/') ? runtime : `${runtime}/`}timerd/timerd.sock`
  return !exists(own) && exists(systemSocket) ? systemSocket : own
}

/** $HOME; without it what the user database says; "" where that is "/" or not absolute. */
function homeFolder(stated, known) {
  let home = stated
  if (home === undefined) {
    try {
      home = known()
    } catch {
      home = '' // A uid that nobody knows has no home.
    }
  }
  return home.startsWith('/') && home !== '/' ? home : ''
}
