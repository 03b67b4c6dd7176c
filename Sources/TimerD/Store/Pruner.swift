// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// How long what has happened is kept; a job's history is bounded by a number as well, `runsKept`.
struct RetentionLimits: Hashable, Sendable {
    var historyMaxAge = TimeSpan.seconds(365 * 86_400)
    /// Ended jobs are kept so long, and as long as their events at least, which show their names.
    var endedJobsMaxAge = TimeSpan.seconds(30 * 86_400)
    /// Of each user.
    var eventsKept = 100_000
    /// How much of one user is stored; nil for any amount.
    var maxBytesPerUser: Int64?
    var eventsMaxAge = TimeSpan.seconds(30 * 86_400)
}

/// How far a daemon has come with removing what is kept no longer.
struct PruneProgress: Hashable, Sendable {
    /// How many events of each owner are stored, of those up to `eventsCountedThrough`.
    var events: [OwnerID: Int] = [:]
    var eventsCountedThrough: Int64 = 0
    /// Whose turn it was last, of the users of whom too much is stored.
    var owner = OwnerID.nobody
    /// Rows of fires up to this one were looked at, and are not to go for their age.
    var fires = FireID(rawValue: 0)
}

/// Removes what is kept no longer, a small piece in each write.
///
/// Events and fires are looked at in the order of their numbers, which grow with time, from the
/// oldest one up to the first that is to stay. So nothing here grows with the number of jobs, and
/// fires pay for no index.
struct Pruner {
    enum Step: Hashable, Sendable {
        /// There is more to do now.
        case more
        /// Nothing is kept too long before that date of the wall clock.
        case done(next: Timestamp)
    }

    let database: Database
    let moment: Moment
    let limits: RetentionLimits
    private(set) var progress: PruneProgress
    private var effort = Effort()

    /// How many events are counted in one write.
    private static let countLimit = 5000

    init(
        _ database: Database,
        at moment: Moment,
        _ limits: RetentionLimits,
        from progress: PruneProgress
    ) {
        self.database = database
        self.moment = moment
        self.limits = limits
        self.progress = progress
    }

    /// Removes a piece.
    mutating func prune() throws -> Step {
        guard try countEvents(), try pruneUsers(), let event = try pruneEvents(),
            let fire = try pruneFires(), let job = try pruneJobs()
        else { return .more }
        return .done(next: min(event, fire, job))
    }

    /// Counts on from where the last piece stopped; whether that was all.
    private mutating func countEvents() throws -> Bool {
        var counted = 0
        let counts = try database.prepare(SQL.countEvents)
            .all(progress.eventsCountedThrough, Self.countLimit) {
                (
                    owner: try $0.get(0, as: OwnerID.self), count: try $0.get(1, as: Int.self),
                    last: try $0.get(2, as: Int64.self)
                )
            }
        for (owner, count, last) in counts {
            counted += count
            progress.events[owner, default: 0] += count
            progress.eventsCountedThrough = max(progress.eventsCountedThrough, last)
        }
        return counted < Self.countLimit
    }

    /// Makes room where more of a user is stored than may be: the oldest ended jobs go, then the oldest
    /// output; the users take turns.
    ///
    /// - Returns: whether that is all that can go.
    private mutating func pruneUsers() throws -> Bool {
        guard let most = limits.maxBytesPerUser else { return true }
        let full = try database.prepare(SQL.fullOwners).all(most) {
            try $0.get(0, as: OwnerID.self)
        }
        let last = progress.owner.rawValue
        let writer = JobWriter(database, at: moment, horizon: .distantPast)
        for owner in full.filter({ $0.rawValue > last }) + full.filter({ $0.rawValue <= last }) {
            progress.owner = owner
            while try writer.owners.bytes(of: owner) > most {
                if let job = try writer.oldestEnded(of: owner) {
                    guard try writer.remove(job, &effort), !effort.isSpent else { return false }
                } else {
                    // One by one: no more goes than has to.
                    try database.prepare(SQL.deleteOutput).run(owner)
                    guard database.changes > 0 else { break }
                    effort.spend(runs: database.changes)
                    if effort.isSpent { return false }
                }
            }
        }
        return true
    }

