// SPDX-License-Identifier: Apache-2.0

public import Schedules

/// A queue of one user's, and what it holds.
public struct TaskQueue: Codable, Hashable, Sendable {
    public var queue: String
    public var owner: String
    /// Whether nothing of it is handed out.
    public var paused: Bool
    /// Tasks in progress at a time; nil or 0 for no limit.
    public var maxReserved: Int?
    /// Such as `10/s`; nil for no limit.
    public var maxRate: String?
    public var ready: Int
    public var delayed: Int
    public var reserved: Int
    public var dead: Int
    /// Since when the task is ready that has been so the longest, whatever its priority; nil where none is.
    public var oldest: Timestamp?
    /// How many workers wait for it.
    public var waiting: Int

    public init(
        queue: String,
        owner: String,
        paused: Bool = false,
        maxReserved: Int? = nil,
        maxRate: String? = nil,
        ready: Int = 0,
        delayed: Int = 0,
        reserved: Int = 0,
        dead: Int = 0,
        oldest: Timestamp? = nil,
        waiting: Int = 0
    ) {
        (self.queue, self.owner, self.paused) = (queue, owner, paused)
        (self.maxReserved, self.maxRate) = (maxReserved, maxRate)
        (self.ready, self.delayed, self.reserved, self.dead) = (ready, delayed, reserved, dead)
        (self.oldest, self.waiting) = (oldest, waiting)
    }
}

/// Where the next page of `queue.list` begins: behind this queue.
public struct QueueCursor: Codable, Hashable, Sendable {
    /// The daemon's number for its owner.
    public var owner: Int64
    public var queue: String

    public init(owner: Int64, queue: String) { (self.owner, self.queue) = (owner, queue) }
}

/// `queue.list`: by owner and name.
public struct QueuesReply: Codable, Hashable, Sendable {
    public var queues: [TaskQueue]
    /// For the next page; nil for the last one.
    public var cursor: QueueCursor?

    public init(queues: [TaskQueue], cursor: QueueCursor? = nil) {
        (self.queues, self.cursor) = (queues, cursor)
    }
}

/// `queue.set`.
public struct QueueReply: Codable, Hashable, Sendable {
    public var queue: TaskQueue
    /// True where there was no such queue before; else nil.
    public var made: Bool?

    public init(queue: TaskQueue, made: Bool? = nil) { (self.queue, self.made) = (queue, made) }
}
