// SPDX-License-Identifier: Apache-2.0

/** An integer of 64 bits: a bigint where a number cannot hold it exactly. */
export type Integer = number | bigint
export type Json = null | boolean | number | bigint | string | Json[] | { [key: string]: Json }
type Fields = { [field: string]: any }
declare global {
  // As TypeScript's own library and that of Node have it, for programs that are compiled with neither.
  interface SymbolConstructor { readonly asyncDispose: unique symbol }
}

export interface CallOptions {
  signal?: AbortSignal
  /** Milliseconds; 0 for none. */
  timeout?: number
  /** Milliseconds for which a request that was not sent, or may be repeated, is tried again. */
  retryFor?: number
}
export interface ClientOptions {
  socketPath?: string
  timeout?: number
  retryFor?: number
  /** How many calls, and bytes of them, may wait for the daemon; one more is a BusyError. */
  maxCalls?: number
  maxBytes?: number
}
export interface Schedule { in?: string; at?: string | Date; every?: string; cron?: string; calendar?: string; from?: string | Date; tz?: string }
export interface JobDefinition extends Fields {
  schedule: Schedule
  name?: string
  command?: string[]
  queue?: string
  key?: string
  keyKept?: string
  priority?: number
  retries?: number
  backoff?: string
  userInfo?: any
  tags?: string[]
}
export interface Job extends JobDefinition { id: Integer; owner: string; state: string; fires: number; fireDate?: string; existing?: boolean; notes?: string[] }
export interface Task extends Fields {
  fire: Integer
  job: Integer
  queue: string
  attempt: number
  token: Integer
  fireDate: string
  name?: string
  userInfo?: any
  leaseUntil?: string
  state?: 'ready' | 'delayed' | 'reserved' | 'dead'
}
export interface Told extends Fields { fire: Integer; state?: string; leaseUntil?: string; readyAt?: string; error?: TimerdError }
export interface Queue extends Fields { queue: string; owner: string; paused: boolean; ready: number; delayed: number; reserved: number; dead: number; oldest?: string; made?: boolean }
export interface TimerEvent extends Fields { type: string; seq?: Integer; job?: Integer; fire?: Integer; after?: Integer; through?: Integer }
export type Target = Integer | string | Integer[] | Fields
export type Held = { fire: Integer; token: Integer }
export type Fires = Integer | Integer[] | { queue: string; owner?: string; state?: string; count?: number }
export interface Cursor { seq: Integer; fires?: Integer[] }
export interface CursorKeeper {
  load(): Promise<Cursor | Integer | null | undefined> | Cursor | Integer | null | undefined
  save(cursor: Cursor): Promise<unknown> | unknown
}
export interface WatchOptions {
  since?: Integer
  types?: string[]
  jobs?: Integer[]
  /** A file, or functions of one's own. */
  cursor?: string | CursorKeeper
  signal?: AbortSignal
  onSubscribed?(result: { seq: Integer }): void
}
interface Say<More> {
  (task: Held, options?: CallOptions & More): Promise<Told>
  (tasks: Held[], options?: CallOptions & More): Promise<Told[]>
}

