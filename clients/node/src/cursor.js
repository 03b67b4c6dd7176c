// SPDX-License-Identifier: Apache-2.0
//
// A watcher's place: a file that is written whole or not at all.

import { open, readFile, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { parse, stringify } from './json.js'

const isNumber = (value) => typeof value === 'bigint' || Number.isInteger(value)

/** A cursor in a file. `load` and `save` are what `watch` wants; an application may bring its own. */
export class FileCursor {
  constructor(path) { this.path = path }

  async load() {
    let text
    try {
      text = await readFile(this.path, 'utf8')
    } catch (error) {
      if (error.code === 'ENOENT') return undefined
      throw error
    }
    let cursor
    try {
      cursor = parse(text)
    } catch {
      cursor = undefined // said below
    }
    if (!isNumber(cursor) && !isNumber(cursor?.seq)) {
      throw new TypeError(`the cursor '${this.path}' has no number but '${text.slice(0, 40)}'`)
    }
    return cursor
  }

  async save(cursor) {
    const temporary = `${this.path}.new`
    const file = await open(temporary, 'w', 0o600)
    try {
      await file.writeFile(`${stringify(cursor)}\n`)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, this.path)
    const folder = await open(dirname(this.path), 'r')
    try {
      await folder.sync()
    } finally {
      await folder.close()
    }
  }
}
