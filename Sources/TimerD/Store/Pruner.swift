// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// How long what has happened is kept; a job's history is bounded by a number as well, `runsKept`.
struct RetentionLimits: Hashable, Sendable {
    var historyMaxAge = TimeSpan.seconds(365 * 86_400)
    /// Ended jobs are kept so long, and as long as their events at least, which show their names.
    var endedJobsMaxAge = TimeSpan.seconds(30 * 86_400)
    var eventsKept = 100_000
    var eventsMaxAge = TimeSpan.seconds(30 * 86_400)
}

/// How far a daemon has come with removing what is kept no longer.
struct PruneProgress: Hashable, Sendable {
    /// How many events are stored, of those up to `eventsCountedThrough`.
    var events = 0
    var eventsCountedThrough: Int64 = 0
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
        guard try countEvents(), let event = try pruneEvents(), let fire = try pruneFires(),
            let job = try pruneJobs()
        else { return .more }
        return .done(next: min(event, fire, job))
    }

    /// Counts on from where the last piece stopped; whether that was all.
    private mutating func countEvents() throws -> Bool {
        let (count, last) =
            try database.prepare(SQL.countEvents)
            .first(progress.eventsCountedThrough, Self.countLimit) {
                (try $0.get(0, as: Int.self), try $0.get(1, as: Int64?.self))
            } ?? (0, nil)
        progress.events += count
        progress.eventsCountedThrough = last ?? progress.eventsCountedThrough
        return count < Self.countLimit
    }

    /// - Returns: when the next one is too old; nil where there is more to do now.
    private mutating func pruneEvents() throws -> Timestamp? {
        let surplus = progress.events - limits.eventsKept
        let oldest = try database.prepare(SQL.oldestEvents).all(effort.rows) {
            (number: try $0.get(0, as: Int64.self), at: try $0.get(1, as: Timestamp.self))
        }
        let keptSince = moment.wall - limits.eventsMaxAge
        let going = oldest.enumerated().prefix { $0.offset < surplus || $0.element.at < keptSince }
        if let last = going.last?.element {
            try database.prepare(SQL.deleteEvents).run(last.number)
            try database.prepare(SQL.noteEventsPruned).run(last.number)
            progress.events -= going.count
            effort.spend(rows: Int64(going.count))
        }
        if effort.isSpent { return nil }
        let next = oldest.dropFirst(going.count).first
        return (next?.at ?? moment.wall) + limits.eventsMaxAge
    }

    /// - Returns: when the next one is too old; nil where there is more to do now.
    private mutating func pruneFires() throws -> Timestamp? {
        let rows = try database.prepare(SQL.oldestFires).all(progress.fires, effort.rows) { row in
            (
                id: try row.get(0, as: FireID.self), job: try row.get(1, as: JobID.self),
                last: try row.get(2, as: Timestamp.self), isOver: try row.get(3, as: Bool.self)
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

    private enum SQL {
        static let countEvents = """
            SELECT count(*), max(seq) FROM (
                SELECT seq FROM events WHERE seq > ?1 ORDER BY seq LIMIT ?2)
            """
        static let oldestEvents = "SELECT seq, at_us FROM events ORDER BY seq LIMIT ?1"
        static let deleteEvents = "DELETE FROM events WHERE seq <= ?1"
        static let noteEventsPruned = "UPDATE daemon_state SET events_pruned = ?1"
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
