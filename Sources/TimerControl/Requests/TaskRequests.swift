// SPDX-License-Identifier: Apache-2.0

/// One attempt at a task: what a worker names when it says what became of it.
public struct TaskReference: Codable, Hashable, Sendable {
    public var fire: FireID
    /// From the answer to `task.reserve`: the number of the attempt's run.
    public var token: RunID

    public init(fire: FireID, token: RunID) { (self.fire, self.token) = (fire, token) }
}

/// `task.reserve`: tasks for a worker that are its own for a lease.
public struct ReserveTasks: Codable, Hashable, Sendable {
    /// 1 to 64 names.
    public var queues: [String]
    /// 1 to 1000; default 1.
    public var count: Int?
    /// A duration, 100 ms to 7 days; default 1 min.
    public var lease: String?
    /// How long to wait for the first, at most 1 h; default not at all.
    public var wait: String?
    /// Whether the tasks go back once this connection is over.
    public var whileConnected: Bool?
    /// Whether the wait is over, without tasks, once this connection is, or its client shuts down its writing; the tasks of
    /// the answer are tied to nothing.
    public var waitWhileConnected: Bool?

    public init(queues: [String]) { self.queues = queues }

    static let fieldNames: Set<String> = [
        "queues", "count", "lease", "wait", "whileConnected", "waitWhileConnected",
    ]
}

/// `task.extend`: the leases of attempts begin anew.
public struct ExtendTasks: Hashable, Sendable {
    public var tasks: [TaskReference]
    /// Whether they came as `tasks: [...]`, so that the answer is a list as well.
    public var isList: Bool
    /// From now; nil for what was said last, as it was reserved or extended.
    public var lease: String?
    /// Whether they go back once this connection is over; nil for as it is.
    public var whileConnected: Bool?

    public init(_ task: TaskReference) { (tasks, isList) = ([task], false) }
    public init(_ tasks: [TaskReference]) { (self.tasks, isList) = (tasks, true) }
}

/// `task.finish`: what was to be done is done.
public struct FinishTasks: Hashable, Sendable {
    public var tasks: [TaskReference]
    /// As in `ExtendTasks`.
    public var isList: Bool

    public init(_ task: TaskReference) { (tasks, isList) = ([task], false) }
    public init(_ tasks: [TaskReference]) { (self.tasks, isList) = (tasks, true) }
}

/// An attempt that failed, and why.
public struct FailedTask: Hashable, Sendable {
    public var reference: TaskReference
    /// At most 4096 bytes.
    public var reason: String?

    public init(_ reference: TaskReference, reason: String? = nil) {
        (self.reference, self.reason) = (reference, reason)
    }
}

/// `task.fail`: these attempts have failed; there is another one where there are retries left.
public struct FailTasks: Hashable, Sendable {
    public var tasks: [FailedTask]
    /// As in `ExtendTasks`.
    public var isList: Bool

    public init(_ task: FailedTask) { (tasks, isList) = ([task], false) }
    public init(_ tasks: [FailedTask]) { (self.tasks, isList) = (tasks, true) }
}

/// An attempt that was given up, and how long the task is to rest.
public struct ReleasedTask: Hashable, Sendable {
    public var reference: TaskReference
    /// A duration, at most 365 days; default none.
    public var delay: String?

    public init(_ reference: TaskReference, delay: String? = nil) {
        (self.reference, self.delay) = (reference, delay)
    }
}

/// `task.release`: the tasks go back, which costs no retry.
public struct ReleaseTasks: Hashable, Sendable {
    public var tasks: [ReleasedTask]
    /// As in `ExtendTasks`.
    public var isList: Bool

    public init(_ task: ReleasedTask) { (tasks, isList) = ([task], false) }
    public init(_ tasks: [ReleasedTask]) { (self.tasks, isList) = (tasks, true) }
}

/// `task.list`: tasks that are not over, by growing numbers, in pages.
public struct ListTasks: Codable, Hashable, Sendable {
    public var queue: String?
    /// Any but `done`.
    public var state: QueuedTask.State?
    /// Only tasks of this user, by name or uid; for administrators.
    public var owner: String?
    /// 1 to 1000; default 100.
    public var limit: Int?
    /// From the answer before.
    public var cursor: FireID?

    public init() {}

    static let fieldNames: Set<String> = ["queue", "state", "owner", "limit", "cursor"]
}

/// `task.retry`: dead tasks, by their numbers, or the oldest of a queue.
public enum TaskSelection: Hashable, Sendable {
    case fires([FireID])
    /// `owner`: whose queue it is, by name or uid; nil for the caller's own. `count`: 1 to 10,000; nil for 1000.
    case queue(String, owner: String? = nil, count: Int?)
}

/// `task.drop`: tasks that nobody has, by their numbers, or the oldest of a queue in one state.
public enum DropTasks: Hashable, Sendable {
    case fires([FireID])
    /// As of `TaskSelection`.
    case queue(String, owner: String? = nil, state: QueuedTask.State, count: Int?)
}

/// `task.kick`: the next delayed tasks of a queue are ready at once.
public struct KickTasks: Codable, Hashable, Sendable {
    public var queue: String
    /// Whose queue it is, by name or uid, for administrators; nil for the caller's own.
    public var owner: String?
    /// 1 to 10,000; default 1000.
    public var count: Int?

    public init(queue: String, count: Int? = nil) { (self.queue, self.count) = (queue, count) }

    static let fieldNames: Set<String> = ["queue", "owner", "count"]
}

/// `queue.list`: queues by owner and name, in pages.
public struct ListQueues: Codable, Hashable, Sendable {
    /// Only queues of this user, by name or uid; for administrators.
    public var owner: String?
    /// Only those that are paused, or only those that are not.
    public var paused: Bool?
    /// 1 to 1000; default 100.
    public var limit: Int?
    /// From the answer before.
    public var cursor: QueueCursor?

    public init(owner: String? = nil) { self.owner = owner }

    static let fieldNames: Set<String> = ["owner", "paused", "limit", "cursor"]
}

/// `queue.set`: what is nil stays as it is.
public struct SetQueue: Codable, Hashable, Sendable {
    public var queue: String
    /// Whose queue it is, by name or uid, for administrators; nil for the caller's own.
    ///
    /// The caller's own is made where there is none; another user's is to be there.
    public var owner: String?
    public var paused: Bool?
    /// 1 to 1,000,000, or 0 for no limit.
    public var maxReserved: Int?
    /// Such as `10/s`, or `none`.
    public var maxRate: String?

    public init(queue: String) { self.queue = queue }

    static let fieldNames: Set<String> = ["queue", "owner", "paused", "maxReserved", "maxRate"]
}
