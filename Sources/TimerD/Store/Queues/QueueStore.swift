// SPDX-License-Identifier: Apache-2.0

import SQLite
import Schedules
import TimerControl

/// A queue as its row has it.
struct QueueRow: Sendable {
    var key: QueueKey
    var isPaused: Bool
    var maxReserved: Int?
    var rate: TaskRate?
    /// In elapsed time: up to when what was handed out has used up the rate.
    var rateUntil: Timestamp
    var ready: Int
    var delayed: Int
    var reserved: Int
    var dead: Int

    /// How many tasks may be handed out at `now` of elapsed time; where it is none for the rate alone, when the
    /// next may.
    func allowance(at now: Timestamp) -> (count: Int, next: Timestamp?) {
        guard !isPaused else { return (0, nil) }
        let room = maxReserved.map { max(0, $0 - reserved) } ?? Int.max
        guard let rate, room > 0 else { return (room, nil) }
        let allowed = rate.allowance(usedUpTo: rateUntil, at: now)
        return (min(room, allowed), allowed > 0 ? nil : rate.next(usedUpTo: rateUntil))
    }
}

extension TaskRate {
    /// How many may be handed out at once: a twentieth of the rate, one at least.
    private var burst: Int { max(1, count / 20) }

    /// The time that one task uses up.
    ///
    /// With `burst` at once and one more after each such time, no span of the length of the period has more than
    /// `count`.
    private var step: Int64 {
        let steps = Int64(count - burst + 1)
        return (period.microseconds + steps - 1) / steps
    }

    func allowance(usedUpTo end: Timestamp, at now: Timestamp) -> Int {
        let ahead = max(0, end.microseconds - now.microseconds)
        return max(0, burst - Int((ahead + step - 1) / step))
    }

    /// Up to when the rate is used up where as many as may be were handed out at `now`: what another rate has used up
    /// counts for no more.
    func usedUp(at now: Timestamp) -> Timestamp { used(by: burst, upTo: now, at: now) }

    /// When one more may be handed out.
    func next(usedUpTo end: Timestamp) -> Timestamp {
        end - TimeSpan(microseconds: step * Int64(burst - 1))
    }

    /// Up to when the rate is used up once `number` more were handed out at `now`.
    func used(by number: Int, upTo end: Timestamp, at now: Timestamp) -> Timestamp {
        max(end, now) + TimeSpan(microseconds: step * Int64(number))
    }
}

/// The rows of queues: SQL alone, no decision.
struct QueueStore {
    let database: Database

    init(_ database: Database) { self.database = database }

    func queue(_ key: QueueKey) throws -> QueueRow? {
        try database.prepare(SQL.queue).first(key.owner, key.name) { try QueueRow($0) }
    }

    /// The queues behind `key`, of owners up to `last`: by owner and name.
    func queues(after key: QueueKey, upTo last: OwnerID, limit: Int) throws -> [QueueRow] {
        try database.prepare(SQL.page).all(key.owner, key.name, last, limit) { try QueueRow($0) }
    }

    /// How many queues the owner has.
    func count(of owner: OwnerID) throws -> Int {
        try database.prepare(SQL.count).value(owner) ?? 0
    }

    /// How many tasks of the owner are not over.
    func tasks(of owner: OwnerID) throws -> Int {
        try database.prepare(SQL.tasks).value(owner) ?? 0
    }

    func add(_ key: QueueKey) throws {
        try database.prepare(SQL.add).run(key.owner, key.name)
    }

    /// Removes the owner's queues that hold nothing and that nothing was set of.
    func removeUnused(of owner: OwnerID) throws {
        try database.prepare(SQL.removeUnused).run(owner)
    }

    func set(_ queue: QueueRow) throws {
        try database.prepare(SQL.set).run(
            queue.key.owner,
            queue.key.name,
            queue.isPaused,
            queue.maxReserved,
            queue.rate?.count,
            queue.rate?.period,
            queue.rateUntil
        )
    }

    func setRateUntil(_ date: Timestamp, of key: QueueKey) throws {
        try database.prepare(SQL.setRateUntil).run(key.owner, key.name, date)
    }

