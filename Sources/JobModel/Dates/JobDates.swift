// SPDX-License-Identifier: Apache-2.0

package import Schedules

/// The dates of one job, and when each of them is due; pure, all on the job's clock.
///
/// They are its schedule's, but for the next one where that was moved alone. A date is what a fire is known by. It is *due* somewhat later where the job has jitter.
package struct JobDates: Hashable, Sendable {
    package var schedule: Schedule
    /// The next date, where it was moved alone; nil where it is the schedule's own.
    package var moved: Moved?
    package var jitter = TimeSpan.zero
    /// What the jitter of a date hangs on, besides the date.
    package var job = JobID(rawValue: 0)

    package init(_ schedule: Schedule) { self.schedule = schedule }

    package struct Moved: Hashable, Sendable {
        /// The schedule's date that was moved.
        package var from: Timestamp
        package var to: Timestamp

        package init(from: Timestamp, to: Timestamp) { (self.from, self.to) = (from, to) }

        /// The schedule goes on with the first date after this one.
        package var end: Timestamp { max(from, to) }
    }

    /// The first date after `date`; nil once there is none.
    package func next(after date: Timestamp) -> Timestamp? {
        guard let moved else { return schedule.nextFireDate(after: date) }
        return date < moved.to ? moved.to : schedule.nextFireDate(after: max(date, moved.end))
    }

    /// The dates from `first`, itself one, through `last`; see `Schedule.passedDates`.
    package func passed(from first: Timestamp, through last: Timestamp, newest n: Int)
        -> PassedDates
    {
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

    /// The last of the first `number` dates from `first` on, itself one whatever `end` is, of those up to and including
    /// `end`, and how many they are.
    package func last(of number: Int, from first: Timestamp, through end: Timestamp)
        -> (date: Timestamp, count: Int)
    {
        let behind = moved.map { max(first, $0.end) } ?? first
        guard let later = schedule.last(of: number - 1, after: behind, through: end) else {
            return (first, 1)
        }
        return (later.date, later.count + 1)
    }

    /// The date that was moved to an earlier one, and those behind it, of dates that pass: between the two lies what it
    /// was moved from, which is none of the job's any more, and has a row of its own.
    ///
    /// Behind a date that was moved to a later one come the schedule's own: they are one range with it.
    package func parts(of dates: MisfirePolicy.SkippedDates) -> [MisfirePolicy.SkippedDates] {
        guard let moved, moved.to < moved.from, dates.first == moved.to, dates.count > 1,
            let next = schedule.nextFireDate(after: moved.end)
        else { return [dates] }
        var (alone, rest) = (dates, dates)
        (alone.last, alone.count) = (alone.first, 1)
        (rest.first, rest.count) = (next, dates.count - 1)
        return [alone, rest]
    }

    /// When the fire of `date` is due: the same for the same job and date, at or after `date`, and
    /// before the next date.
    package func due(_ date: Timestamp) -> Timestamp {
        guard jitter > .zero, date != moved?.to else { return date }
        var span = jitter
        if let next = next(after: date) { span = min(span, next - date) }
        return date + Jitter.offset(job: job.rawValue, fireDate: date, within: span)
    }

    /// The last instant through which all dates from `first` on are due at `now`; before `first`
    /// where that one is not.
    package func dueEnd(from first: Timestamp, at now: Timestamp) -> Timestamp {
        guard jitter > .zero, first <= now else { return now }
        let last = passed(from: first, through: now, newest: 1).last
        return due(last) <= now ? now : last - TimeSpan(microseconds: 1)
    }
}
