// SPDX-License-Identifier: Apache-2.0

/// Where a fire stands: exactly one of these is true of it.
public enum FireState: String, Codable, Hashable, Sendable, CaseIterable {
    /// The fire is committed ahead of its date.
    case claimed
    /// The event went out; there is no command.
    case fired
    /// Its command waits; `waitsFor` says for what.
    case waiting
    case running
    /// A task that waits for a worker, or for its time.
    case queued
    /// A worker has the task.
    case reserved
    /// The task has failed for good, and may be retried.
    case dead
    case done
    case skipped
    /// Its state cannot be read; `unread` says why.
    case unreadable
}

/// What a command waits for, in state `waiting`.
public enum FireWait: String, Codable, Hashable, Sendable, CaseIterable {
    /// A place among the runs that the daemon's limits allow at once; waiting fires get one in order, the
    /// users in turn.
    case place
    /// The end of the job's run in progress.
    case run
    /// The time of its next attempt.
    case retry
    /// The start of the job's `onFailure` command.
    case onFailure
    /// The start of the job's `onSuccess` command.
    case onSuccess
}