    /// - Returns: when the next one is too old; nil where there is more to do now.
    private mutating func pruneEvents() throws -> Timestamp? {
        let oldest = try database.prepare(SQL.oldestEvents).all(effort.rows) {
            (
                number: try $0.get(0, as: Int64.self), at: try $0.get(1, as: Timestamp.self),
                owner: try $0.get(2, as: OwnerID.self)
            )
        }
        let keptSince = moment.wall - limits.eventsMaxAge
        let going = oldest.prefix { $0.at < keptSince }
        if let last = going.last {
            try database.prepare(SQL.deleteEvents).run(last.number)
            for (owner, events) in Dictionary(grouping: going, by: \.owner) {
                try noteEventsPruned(events.count, of: owner, through: events.last?.number ?? 0)
            }
        }
        for owner in progress.events.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            if effort.isSpent { return nil }
            let surplus = (progress.events[owner] ?? 0) - limits.eventsKept
            guard surplus > 0 else { continue }
            let numbers = try database.prepare(SQL.oldestEventsOfOwner)
                .all(owner, min(surplus, effort.rows)) { try $0.get(0, as: Int64.self) }
            guard let last = numbers.last else { continue }
            try database.prepare(SQL.deleteEventsOfOwner).run(owner, last)
            try noteEventsPruned(numbers.count, of: owner, through: last)
        }
        if effort.isSpent { return nil }
        let next = oldest.dropFirst(going.count).first
        return (next?.at ?? moment.wall) + limits.eventsMaxAge
    }

    private mutating func noteEventsPruned(_ count: Int, of owner: OwnerID, through last: Int64)
        throws
    {
        try database.prepare(SQL.noteEventsPruned).run(last)
        try database.prepare(SQL.noteEventsPrunedOfOwner).run(owner, last)
        let rest = (progress.events[owner] ?? 0) - count
        progress.events[owner] = rest > 0 ? rest : nil
        effort.spend(rows: Int64(count))
    }

    /// - Returns: when the next one is too old; nil where there is more to do now.
    private mutating func pruneFires() throws -> Timestamp? {
        let rows = try database.prepare(SQL.oldestFires).all(progress.fires, effort.rows) { row in
            (
                id: try row.get(0, as: FireID.self), job: try row.get(1, as: JobID.self),
                // What cannot be read stays until its job is removed.
                last: row.ifReadable(2) ?? Timestamp.distantFuture,
                isOver: try row.get(3, as: Bool.self)
            )
        }
        let keptSince = moment.wall - limits.historyMaxAge
        let writer = JobWriter(database, at: moment, horizon: .distantPast)
        for row in rows {
            effort.spend(rows: 1)
            // What a clock has left that was ahead would hold up all that comes after it.
            if row.isOver, row.last <= moment.wall {
                guard row.last < keptSince else { return row.last + limits.historyMaxAge }
                if let job = try writer.job(row.job), job.unread == nil {
                    effort.spendJob()
                    let end = moment.date(ofWall: keptSince, on: job.clock)
                    guard try writer.forget(job, before: end, &effort) else { return nil }
                }
            }
            progress.fires = row.id
            if effort.isSpent { return nil }
        }
        return moment.wall + limits.historyMaxAge
    }

    /// - Returns: when the next one is too old; nil where there is more to do now.
    private mutating func pruneJobs() throws -> Timestamp? {
        let age = max(limits.endedJobsMaxAge, limits.eventsMaxAge)
        let keptSince = moment.wall - age
        let writer = JobWriter(database, at: moment, horizon: .distantPast)
        while let job = try database.prepare(SQL.oldestEnded).first(
            keptSince,
            row: { try JobRow.job(from: $0) }
        ) {
            guard try writer.remove(job, &effort), !effort.isSpent else { return nil }
        }
        let next = try database.prepare(SQL.nextEnded).value(keptSince, as: Timestamp.self)
        return (next ?? moment.wall) + age
    }

    enum SQL {
        /// Of root where nobody is named.
        static let countEvents = """
            SELECT coalesce(owner_id, 0), count(*), max(seq) FROM (
                SELECT owner_id, seq FROM events WHERE seq > ?1 ORDER BY seq LIMIT ?2) GROUP BY 1
            """
        static let oldestEvents = """
            SELECT seq, at_us, coalesce(owner_id, 0) FROM events ORDER BY seq LIMIT ?1
            """
        /// Uses events_by_owner.
        static let oldestEventsOfOwner = """
            SELECT seq FROM events WHERE owner_id = ?1 ORDER BY seq LIMIT ?2
            """
        static let deleteEvents = "DELETE FROM events WHERE seq <= ?1"
        static let deleteEventsOfOwner = "DELETE FROM events WHERE owner_id = ?1 AND seq <= ?2"
        static let noteEventsPruned = """
            UPDATE daemon_state SET events_pruned = max(events_pruned, ?1)
            """
        static let noteEventsPrunedOfOwner = """
            UPDATE owners SET events_pruned = max(events_pruned, ?2) WHERE id = ?1
            """
        static let fullOwners = """
            SELECT id FROM owners WHERE bytes > ?1 AND uid <> 0 ORDER BY id
            """
        /// Uses run_output_by_owner.
        static let deleteOutput = """
            DELETE FROM run_output WHERE rowid IN (
                SELECT rowid FROM run_output WHERE owner_id = ?1 ORDER BY run_id LIMIT 1)
            """
        static let oldestFires = """
            SELECT id, job_id, coalesce(last_date_us, wall_date_us),
                state = 'fired' OR state = 'done' OR state = 'skipped'
            FROM fires WHERE id > ?1 ORDER BY id LIMIT ?2
            """
        /// A job stays as long as a fire of it is in progress; uses jobs_ended.
        static let oldestEnded = """
            SELECT \(JobRow.columns) FROM \(JobRow.source)
            WHERE jobs.ended_at_us < ?1 AND NOT EXISTS (
                SELECT 1 FROM fires WHERE fires.job_id = jobs.id
                    AND \(RunRow.isOpen))
            ORDER BY jobs.ended_at_us LIMIT 1
            """
        static let nextEnded = """
            SELECT ended_at_us FROM jobs WHERE ended_at_us >= ?1 ORDER BY ended_at_us LIMIT 1
            """
    }
}
