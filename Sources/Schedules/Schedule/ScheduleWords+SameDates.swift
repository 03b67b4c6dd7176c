// SPDX-License-Identifier: Apache-2.0

extension ScheduleWords {
    /// Whether other words mean the same dates, however each of them is spelled.
    ///
    /// Expressions are compared by what they match, their zones by name: one that names none goes by whatever
    /// the daemon's is.
    ///
    /// - Throws: what reading the words throws.
    package func hasDates(
        of other: Self,
        now: Timestamp,
        zone: Zone
    ) throws(ScheduleError) -> Bool {
        let mine = try resolve(now: now, zone: zone).schedule
        let theirs = try other.resolve(now: now, zone: zone).schedule
        switch (mine, theirs) {
        case (.cron(let mine), .cron(let theirs)):
            return tz == other.tz && mine.fields == theirs.fields
        case (.calendar(let mine), .calendar(let theirs)):
            return (mine.ownZone ?? tz) == (theirs.ownZone ?? other.tz)
                && mine.fields.hasDates(of: theirs.fields)
        default:
            return try normalized(now: now, zone: zone) == other.normalized(now: now, zone: zone)
        }
    }
}

extension CalendarExpression.Fields {
    /// Whether other components match the same local times, and by the same rule of daylight saving.
    fileprivate func hasDates(of other: Self) -> Bool {
        weekdays == other.weekdays && months == other.months
            && days == other.days && countsFromEnd == other.countsFromEnd
            && hours == other.hours && minutes == other.minutes
            && followsRealTime == other.followsRealTime
            && years.hasValues(of: other.years, in: Self.yearRange)
            && seconds.hasValues(of: other.seconds, in: 0...Self.lastOfMinute)
    }
}

extension CalendarComponent {
    /// Whether another component has the same values in `range`.
    ///
    /// Steps through the values, which are no more than there are years.
    fileprivate func hasValues(of other: Self, in range: ClosedRange<Int64>) -> Bool {
        if self == other { return true }
        var next = range.lowerBound
        while true {
            let value = first(atOrAfter: next, limit: range.upperBound)
            guard value == other.first(atOrAfter: next, limit: range.upperBound) else {
                return false
            }
            guard let value else { return true }
            next = value + 1
        }
    }
}
