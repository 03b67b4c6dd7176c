// SPDX-License-Identifier: Apache-2.0

/// When something fires: a rule that gives the next fire date after any date.
///
/// A pure value; it knows no "now". Fire dates come from the scheduled date, so a late fire does not shift
/// the later ones.
public enum Schedule: Hashable, Sendable {
    /// At one instant.
    case once(Timestamp)
    /// On a grid; daylight saving does not touch it.
    case every(IntervalGrid)
    case cron(CronExpression)
    case calendar(CalendarExpression)
    /// Once at each start of the machine (`@reboot`): it has no dates of its own.
    case reboot

    /// The first fire date strictly after `date`; nil once there is none.
    public func nextFireDate(after date: Timestamp) -> Timestamp? {
        switch self {
        case .once(let instant): date < instant ? instant : nil
        case .every(let grid): grid.nextFireDate(after: date)
        case .cron(let expression): expression.nextFireDate(after: date)
        case .calendar(let expression): expression.nextFireDate(after: date)
        case .reboot: nil
        }
    }

    /// The fire dates from `first`, itself one, to `now`: how many, the last, and the newest `n`,
    /// oldest first.
    ///
    /// Time and memory do not grow with the number of dates. `first` counts even if it is not a date of the
    /// schedule, as a moved fire date is none.
    public func passedDates(
        from first: Timestamp,
        through now: Timestamp,
        newest n: Int
    ) -> PassedDates {
        switch self {
        case .every(let grid):
            grid.passedDates(from: first, through: now, newest: n)
        case .cron(let expression):
            PassedDates(
                of: expression.fields,
                in: expression.zone,
                from: first,
                through: now,
                newest: n
            )
        case .calendar(let expression):
            PassedDates(
                of: expression.fields,
                in: expression.zone,
                from: first,
                through: now,
                newest: n
            )
        case .once, .reboot:
            first <= now
                ? PassedDates(count: 1, first: first, last: first, newest: n > 0 ? [first] : [])
                : PassedDates(first: first)
        }
    }

    /// The instant that fixes the schedule: the date of `once`, the first date of `every`; nil for the
    /// others.
    public var anchor: Timestamp? {
        switch self {
        case .once(let date): date
        case .every(let grid): grid.first
        case .cron, .calendar, .reboot: nil
        }
    }

    /// The same schedule with another anchor; cron and calendar have no anchor and stay as they are.
    public func movingGrid(to date: Timestamp) -> Schedule {
        switch self {
        case .once: .once(date)
        case .every(let grid): .every(IntervalGrid(first: date, interval: grid.interval))
        case .cron, .calendar, .reboot: self
        }
    }

    /// Whether `date`, one of its fire dates, stands for a local time that daylight saving skipped.
    public func movedByDaylightSaving(_ date: Timestamp) -> Bool {
        switch self {
        case .cron(let expression): expression.movedByDaylightSaving(date)
        case .calendar(let expression): expression.movedByDaylightSaving(date)
        case .once, .every, .reboot: false
        }
    }
}

/// The clock that a schedule goes by.
public enum ScheduleClock: String, Sendable, Hashable {
    /// Its dates follow the wall clock through each step.
    case wall
    /// Its dates keep their distance when the wall clock is stepped.
    case elapsed
}
