// SPDX-License-Identifier: Apache-2.0

export { Client } from './client.js'
export { Worker } from './worker.js'
export { FileCursor } from './cursor.js'
export { defaultSocketPath } from './paths.js'
export { parse, stringify } from './json.js'
export * from './errors.js'
