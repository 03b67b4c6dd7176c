// SPDX-License-Identifier: Apache-2.0

extension IntervalGrid {
    private static let day: Int64 = 86_400_000_000
    /// A year has twelve of them.
    private static let month: Int64 = 2_629_800_000_000

    /// What its dates do that whoever says "every day" or "every month" may not have meant.
    ///
    /// `zone` is evaluated only for a grid of whole days.
    func notes(_ zone: @autoclosure () -> Zone) -> [String] {
        let length = interval.microseconds
        if length % Self.month == 0 {
            return [
                "a month is 30.4375 days here and a year 365.25, so these dates follow no calendar; "
                    + "calendar 'monthly' or 'yearly' does"
            ]
        }
        return length % Self.day == 0 ? clockChange(in: zone()).map { [$0] } ?? [] : []
    }

    /// The first of its dates at another time of day; nil where none is so within a year.
    private func clockChange(in zone: Zone) -> String? {
        let change = zone.period(at: first.microseconds).end
        guard change < first.microseconds + 366 * Self.day,
            let date = nextFireDate(after: Timestamp(microseconds: change - 1))
        else { return nil }
        let (before, after) = (zone.localTime(at: first), zone.localTime(at: date))
        guard before.timeOfDay != after.timeOfDay else { return nil }
        return
            "a day is 24 hours here: from \(after) \(zone.abbreviation(at: date)) on, after a clock change, these "
            + "dates are at another time of day; dates of cron and calendar stay at theirs"
    }
}

extension LocalTime {
    fileprivate var timeOfDay: Int64 { floorDivide(microseconds, by: 86_400_000_000).remainder }
}
