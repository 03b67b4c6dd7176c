// SPDX-License-Identifier: Apache-2.0

package import Schedules

/// The dates of one job that are still to fire, within a stretch of time by the wall clock; pure.
///
/// What overlap, jitter or a full machine will make of them is not known yet.
package struct ComingDates: Sendable {
    private let schedule: Schedule
    /// The next date within the stretch, which may be one that the schedule does not have.
    private let first: Timestamp?
    /// The schedule goes on behind this date.
    private let behind: Timestamp
    /// The first instant that is not asked for, or that `until` does not let fire.
    private let end: Timestamp
    /// How many may still fire, by the job's `count`.
    private let most: Int
    /// Wall time = time on the job's clock + this.
    private let offset: TimeSpan
    /// Dates of the schedule that do not fire, in order, none in two of them.
    private let gaps: [TakenDates]
    /// What it takes to count them all, in dates that are looked at: those of a grid nothing, others some for each year.
    package let work: Int

    /// None for a job that is paused, held or over.
    ///
    /// `taken`: the dates, from its next one on, that have a row already, in order.
    package init(
        of job: StoredJob,
        without taken: [TakenDates] = [],
        from: Timestamp,
        before end: Timestamp,
        at moment: ClockReading
    ) {
        let clock = job.clock
        schedule = job.schedule
        offset = moment.wallDate(.init(microseconds: 0), on: clock) - .init(microseconds: 0)
        let from = moment.date(ofWall: from, on: clock)
        var last = moment.date(ofWall: end, on: clock)
        if let until = job.policy.until {
            last = min(last, moment.date(ofWall: until, on: clock) + TimeSpan(microseconds: 1))
        }
        self.end = last
        gaps = Self.apart(taken, of: job)
        var left = job.policy.count.map { max(0, $0 - job.fires) } ?? .max
        // Where nothing was dropped it does not matter, and there may be a thousand jobs.
        let isMoved =
            job.movedFrom != nil
            || !gaps.isEmpty && job.fireDate.map { !job.isOfSchedule($0) } ?? false
        guard job.state == .scheduled, !job.isHeld,
            let next = isMoved ? job.fireDate : Self.free(job.fireDate, of: schedule, gaps),
            next < last, left > 0
        else {
            (first, behind, most, work) = (nil, last, 0, 0)
            return
        }
        // Of a job with a last one those before `from` are counted too.
        work = Self.work(of: schedule, from: left < .max ? next : max(next, from), to: last)
        let instant = TimeSpan(microseconds: 1)
        if next >= from {
            (first, behind) = (next, max(next, job.movedFrom ?? next))
        } else {
            let dates = job.dates
            if left < .max {
                let through = from - instant
                left -= dates.passed(from: next, through: through, newest: 0).count
                let begin = max(next, job.movedFrom ?? next)
                left += Self.number(in: gaps, of: schedule, after: begin, through: through)
            }
            let later = Self.free(dates.next(after: from - instant), of: schedule, gaps)
            first = later.flatMap { $0 < last && left > 0 ? $0 : nil }
            behind = later ?? last
        }
        most = max(left, 0)
    }

    private static func work(
        of schedule: Schedule,
        from start: Timestamp,
        to end: Timestamp
    ) -> Int {
        guard start < end else { return 0 }
        let years = Int((end - start).microseconds / (365 * 86_400_000_000))
        return switch schedule {
        // Each has some changes of the clocks, and is looked at twice where dates were dropped.
        case .cron, .calendar: 8 * years
        case .once, .every, .reboot: 0
        }
    }

    /// The first of them, oldest first.
    package func first(_ number: Int) -> [Timestamp] {
        var dates: [Timestamp] = []
        walk { date in
            guard dates.count < number else { return false }
            dates.append(date + offset)
            return true
        }
        return dates
    }

    /// How many there are.
    package var count: Int {
        guard first != nil else { return 0 }
        let later = number(after: behind, through: end - TimeSpan(microseconds: 1))
        return min(later, most - 1) + 1
    }

    /// Adds to each number how many lie in that bucket; returns the work, in dates that were looked at.
    ///
    /// Buckets are counted by arithmetic; only the dates of a job that has a last one are walked through, up to
    /// as many as there are buckets.
    package func count(into numbers: inout [Int], by buckets: CalendarBuckets) -> Int {
        guard let first else { return 0 }
        if most == .max {
            if let bucket = buckets.index(of: first + offset) { numbers[bucket] += 1 }
            schedule.count(
                between: buckets.bounds,
                ahead: offset,
                after: behind,
                before: end,
                into: &numbers
            )
            var dropped = Array(repeating: 0, count: gaps.isEmpty ? 0 : numbers.count)
            for gap in gaps {
                schedule.count(
                    between: buckets.bounds,
                    ahead: offset,
                    after: max(behind, gap.first - TimeSpan(microseconds: 1)),
                    before: min(end, gap.last + TimeSpan(microseconds: 1)),
                    into: &dropped
                )
            }
            for (index, number) in dropped.enumerated() { numbers[index] -= number }
            return buckets.count * (1 + gaps.count)
        }
        var (left, looked) = (most, 0)
        var bucket = buckets.index(of: first + offset) ?? 0
        var rest: Timestamp?
        walk { date in
            guard looked < 2 * buckets.count + 64 else {
                rest = date
                return false
            }
            looked += 1
            left -= 1
            while bucket < buckets.count, buckets.bounds[bucket + 1] <= date + offset {
                bucket += 1
            }
            if bucket < buckets.count { numbers[bucket] += 1 }
            return true
        }
        guard var from = rest else { return looked }
        let instant = TimeSpan(microseconds: 1)
        while bucket < buckets.count, left > 0 {
            let through = min(buckets.bounds[bucket + 1] - offset, end) - instant
            if from <= through {
                let inside = min(number(after: from - instant, through: through), left)
                numbers[bucket] += inside
                left -= inside
                from = through + instant
            }
            bucket += 1
            looked += 1
        }
        return looked
    }

    /// Gives the dates one after the other, on the job's clock, until `body` returns false.
    private func walk(_ body: (Timestamp) -> Bool) {
        guard var date = first, body(date) else { return }
        var (after, left) = (behind, most - 1)
        while left > 0,
            let next = Self.free(schedule.nextFireDate(after: after), of: schedule, gaps),
            next < end
        {
            (date, after, left) = (next, next, left - 1)
            guard body(date) else { return }
        }
    }

    /// How many dates of the schedule lie after `date`, up to and including `last`, without those that do not fire.
    private func number(after date: Timestamp, through last: Timestamp) -> Int {
        schedule.count(after: date, through: last)
            - Self.number(in: gaps, of: schedule, after: date, through: last)
    }

    /// How many of the dates in `gaps` lie after `date`, up to and including `last`.
    private static func number(
        in gaps: [TakenDates],
        of schedule: Schedule,
        after date: Timestamp,
        through last: Timestamp
    ) -> Int {
        gaps.reduce(0) { sum, gap in
            let justBefore = gap.first - TimeSpan(microseconds: 1)
            return sum
                + schedule.count(after: max(date, justBefore), through: min(last, gap.last))
        }
    }

    /// `date`, or the first one behind it that lies in no gap.
    private static func free(
        _ date: Timestamp?,
        of schedule: Schedule,
        _ gaps: [TakenDates]
    ) -> Timestamp? {
        var date = date
        for gap in gaps {
            guard let next = date, gap.first <= next else { break }
            if next <= gap.last { date = schedule.nextFireDate(after: gap.last) }
        }
        return date
    }

    /// The same dates without those of another grid, and with ranges that overlap as one.
    private static func apart(_ taken: [TakenDates], of job: StoredJob) -> [TakenDates] {
        guard let date = job.movedFrom ?? job.fireDate else { return [] }
        var gaps: [TakenDates] = []
        for dates in taken where dates.isOnGrid(date, of: job) {
            if let last = gaps.last?.last, dates.first <= last {
                gaps[gaps.count - 1].grow(to: dates.last)
            } else {
                gaps.append(dates)
            }
        }
        return gaps
    }
}
