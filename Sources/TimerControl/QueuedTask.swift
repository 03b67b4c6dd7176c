// SPDX-License-Identifier: Apache-2.0

public import Schedules

/// A task: a fire of a job with `queue`, which waits for a worker or is with one.
public struct QueuedTask: Codable, Hashable, Sendable {
    /// The task's number, which never changes.
    public var fire: FireID
    public var job: JobID
    /// What its job is called; nil for a job without a name.
    public var name: String?
    public var queue: String
    public var priority: Int
    public var userInfo: JSONText?
    /// The date that it stands for.
    public var fireDate: Timestamp
    /// From 1; in a list that of the last one, and 0 where there was none.
    public var attempt: Int
    /// Of this attempt; in the answer to `task.reserve`.
    public var token: RunID?
    /// Of a reserved one.
    public var leaseUntil: Timestamp?
    /// In a list.
    public var state: State?
    /// In a list: since when it is ready, or when a delayed one will be.
    public var readyAt: Timestamp?
    /// In a list: what its last attempt failed with.
    public var reason: String?
    /// In a list.
    public var owner: String?

    public init(
        fire: FireID,
        job: JobID,
        queue: String,
        priority: Int = 0,
        fireDate: Timestamp,
        attempt: Int
    ) {
        (self.fire, self.job, self.queue) = (fire, job, queue)
        (self.priority, self.fireDate, self.attempt) = (priority, fireDate, attempt)
    }

    /// What a worker that reserved it says what became of; nil for one from a list.
    public var reference: TaskReference? { token.map { TaskReference(fire: fire, token: $0) } }

    public enum State: String, Codable, Hashable, Sendable, CaseIterable {
        /// Waits for a worker.
        case ready
        /// Waits for its time.
        case delayed
        /// A worker has it.
        case reserved
        /// Has failed for good.
        case dead
        case done
    }
}

/// `task.reserve` and `task.list`.
public struct TasksReply: Codable, Hashable, Sendable {
    public var tasks: [QueuedTask]
    /// Of a list: to be given with the next request; nil on the last page.
    public var cursor: FireID?

    public init(tasks: [QueuedTask], cursor: FireID? = nil) {
        (self.tasks, self.cursor) = (tasks, cursor)
    }
}

/// What became of a task that a request named.
public struct TaskOutcome: Codable, Hashable, Sendable {
    public var fire: FireID
    /// Nil where it was refused.
    public var state: QueuedTask.State?
    public var leaseUntil: Timestamp?
    public var readyAt: Timestamp?
    /// Why nothing became of it; in a list alone.
    public var error: Refusal?

    public init(
        fire: FireID,
        state: QueuedTask.State,
        leaseUntil: Timestamp? = nil,
        readyAt: Timestamp? = nil
    ) {
        (self.fire, self.state) = (fire, state)
        (self.leaseUntil, self.readyAt) = (leaseUntil, readyAt)
    }

    public init(fire: FireID, error: ControlError) {
        (self.fire, self.error) = (fire, Refusal(error))
    }

    /// A `ControlError` for one of many: its word and its sentence.
    public struct Refusal: Codable, Hashable, Sendable {
        /// A word of `ControlError.Reason`, or one of a newer daemon.
        public var reason: String
        public var message: String

        public init(_ error: ControlError) {
            (reason, message) = (error.reason.rawValue, error.message)
        }

        public var error: ControlError {
            ControlError(ControlError.Reason(rawValue: reason) ?? .internalError, message)
        }
    }
}

/// `task.extend`, `task.finish`, `task.fail` and `task.release` of one.
public struct TaskOutcomeReply: Codable, Hashable, Sendable {
    public var task: TaskOutcome

    public init(task: TaskOutcome) { self.task = task }
}

/// The same of several, in the order of the request.
public struct TaskOutcomesReply: Codable, Hashable, Sendable {
    public var tasks: [TaskOutcome]

    public init(tasks: [TaskOutcome]) { self.tasks = tasks }
}

/// `task.retry`, `task.drop` and `task.kick`: how many were changed.
public struct CountReply: Codable, Hashable, Sendable {
    public var count: Int

    public init(count: Int) { self.count = count }
}
