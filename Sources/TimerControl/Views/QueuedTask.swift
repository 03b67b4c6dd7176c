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
