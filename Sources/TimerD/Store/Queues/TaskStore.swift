// SPDX-License-Identifier: Apache-2.0

import SQLite
import Schedules
import TimerControl

/// A queue of one user's.
struct QueueKey: Hashable, Sendable {
    var owner: OwnerID
    @ByteText var name: String
}

/// A task as its row has it; dates are in elapsed time.
struct TaskRow: Sendable {
    var fire: FireID
    var job: JobID
    var key: QueueKey
    var priority: Int
    var state: QueuedTask.State
    var readyAt: Timestamp
    var lease: TimeSpan
    /// The run of its last attempt.
    var run: RunID?
    var attempt: Int
    var failures: Int
    var losses: Int
}

/// Cursor in the list of tasks ordered by the time at which they change state by themselves.
struct TaskCursor: Sendable {
    /// In elapsed time.
    var due: Timestamp
    var fire: FireID

    /// Ahead of all.
    static let first = TaskCursor(due: .distantPast, fire: FireID(rawValue: 0))
}

/// The rows of tasks: SQL alone, no decision.
struct TaskStore {
    let database: Database

    init(_ database: Database) { self.database = database }

    /// Stores that a fire has become a task; `until`: when nobody may begin it any more, in elapsed time.
    func insert(
        _ fire: FireID,
        of job: StoredJob,
        _ queue: QueuePolicy,
        at now: Timestamp,
        until: Timestamp?
    ) throws {
        try database.prepare(SQL.insert).run {
            $0.add(fire)
            $0.add(job.id)
            $0.add(job.ownerID)
            $0.add(queue.queue)
            $0.add(queue.priority)
            $0.add(now)
            $0.add(until)
        }
    }

    func task(_ fire: FireID) throws -> TaskRow? {
        try mending { try database.prepare(SQL.task).first(fire) { try TaskRow($0) } }
    }

    /// The queue of the job's oldest task that waits or is with a worker; nil for none.
    ///
    /// The job may have been given another queue since.
    func busyQueue(of job: JobID) throws -> String? {
        try database.prepare(SQL.busyQueue).value(job)
    }

    /// The ended jobs with a tag of the owner's that have a task; `isRevoking`: also those that were invalidated.
    func endedJobs(tagged tag: String, owner: OwnerID, isRevoking: Bool) throws -> [JobID] {
        try database.prepare(SQL.endedByTag).all(owner, tag, isRevoking) { try $0.get(0) }
    }

    /// The newest job of a name, if it is such a job.
    func endedJob(named name: String, owner: OwnerID, isRevoking: Bool) throws -> JobID? {
        try database.prepare(SQL.endedByName).value(owner, name, isRevoking)
    }

    /// All ended jobs of the owner's that have a task.
    func endedJobs(of owner: OwnerID) throws -> [JobID] {
        try database.prepare(SQL.endedOfOwner).all(owner) { try $0.get(0) }
    }

    /// The tasks of a queue that are handed out next: none whose `until` has passed at `now`, which is about to be
    /// skipped.
    func ready(_ key: QueueKey, limit: Int, at now: Timestamp) throws -> [TaskRow] {
        try mending {
            try database.prepare(SQL.ready).all(key.owner, key.name, limit, now) { try TaskRow($0) }
        }
    }

    /// What the worker of a task is told; nil where its job or its fire is gone.
    func words(of task: TaskRow) throws -> TaskWords? {
        try database.prepare(SQL.words).first(task.fire, task.job) {
            TaskWords(fireDate: try $0.get(0), name: try $0.get(1), userInfo: try $0.get(2))
        }
    }

    /// A due task with its time, or the error with which its row could not be read.
    typealias DueTask = (fire: FireID, task: Result<(row: TaskRow, due: Timestamp), DatabaseError>)

    /// Tasks whose time has come, of all users or of `owner`, the earliest first.
    func due(at now: Timestamp, of owner: OwnerID? = nil, limit: Int) throws -> [DueTask] {
        func read(_ row: borrowing Row) throws -> DueTask {
            do {
                let task = (row: try TaskRow(row), due: try row.get(12, as: Timestamp.self))
                return (try row.get(0), .success(task))
            } catch let error as DatabaseError where error.isUnreadableValue {
                return (try row.get(0), .failure(error))
            }
        }
        guard let owner else {
            return try database.prepare(SQL.due).all(now, limit) { try read($0) }
        }
        return try database.prepare(SQL.dueOfOwner).all(owner, now, limit) { try read($0) }
    }

