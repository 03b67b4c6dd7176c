// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// Rows of dates that do not become fires.
///
/// A date may have its row before it comes: it fired before the clock was set back, or its user dropped it. Such a
/// row stays as it is.
extension JobTransaction {
    /// Stores dates that do not become fires, with their reason; dates that have a row keep theirs.
    mutating func skip(_ dates: MisfirePolicy.SkippedDates, of job: inout StoredJob) throws {
        for part in job.dates.parts(of: dates) { try skip(part: part, of: &job) }
    }

    private mutating func skip(part dates: MisfirePolicy.SkippedDates, of job: inout StoredJob)
        throws
    {
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
                try insertSkipped(part.first, part.last, part.count, of: &job, dates.reason)
            }
            first = job.schedule.nextFireDate(after: row.last)
        }
        guard let first, first <= dates.last else { return }
        let count =
            taken.isEmpty && start == dates.first
            ? dates.count
            : job.schedule.passedDates(from: first, through: dates.last, newest: 1).count
        try insertSkipped(first, dates.last, count, of: &job, dates.reason)
    }

    /// Stores them as one row, and tells of it, unless the first has a row.
    mutating func insertSkipped(
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

    /// Leaves of a row of skipped dates, the first of which is `first`, those through `end`; without any it goes.
    func cut(_ fire: FireID, from first: Timestamp, through end: Timestamp, of job: StoredJob)
        throws
    {
        guard first <= end else { return try fires.delete(fire) }
        let passed = job.schedule.passedDates(from: first, through: end, newest: 1)
        let last = passed.count > 1 ? moment.wallDate(passed.last, on: job.clock) : nil
        try fires.shorten(fire, to: passed.count, last: last)
    }

    /// Has a date that the job's user had dropped come again, with those behind it that were dropped at once with it: the job
    /// is moved to it.
    ///
    /// - Returns: whether it was dropped.
    /// - Throws: `ControlError` `conflict` where it has another row.
    func bringBack(_ date: Timestamp, of job: StoredJob) throws -> Bool {
        let justBefore = date - TimeSpan(microseconds: 1)
        var unmoved = job
        unmoved.movedFrom = nil
        let isDate: Bool
        switch job.schedule {
        // Any date is one: the whole grid moves to the date that the job is given.
        case .every: isDate = true
        case .once, .cron, .calendar, .reboot:
            isDate = job.schedule.nextFireDate(after: justBefore) == date
        }
        let rows = try fires.used(around: date, of: job.id)
        let covering = rows.first { row in
            row.dates.first == date || isDate && row.dates.contains(date, of: unmoved)
        }
        guard let row = covering else { return false }
        guard row.skipped != .skip else {
            try cut(row.fire, from: row.dates.first, through: justBefore, of: job)
            return true
        }
        let day = moment.wallDate(date, on: job.clock).rfc3339
        let use =
            if let reason = row.skipped {
                "the date '\(day)' of job \(job.id) was skipped: \(reason.sentence)"
            } else if row.isForgotten {
                "the date '\(day)' of job \(job.id) has fired or was dropped, and its row is kept no more"
            } else {
                "job \(job.id) has had its fire of '\(day)'"
            }
        throw ControlError(.conflict, "\(use); no date fires twice")
    }

    /// The date that a dropped date which comes back counts as moved from.
    ///
    /// So it stays a moved date: it has no jitter, and it stays where it is when its job is ended and restored, or when its
    /// zone gets other rules.
    ///
    /// It is a date of the schedule next to it that does not fire again: the job goes on behind both, and loses no date. Nil
    /// for a date of the schedule itself, and where the rows that would show such a date are not kept any more.
    func origin(ofDropped date: Timestamp, _ job: StoredJob) throws -> Timestamp? {
        guard !job.isOfSchedule(date) else { return nil }
        var unmoved = job
        unmoved.movedFrom = nil
        if let next = job.schedule.nextFireDate(after: date),
            try row(of: unmoved, covering: next) != nil
        {
            return next
        }
        guard let from = try fires.movedDate(to: date, before: date, job.id) else { return nil }
        let end = date - TimeSpan(microseconds: 1)
        let passed = job.schedule.passedDates(from: from, through: end, newest: 0).count
        return try countTaken(of: unmoved, from: from, through: end) == passed ? from : nil
    }

    // MARK: - Dates that have a row

    /// Moves the job past dates, from its next one on, that have their row: fires, and what was skipped or dropped before.
    ///
    /// - Returns: whether its next date had one.
    @discardableResult
    mutating func passTaken(_ job: inout StoredJob) throws -> Bool {
        var hadRow = false
        while job.state.isLive, let date = job.fireDate,
            let taken = try row(of: job, covering: date)
        {
            try advance(&job, past: taken.last)
            hadRow = true
        }
        return hadRow
    }

    /// The last of the job's next `count` dates without a row, of those from `first`, itself one, up to and including `end`,
    /// and how many they are.
    ///
    /// Looks at each row once, and counts the dates in between.
    func lastFree(_ count: Int, of job: StoredJob, from first: Timestamp, through end: Timestamp)
        throws -> (date: Timestamp, count: Int)
    {
        let dates = job.dates
        var (last, left) = (first, count)
        var from: Timestamp? = first
        for row in try rows(of: job, from: first, through: end) {
            guard left > 0, let date = from, date <= end else { break }
            if date < row.first {
                let justBefore = row.first - TimeSpan(microseconds: 1)
                let free = dates.last(of: left, from: date, through: justBefore)
                (last, left) = (free.date, left - free.count)
            }
            if date <= row.last { from = dates.next(after: row.last) }
        }
        if left > 0, let date = from, date <= end {
            let free = dates.last(of: left, from: date, through: end)
            (last, left) = (free.date, left - free.count)
        }
        return (last, count - left)
    }

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

    /// Up to when the dates from `date` on are to be decided at `now`, so that the newest of them has no row.
    ///
    /// If none of them has a row: `until`, where nil stands for `now`.
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
