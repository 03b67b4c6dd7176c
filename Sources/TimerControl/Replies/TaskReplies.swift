// SPDX-License-Identifier: Apache-2.0

public import Schedules

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