    /// The users with a task whose time has come, in the order of their rows: one search of an index for each user with one
    /// whose time comes.
    func dueOwners(at now: Timestamp) throws -> [OwnerID] {
        var owners: [OwnerID] = []
        var last = OwnerID.nobody
        let search = try database.prepare(SQL.timedOwner)
        func next() throws -> (owner: OwnerID, first: Timestamp)? {
            try search.first(last) { (try $0.get(0), try $0.get(1)) }
        }
        while let next = try next() {
            if next.first <= now { owners.append(next.owner) }
            last = next.owner
        }
        return owners
    }

    /// Has a task that is due wait until then.
    func putOff(_ fire: FireID, until date: Timestamp) throws {
        // Where NULL stands and may not, SQLite writes the row, and only who reads it has it mended. try?: one that cannot be
        // mended is put off, too.
        _ = try? task(fire)
        try mending { try database.prepare(SQL.putOff).run(fire, date) }
    }

    /// Tasks whose time comes behind `cursor`, the earliest first.
    ///
    /// Without what is in the row of one that cannot be read.
    func due(
        behind cursor: TaskCursor,
        limit: Int
    ) throws -> [(task: TaskRow?, cursor: TaskCursor)] {
        try database.prepare(SQL.dueBehind).all(cursor.due, cursor.fire, limit) { row in
            let cursor = TaskCursor(due: try row.get(12), fire: try row.get(0))
            do {
                return (try TaskRow(row), cursor)
            } catch let error as DatabaseError where error.isUnreadableValue {
                return (nil, cursor)
            }
        }
    }

    /// Sets until when the job's tasks that are ready wait; returns whether that is another time for any.
    func setEnd(_ end: Timestamp?, ofReadyOf job: JobID) throws -> Bool {
        try mending { try database.prepare(SQL.setEnd).run(job, end) }
        return database.changes > 0
    }

    /// When the next time of a task comes; nil for never.
    func nextDue() throws -> Timestamp? {
        try database.prepare(SQL.nextDue).value(as: Timestamp?.self) ?? nil
    }

    func markReserved(_ fire: FireID, run: RunID, attempt: Int, lease: TimeSpan, until: Timestamp)
        throws
    {
        try database.prepare(SQL.markReserved).run {
            $0.add(fire)
            $0.add(run)
            $0.add(attempt)
            $0.add(lease)
            $0.add(until)
        }
    }

    func extend(_ fire: FireID, lease: TimeSpan, until: Timestamp) throws {
        try database.prepare(SQL.extend).run(fire, lease, until)
    }

    /// Gives every worker the whole of its lease again; a lease that is not there, as its row is damaged, ends.
    func renewLeases(at now: Timestamp) throws {
        try mending { try database.prepare(SQL.renewLeases).run(now) }
    }

    /// Stores where a task stands that no worker has any more.
    func rest(_ task: TaskRow, due: Timestamp?) throws {
        try database.prepare(SQL.rest).run {
            $0.add(task.fire)
            $0.add(task.state.rawValue)
            $0.add(task.readyAt)
            $0.add(due)
            $0.add(task.attempt)
            $0.add(task.failures)
            $0.add(task.losses)
        }
    }

    func delete(_ fire: FireID) throws { try database.prepare(SQL.delete).run(fire) }

    /// The oldest of a queue in a state in which no worker has them.
    func resting(_ key: QueueKey, _ state: QueuedTask.State, limit: Int) throws -> [TaskRow] {
        try mending {
            guard state != .ready else {
                return try database.prepare(SQL.readyRows).all(key.owner, key.name, limit) {
                    try TaskRow($0)
                }
            }
            return try database.prepare(SQL.resting).all(
                key.owner,
                key.name,
                state.rawValue,
                limit
            ) { try TaskRow($0) }
        }
    }

