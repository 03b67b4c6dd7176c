// SPDX-License-Identifier: Apache-2.0

package import Schedules

extension StoredJob {
    /// The job's dates.
    package var dates: JobDates {
        var dates = JobDates(schedule)
        dates.jitter = policy.jitter
        dates.job = id
        if let movedFrom, let fireDate {
            dates.moved = JobDates.Moved(from: movedFrom, to: fireDate)
        }
        return dates
    }

    /// Whether `date` is one that its schedule has; a grid moves as a whole, so that any date is.
    ///
    /// On cron and calendar a fire may have been moved to one that is not.
    package func isOfSchedule(_ date: Timestamp) -> Bool {
        switch schedule {
        case .cron, .calendar:
            schedule.nextFireDate(after: date - TimeSpan(microseconds: 1)) == date
        case .once, .every, .reboot: true
        }
    }

    /// When its next fire is due; nil while there is none.
    package var dueDate: Timestamp? { fireDate.map(dates.due) }

    /// By how much the fire of a date may be put off, to share a wake-up: at most half the time until the
    /// one behind it is due.
    package func tolerance(of date: Timestamp) -> TimeSpan {
        guard policy.tolerance > .zero else { return .zero }
        let dates = dates
        guard let next = dates.next(after: date) else { return policy.tolerance }
        let interval = dates.due(next) - dates.due(date)
        return min(policy.tolerance, TimeSpan(microseconds: interval.microseconds / 2))
    }

    /// By when the fire of a date of the job's clock is to begin, by the wall clock, where its jitter or its tolerance puts it
    /// off; nil where it is to begin at its date.
    package func dueBy(_ date: Timestamp, at moment: ClockReading) -> Timestamp? {
        let end = dates.due(date) + tolerance(of: date)
        return end > date ? moment.wallDate(end, on: clock) : nil
    }

    /// By when the fire of `claim` is to begin, where it is put off, as `dueBy(_:at:)` says; nil too for one by hand.
    package func dueBy(of claim: Claim, at moment: ClockReading) -> Timestamp? {
        guard claim.dateByHand == nil, let fireDate else { return nil }
        return dueBy(fireDate, at: moment)
    }
}
