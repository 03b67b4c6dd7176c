// SPDX-License-Identifier: Apache-2.0
//
// Errors: what the daemon refuses, by its word, and what befalls the client.

/** Whatever goes wrong with timerd. `reason` is the word to go by, `message` is for people. */
export class TimerdError extends Error {
  constructor(message, { reason, code, data, cause } = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = new.target.name
    this.reason = reason ?? new.target.reason
    if (code !== undefined) this.code = code
    if (data !== undefined) this.data = data
    /** Whether the request was sent again after its first answer was lost. */
    this.repeated = false
    /** Whether the daemon does not take the connection; nothing of it was carried out then. */
    this.ofConnection = false
  }
}

// What the daemon says, in the order of docs/protocol.md and docs/queues.md.
export class ParseError extends TimerdError { static reason = 'parseError' }
export class InvalidRequestError extends TimerdError { static reason = 'invalidRequest' }
export class UnknownMethodError extends TimerdError { static reason = 'unknownMethod' }
export class InvalidParamsError extends TimerdError { static reason = 'invalidParams' }
export class InternalError extends TimerdError { static reason = 'internalError' }
export class BadScheduleError extends TimerdError { static reason = 'badSchedule' }
export class NotFoundError extends TimerdError { static reason = 'notFound' }
export class NameTakenError extends TimerdError { static reason = 'nameTaken' }
export class ConflictError extends TimerdError { static reason = 'conflict' }
export class NotPermittedError extends TimerdError { static reason = 'notPermitted' }
export class LimitReachedError extends TimerdError { static reason = 'limitReached' }
export class StorageFailedError extends TimerdError { static reason = 'storageFailed' }
export class StoppingError extends TimerdError { static reason = 'stopping' }
export class LeaseLostError extends TimerdError { static reason = 'leaseLost' }

/**
 * No daemon can be reached (`reason` is `cannotConnect`), or the connection ended before the answer (`connectionLost`). `sent` is
 * true where the request may have been carried out all the same, and false where it was surely not.
 */
export class ConnectionError extends TimerdError {
  static reason = 'connectionLost'
  constructor(message, { sent = false, ...rest } = {}) {
    super(message, rest)
    this.sent = sent
  }
}

/** What came is no reply of this protocol. The connection is not used any more. */
export class ProtocolError extends ConnectionError { static reason = 'protocolError' }

/** The answer did not come in time. `sent` is as of ConnectionError. */
export class TimeoutError extends TimerdError {
  static reason = 'timedOut'
  constructor(message, { sent = false, ...rest } = {}) {
    super(message, rest)
    this.sent = sent
  }
}

/** Too many calls wait already, in number or in bytes. It was not sent. */
export class BusyError extends TimerdError { static reason = 'clientBusy' }

/** The client was closed. `sent` is as of ConnectionError. */
export class ClosedError extends TimerdError {
  static reason = 'closed'
  constructor(message, { sent = false, ...rest } = {}) {
    super(message, rest)
    this.sent = sent
  }
}

/** What a handler's signal is aborted with when its time is over. */
export class DeadlineError extends TimerdError { static reason = 'deadline' }

/** Thrown by a handler: the task is released, to be ready again after `delay`. It costs no retry. */
export class Release extends Error {
  constructor(delay = '0s') {
    super(`released for ${delay}`)
    this.name = 'Release'
    this.delay = delay
  }
}

const byReason = new Map(
  [
    ParseError, InvalidRequestError, UnknownMethodError, InvalidParamsError, InternalError, BadScheduleError,
    NotFoundError, NameTakenError, ConflictError, NotPermittedError, LimitReachedError, StorageFailedError,
    StoppingError, LeaseLostError,
  ].map((type) => [type.reason, type]))

/** The error of a reply, or of one task in a list, where `reason` stands beside `message`. */
export function errorOf(error) {
  const reason = error?.data?.reason ?? error?.reason
  // A word of a newer daemon is a TimerdError with that word.
  const type = byReason.get(reason) ?? TimerdError
  const message = typeof error?.message === 'string' ? error.message : 'an error without a message'
  return new type(message, { reason: reason ?? 'unknown', code: error?.code, data: error?.data })
}