    enum SQL {
        private static let columns = """
            fire_id, job_id, owner_id, queue, priority, state, ready_us, lease_us, run_id, attempt,
            failures, losses
            """
        static let insert = """
            INSERT INTO tasks (fire_id, job_id, owner_id, queue, priority, state, ready_us, due_us)
            VALUES (?1, ?2, ?3, ?4, ?5, 'ready', ?6, ?7)
            """
        static let task = "SELECT \(columns) FROM tasks WHERE fire_id = ?1"
        static let busyQueue = """
            SELECT queue FROM tasks INDEXED BY tasks_live_by_job
            WHERE job_id = ?1 AND state <> 'dead' ORDER BY fire_id LIMIT 1
            """
        private static let hasEnded = """
            EXISTS (SELECT 1 FROM jobs WHERE jobs.id = named.job_id
                    AND (jobs.state = 'finished' OR (?3 AND jobs.state = 'invalidated')))
                AND EXISTS (SELECT 1 FROM tasks WHERE tasks.job_id = named.job_id)
            """
        static let endedByTag = """
            SELECT job_id FROM job_tags AS named WHERE owner_id = ?1 AND tag = ?2 AND \(hasEnded)
            """
        static let endedByName = """
            SELECT job_id FROM job_names AS named
            WHERE owner_id = ?1 AND name = ?2 AND \(hasEnded)
            """
        static let endedOfOwner = """
            SELECT DISTINCT tasks.job_id FROM tasks CROSS JOIN jobs ON jobs.id = tasks.job_id
            WHERE tasks.owner_id = ?1 AND (jobs.state = 'finished' OR jobs.state = 'invalidated')
            """
        /// Without the words of their jobs, of which one has 64 KiB: not all that is found is handed out.
        static let ready = readyRows.replacing(
            "ORDER BY",
            with: "AND (due_us IS NULL OR due_us > ?4) ORDER BY"
        )
        static let words = """
            SELECT fires.wall_date_us, job_definitions.name, job_definitions.user_info
            FROM fires CROSS JOIN job_definitions ON job_definitions.job_id = ?2
            WHERE fires.id = ?1
            """
        static let due = """
            SELECT \(columns), due_us FROM tasks INDEXED BY tasks_due
            WHERE due_us <= ?1 ORDER BY due_us LIMIT ?2
            """
        /// Uses tasks_due_by_owner, as does the next.
        static let dueOfOwner = """
            SELECT \(columns), due_us FROM tasks INDEXED BY tasks_due_by_owner
            WHERE owner_id = ?1 AND due_us <= ?2 ORDER BY due_us LIMIT ?3
            """
        static let timedOwner = """
            SELECT owner_id, due_us FROM tasks INDEXED BY tasks_due_by_owner
            WHERE owner_id > ?1 AND due_us IS NOT NULL ORDER BY owner_id, due_us LIMIT 1
            """
        static let putOff = "UPDATE tasks SET due_us = ?2 WHERE fire_id = ?1"
        static let dueBehind = """
            SELECT \(columns), due_us FROM tasks INDEXED BY tasks_due
            WHERE due_us >= ?1 AND (due_us, fire_id) > (?1, ?2) ORDER BY due_us, fire_id LIMIT ?3
            """
        static let setEnd = """
            UPDATE tasks INDEXED BY tasks_by_job SET due_us = ?2
            WHERE job_id = ?1 AND state = 'ready' AND due_us IS NOT ?2
            """
        static let nextDue = "SELECT min(due_us) FROM tasks WHERE due_us IS NOT NULL"
        static let markReserved = """
            UPDATE tasks SET state = 'reserved', run_id = ?2, attempt = ?3, lease_us = ?4, due_us = ?5
            WHERE fire_id = ?1
            """
        static let extend = "UPDATE tasks SET lease_us = ?2, due_us = ?3 WHERE fire_id = ?1"
        static let renewLeases = """
            UPDATE tasks INDEXED BY tasks_live_by_job SET due_us = max(due_us, ?1
                + min(coalesce(lease_us, 0), \(TimeSpan.longestInterval.microseconds)))
            WHERE state <> 'dead' AND state = 'reserved'
            """
        static let rest = """
            UPDATE tasks SET state = ?2, ready_us = ?3, due_us = ?4, attempt = ?5, failures = ?6,
                losses = ?7
            WHERE fire_id = ?1
            """
        static let delete = "DELETE FROM tasks WHERE fire_id = ?1"
        static let readyRows = """
            SELECT \(columns) FROM tasks INDEXED BY tasks_ready
            WHERE owner_id = ?1 AND queue = ?2 AND state = 'ready'
            ORDER BY priority DESC, ready_us, fire_id LIMIT ?3
            """
        static let resting = """
            SELECT \(columns) FROM tasks INDEXED BY tasks_by_age
            WHERE owner_id = ?1 AND queue = ?2 AND state = ?3 AND (state = 'delayed' OR state = 'dead')
            ORDER BY ready_us LIMIT ?4
            """
    }
}

/// What the worker of a task is told of its job and its fire.
struct TaskWords: Sendable {
    /// By the wall clock.
    var fireDate: Timestamp
    var name: String?
    var userInfo: String?
}

extension TaskRow {
    /// A number or a lease that there cannot be, of a damaged row, counts as the nearest: the other tasks of the queue wait
    /// behind it.
    fileprivate init(_ row: borrowing Row) throws {
        (fire, job) = (try row.get(0), try row.get(1))
        key = QueueKey(owner: try row.get(2), name: try row.get(3))
        priority = Int(try row.get(4, as: Int64.self))
        state = try row.get(5)
        (readyAt, run) = (try row.get(6), try row.get(8))
        lease = min(try row.get(7), .longestInterval)
        (attempt, failures, losses) = (try row.number(9), try row.number(10), try row.number(11))
    }
}