    /// Since when the oldest task is ready that no worker has, in elapsed time; nil where none is.
    ///
    /// All but NULL, which it leaves out, that stands in a damaged row comes behind numbers.
    func oldest(_ key: QueueKey) throws -> Timestamp? {
        try database.prepare(SQL.oldest)
            .first(key.owner, key.name) { $0.ifReadable(0) as Timestamp? }
            .flatMap(\.self)
    }

    /// What the queues of all users hold, and since when the oldest task is ready, in elapsed time.
    func standing() throws -> TasksStanding {
        var standing = TasksStanding()
        for row in try database.prepare(SQL.all).all(row: { try QueueRow($0) }) {
            standing.ready += row.ready
            standing.delayed += row.delayed
            standing.reserved += row.reserved
            standing.dead += row.dead
            guard row.ready > 0, let oldest = try oldest(row.key) else { continue }
            standing.oldest = min(oldest, standing.oldest ?? oldest)
        }
        return standing
    }

    enum SQL {
        private static let columns = """
            owner_id, name, paused, max_reserved, rate_count, rate_us, rate_until_us, ready, delayed,
            reserved, dead
            """
        static let add = "INSERT OR IGNORE INTO queues (owner_id, name) VALUES (?1, ?2)"
        static let queue = "SELECT \(columns) FROM queues WHERE owner_id = ?1 AND name = ?2"
        static let page = """
            SELECT \(columns) FROM queues
            WHERE (owner_id, name) > (?1, ?2) AND owner_id <= ?3 AND \(hasKey)
            ORDER BY owner_id, name LIMIT ?4
            """
        static let count = "SELECT count(*) FROM queues WHERE owner_id = ?1"
        static let tasks = """
            SELECT sum(ready + delayed + reserved + dead) FROM queues WHERE owner_id = ?1
            """
        static let removeUnused = """
            DELETE FROM queues WHERE owner_id = ?1 AND ready + delayed + reserved + dead = 0
                AND paused = 0 AND max_reserved IS NULL AND rate_count IS NULL
            """
        static let set = """
            UPDATE queues SET paused = ?3, max_reserved = ?4, rate_count = ?5, rate_us = ?6,
                rate_until_us = ?7
            WHERE owner_id = ?1 AND name = ?2
            """
        static let setRateUntil = """
            UPDATE queues SET rate_until_us = ?3 WHERE owner_id = ?1 AND name = ?2
            """
        static let ownerName = "SELECT name FROM owners WHERE id = ?1"
        static let oldest = """
            SELECT ready_us FROM tasks INDEXED BY tasks_by_age
            WHERE owner_id = ?1 AND queue = ?2 AND state = 'ready' AND ready_us >= \(Int64.min)
            ORDER BY ready_us LIMIT 1
            """
        /// One row for each queue, which root asks for.
        static let all = "SELECT \(columns) FROM queues WHERE \(hasKey)"
        /// Of a damaged row no task and no request finds the key.
        private static let hasKey = "typeof(owner_id) = 'integer' AND typeof(name) = 'text'"
    }
}

/// What the queues of all users hold.
struct TasksStanding: Sendable {
    var ready = 0
    var delayed = 0
    var reserved = 0
    var dead = 0
    /// In elapsed time.
    var oldest: Timestamp?
}

extension QueueRow {
    /// A limit, a rate or a number that there cannot be, of a damaged row, counts as none: what follows computes with it.
    fileprivate init(_ row: borrowing Row) throws {
        key = QueueKey(owner: try row.get(0), name: try row.get(1))
        // As a start mends it: see `DamagedRows`.
        isPaused = row.ifReadable(2) ?? true
        maxReserved = row.ifReadable(3, as: Int.self).flatMap { $0 > 0 ? $0 : nil }
        let (count, period): (Int?, TimeSpan?) = (row.ifReadable(4), row.ifReadable(5))
        if let count, let period, (1...Limits.tasksInProgress).contains(count),
            period > .zero, period <= .longestInterval
        {
            rate = TaskRate(count: count, period: period)
        }
        rateUntil = row.ifReadable(6) ?? Timestamp(microseconds: 0)
        (ready, delayed, reserved, dead) = (
            row.ifNumber(7) ?? 0, row.ifNumber(8) ?? 0, row.ifNumber(9) ?? 0,
            row.ifNumber(10) ?? 0
        )
    }
}
