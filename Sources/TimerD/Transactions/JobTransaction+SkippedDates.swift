// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// Rows of dates that do not become fires.
///
/// A date may have its row before it comes: it fired before the clock was set back, or its user dropped it. Such a
/// row stays as it is.
extension JobTransaction {
    /// Stores dates that do not become fires, with the reason; dates that have a row keep theirs.
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
        // A range that began earlier may cover the first of them.
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
        let dates = MisfirePolicy.SkippedDates(
            first: first,
            last: last,
            count: count,
            reason: reason
        )
        guard let fire = try fires.insertSkipped(dates, of: job, at: moment) else { return }
        job.rowsSinceTrim += 1
        let wallFirst = moment.wallDate(first, on: job.clock)
        let wallLast = count > 1 ? moment.wallDate(last, on: job.clock) : nil
        try enqueue(.fireSkipped, job, reason.rawValue, fire: fire) {
            $0.fireDate = wallFirst
            $0.through = wallLast
            $0.dates = count > 1 ? count : nil
        }
    }

    // MARK: - Dates that have a row

    /// The row that covers `date` of `job`; nil if there is none.
    func row(of job: StoredJob, covering date: Timestamp) throws -> TakenDates? {
        try fires.taken(around: date, of: job.id).first { $0.contains(date, of: job) }
    }

    /// The rows of `job` that begin between these dates, in order.
    private func rows(of job: StoredJob, from first: Timestamp, through last: Timestamp) throws
        -> [TakenDates]
    {
        try fires.taken(from: first, through: last, of: job.id).filter {
            $0.isOnGrid(first, of: job)
        }
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

    /// Up to when the dates from `date` on are to be decided at `now`: the newest of them must have no
    /// row.
    ///
    /// Nil for `now`, if none of them has a row.
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