export class Client {
  constructor(options?: ClientOptions)
  static connect(options?: ClientOptions): Promise<Client>
  readonly socketPath: string
  call(method: string, params?: Fields, options?: CallOptions): Promise<any>
  /** `replace`: a live job of that name becomes what is said. `dryRun`: tried and answered; nothing is added. */
  add(job: JobDefinition, options?: CallOptions & { replace?: boolean; dryRun?: boolean }): Promise<Job>
  add(jobs: JobDefinition[], options?: CallOptions & { replace?: boolean; dryRun?: boolean }): Promise<Job[]>
  get(job: Integer | string, options?: CallOptions): Promise<Job>
  list(filter?: Fields, options?: CallOptions): AsyncGenerator<Job, void>
  runs(filter?: Fields, options?: CallOptions): AsyncGenerator<Fields, void>
  cancel(job: Target, options?: CallOptions & { kill?: boolean }): Promise<{ jobs: Job[]; others?: Integer[] }>
  pause(job: Target, options?: CallOptions): Promise<{ jobs: Job[]; others?: Integer[] }>
  resume(job: Target, options?: CallOptions): Promise<{ jobs: Job[]; others?: Integer[] }>
  /** `from`: the fire date that the job is to have now; a conflict where it has another one. */
  setFireDate(job: Integer | string, fireDate: string | Date, options?: CallOptions & { from?: string | Date }): Promise<Job>
  fire(job: Integer | string, options?: CallOptions): Promise<{ job: Job; fire: Integer }>
  reserve(queues: string | string[], options?: CallOptions & { count?: number; lease?: string; wait?: string; whileConnected?: boolean }): Promise<Task[]>
  extend: Say<{ lease?: string; whileConnected?: boolean }>
  finish: Say<{}>
  fail: Say<{ reason?: string }>
  release: Say<{ delay?: string }>
  listTasks(filter?: Fields, options?: CallOptions): AsyncGenerator<Task, void>
  retry(which: Fires, options?: CallOptions): Promise<number>
  drop(which: Fires, options?: CallOptions): Promise<number>
  kick(queue: string, options?: CallOptions & { owner?: string; count?: number }): Promise<number>
  queues(filter?: Fields, options?: CallOptions): AsyncGenerator<Queue, void>
  setQueue(queue: string, settings: { owner?: string; paused?: boolean; maxReserved?: number; maxRate?: string }, options?: CallOptions): Promise<Queue>
  status(options?: CallOptions): Promise<Fields>
  watch(options?: WatchOptions): AsyncIterableIterator<TimerEvent>
  close(): void
  /** As `close`, for `await using`; where Node has that symbol. */
  [Symbol.asyncDispose](): Promise<void>
}

export type Handler = (task: Task, context: { signal: AbortSignal }) => unknown
export interface WorkerOptions {
  handlers: { [queue: string]: Handler }
  socketPath?: string
  concurrency?: number
  lease?: string
  /** How long the daemon waits for a task before it answers; not `0s`. */
  wait?: string
  /** Milliseconds for each task; its signal is aborted then. Without it, or with 0, there is no limit. */
  deadline?: number
  /** Milliseconds that what runs has to finish after a stop; what became of it is then said for 5 s at most. */
  grace?: number
  /** SIGTERM and SIGINT stop the worker; a second one cuts the grace short. */
  signals?: boolean
}
export class Worker {
  constructor(options: WorkerOptions)
  /** Rejects with what the daemon refuses for good, such as a lease that is too long. */
  run(): Promise<void>
  stop(options?: { grace?: number }): Promise<void>
  on: Listen<this>
  once: Listen<this>
  off: Listen<this>
}
/** As of Node's EventEmitter, which a worker is. */
interface Listen<Self> {
  (event: 'done' | 'failed' | 'released' | 'lost', listener: (task: Task, error?: Error) => void): Self
  (event: 'trouble', listener: (error: Error) => void): Self
}

export class FileCursor implements CursorKeeper {
  constructor(path: string)
  readonly path: string
  load(): Promise<Cursor | undefined>
  save(cursor: Cursor): Promise<void>
}
export function defaultSocketPath(): string
export function parse(text: string): any
export function stringify(value: any): string

export class TimerdError extends Error { readonly reason: string; readonly code?: number; readonly data?: any; readonly repeated: boolean; readonly ofConnection: boolean }
export class ParseError extends TimerdError {}
export class InvalidRequestError extends TimerdError {}
export class UnknownMethodError extends TimerdError {}
export class InvalidParamsError extends TimerdError {}
export class InternalError extends TimerdError {}
export class BadScheduleError extends TimerdError {}
export class NotFoundError extends TimerdError {}
export class NameTakenError extends TimerdError {}
export class ConflictError extends TimerdError {}
export class NotPermittedError extends TimerdError {}
export class LimitReachedError extends TimerdError {}
export class StorageFailedError extends TimerdError {}
export class StoppingError extends TimerdError {}
export class LeaseLostError extends TimerdError {}
export class ConnectionError extends TimerdError { readonly sent: boolean }
export class ProtocolError extends ConnectionError {}
export class TimeoutError extends TimerdError { readonly sent: boolean }
export class BusyError extends TimerdError {}
export class ClosedError extends TimerdError { readonly sent: boolean }
export class DeadlineError extends TimerdError {}
export class Release extends Error { constructor(delay?: string); readonly delay: string }
