// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// Rows of dates that do not become fires, beside those that dates have already.
///
/// A date has a row ahead of its time once the clock was set back: it fired while the clock stood in
/// its future, or its user dropped it.
extension JobWriter {
    /// Stores dates that do not become fires, with the reason; those that have a row keep it.
    mutating func skip(
        _ dates: MisfirePolicy.SkippedDates,
        of job: inout StoredJob,
        _ reason: FireReason
    ) throws {
        for part in job.dates.parts(of: dates) { try skip(part: part, of: &job, reason) }
    }

    private mutating func skip(
        part dates: MisfirePolicy.SkippedDates,
        of job: inout StoredJob,
        _ reason: FireReason
    ) throws {
        var first: Timestamp? = dates.first
        // A range that began before may hold the first of them.
        while let date = first, date <= dates.last, let row = try row(of: job, covering: date) {
            first = job.schedule.nextFireDate(after: row.last)
        }
        guard let start = first, start <= dates.last else { return }
        let taken = start < dates.last ? try rows(of: job, from: start, through: dates.last) : []
        for row in taken {
            if let first, first < row.first {
                let end = row.first - TimeSpan(microseconds: 1)
                let part = job.schedule.passedDates(from: first, through: end, newest: 1)
                try insertSkipped(part.first, part.last, part.count, of: &job, reason)
            }
            first = job.schedule.nextFireDate(after: row.last)
        }
        guard let first, first <= dates.last else { return }
        let count =
            taken.isEmpty && start == dates.first
            ? dates.count
            : job.schedule.passedDates(from: first, through: dates.last, newest: 1).count
        try insertSkipped(first, dates.last, count, of: &job, reason)
    }

    private mutating func insertSkipped(
        _ first: Timestamp,
        _ last: Timestamp,
        _ count: Int,
        of job: inout StoredJob,
        _ reason: FireReason
    ) throws {
        let wallFirst = moment.wallDate(first, on: job.clock)
        let wallLast = count > 1 ? moment.wallDate(last, on: job.clock) : nil
        try database.prepare(SQL.insertSkipped).run(
            job.id,
            job.ownerID,
            first,
            wallFirst,
            reason,
            count,
            wallLast
        )
        guard database.changes == 1 else { return }
        job.uncut += 1
        let fire = FireID(rawValue: database.lastInsertRowID)
        try note(.fireSkipped, job, reason.rawValue, fire: fire) {
            $0.fireDate = wallFirst
            $0.through = wallLast
            $0.dates = count > 1 ? count : nil
        }
    }

    // MARK: - Dates that have a row

    /// The dates of a row, on the job's clock.
    struct TakenDates {
        var first: Timestamp
        var last: Timestamp

        /// Whether `date` of `job` is one of them: not where its grid was moved since, nor where it
        /// was moved in between them.
        func contains(_ date: Timestamp, of job: StoredJob) -> Bool {
            guard first...last ~= date, first == date || date != job.dates.moved?.to else {
                return false
            }
            return isOnGrid(date, of: job)
        }

        /// Whether `date` and these dates are on one grid; on cron and calendar all dates are.
        func isOnGrid(_ date: Timestamp, of job: StoredJob) -> Bool {
            guard case .every(let grid) = job.schedule else { return true }
            return (date - first).microseconds % grid.interval.microseconds == 0
        }
    }

    /// The row that `date` of `job` is in; nil where it has none.
    func row(of job: StoredJob, covering date: Timestamp) throws -> TakenDates? {
        let rows = try database.prepare(SQL.takenAround).all(job.id, date) {
            TakenDates(first: try $0.get(0), last: try $0.get(1))
        }
        return rows.first { $0.contains(date, of: job) }
    }

    /// The rows that begin with one of those dates of `job`, in order.
    private func rows(of job: StoredJob, from first: Timestamp, through last: Timestamp) throws
        -> [TakenDates]
    {
        let rows = try database.prepare(SQL.takenBetween).all(job.id, first, last) {
            TakenDates(first: try $0.get(0), last: try $0.get(1))
        }
        return rows.filter { $0.isOnGrid(first, of: job) }
    }

    /// How many of these dates of the job have a row: they were not missed.
    func countTaken(of job: StoredJob, from first: Timestamp, through last: Timestamp) throws -> Int
    {
        try rows(of: job, from: first, through: last).reduce(0) { count, row in
            let justBefore = row.first - TimeSpan(microseconds: 1)
            guard let date = job.schedule.nextFireDate(after: justBefore) else { return count }
            let end = min(row.last, last)
            return count + job.schedule.passedDates(from: date, through: end, newest: 0).count
        }
    }

    /// The last instant whose dates, from `date` on, are to be settled at `now`, such that the
    /// latest of them has no row; nil for `now`, where none of them has.
    func end(of job: StoredJob, from date: Timestamp, until: Timestamp?, at now: Timestamp) throws
        -> Timestamp?
    {
        guard let first = try rows(of: job, from: date, through: now).first else { return until }
        let dates = job.dates
        var end = min(dates.dueEnd(from: date, at: now), until ?? now)
        while end >= first.first {
            let last = dates.passed(from: date, through: end, newest: 1).last
            guard let row = try row(of: job, covering: last) else { break }
            end = row.first - TimeSpan(microseconds: 1)
        }
        return end
    }
}

extension JobWriter.SQL {
    static let insertSkipped = """
        INSERT INTO fires
            (job_id, owner_id, fire_date_us, wall_date_us, state, reason, dates, last_date_us)
        VALUES (?1, ?2, ?3, ?4, 'skipped', ?5, ?6, ?7) ON CONFLICT (job_id, fire_date_us) DO NOTHING
        """
    /// What was fired by hand takes no date of the schedule.
    private static let taken = """
        SELECT fire_date_us, fire_date_us + coalesce(last_date_us - wall_date_us, 0) FROM fires
        WHERE job_id = ?1 AND state <> 'claimed' AND reason IS NOT 'manual'
            AND reason IS NOT 'withdrawn'
        """
    /// The row of a date itself, and the ranges that may hold it; uses fires_ranges.
    ///
    /// Of the same grid at most one does, but a grid that was moved leaves its ranges among those of
    /// the next.
    static let takenAround = """
        \(taken) AND fire_date_us = ?2
        UNION ALL SELECT * FROM (
            \(taken) AND fire_date_us < ?2 AND last_date_us IS NOT NULL
            ORDER BY fire_date_us DESC LIMIT 8
        )
        """
    static let takenBetween = """
        \(taken) AND fire_date_us BETWEEN ?2 AND ?3 ORDER BY fire_date_us
        """
}
