// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// The dates of one job, and when each of them is due; pure, all on the job's clock.
///
/// They are the schedule's dates, except the next one if that was moved alone. A fire is known by its date;
/// with jitter it is *due* somewhat later.
struct JobDates: Hashable, Sendable {
    var schedule: Schedule
    /// The next date, if it was moved alone; nil if it is the schedule's own.
    var moved: Moved?
    var jitter = TimeSpan.zero
    /// The jitter of a date follows from the date and this number.
    var job = JobID(rawValue: 0)

    init(_ schedule: Schedule) { self.schedule = schedule }

    struct Moved: Hashable, Sendable {
        /// The schedule's date that was moved.
        var from: Timestamp
        var to: Timestamp

        /// The schedule goes on with the first date after this one.
        var end: Timestamp { max(from, to) }
    }

    /// The first date after `date`; nil once there is none.
    func next(after date: Timestamp) -> Timestamp? {
        guard let moved else { return schedule.nextFireDate(after: date) }
        return date < moved.to ? moved.to : schedule.nextFireDate(after: max(date, moved.end))
    }

    /// The dates from `first`, itself one, through `last`; see `Schedule.passedDates`.
    func passed(from first: Timestamp, through last: Timestamp, newest n: Int) -> PassedDates {
        guard let moved, first == moved.to else {
            return schedule.passedDates(from: first, through: last, newest: n)
        }
        let alone = Schedule.once(first).passedDates(from: first, through: last, newest: n)
        guard let next = schedule.nextFireDate(after: moved.end), next <= last else { return alone }
        var passed = schedule.passedDates(from: next, through: last, newest: n)
        passed.count += 1
        passed.first = first
        if passed.newest.count < n { passed.newest.insert(first, at: 0) }
        return passed
    }

    /// Splits skipped dates into the date that was moved alone and the dates after it.
    ///
    /// The schedule's dates between the two are not the job's any more, and have rows of their own.
    func parts(of dates: MisfirePolicy.SkippedDates) -> [MisfirePolicy.SkippedDates] {
        guard let moved, dates.first == moved.to, dates.count > 1,
            let next = schedule.nextFireDate(after: moved.end)
        else { return [dates] }
        var (alone, rest) = (dates, dates)
        (alone.last, alone.count) = (alone.first, 1)
        (rest.first, rest.count) = (next, dates.count - 1)
        return [alone, rest]
    }

    /// When the fire of `date` is due: the same for the same job and date, at or after `date`, and
    /// before the next date.
    func due(_ date: Timestamp) -> Timestamp {
        guard jitter > .zero, date != moved?.to else { return date }
        var span = jitter
        if let next = next(after: date) { span = min(span, next - date) }
        return date + Jitter.offset(job: job.rawValue, fireDate: date, within: span)
    }

    /// The last instant such that all dates from `first` through it are due at `now`; before `first` if that
    /// is not due.
    func dueEnd(from first: Timestamp, at now: Timestamp) -> Timestamp {
        guard jitter > .zero, first <= now else { return now }
        let last = passed(from: first, through: now, newest: 1).last
        return due(last) <= now ? now : last - TimeSpan(microseconds: 1)
    }
}

extension StoredJob {
    /// The job's dates.
    var dates: JobDates {
        var dates = JobDates(schedule)
        dates.jitter = policy.jitter
        dates.job = id
        if let movedFrom, let fireDate {
            dates.moved = JobDates.Moved(from: movedFrom, to: fireDate)
        }
        return dates
    }

    /// When its next fire is due; nil while there is none.
    var dueDate: Timestamp? { fireDate.map(dates.due) }
}
