// SPDX-License-Identifier: Apache-2.0

/// The rule of a POSIX TZ string, such as "CET-1CEST,M3.5.0,M10.5.0/3": what a zone does every
/// year.
///
/// Source: POSIX.1 XBD 8.3, with the wider hours of RFC 9636 3.3.1. Abbreviation 0 is standard
/// time's, 1 is daylight saving's, both moved by `firstAbbreviation`.
struct ZoneRule: Hashable, Sendable {
    /// When in the year the clocks change, by the local time before the change.
    enum Day: Hashable, Sendable {
        /// Day 1 to 365, 29 February never counted.
        case julian(Int)
        /// Day 0 to 365, 29 February counted.
        case ordinal(Int)
        /// Month, week 1 to 5 (5 is the last) and weekday (0 is Sunday).
        case weekday(month: Int, week: Int, weekday: Int)
    }

    struct Change: Hashable, Sendable {
        var day: Day
        /// Seconds after local midnight; may lie outside the day.
        var time: Int64
    }

    struct Daylight: Hashable, Sendable {
        var offset: Int64
        var start: Change
        var end: Change
    }

    var offset: Int64
    var daylight: Daylight?
    var firstAbbreviation: UInt8

    /// The period of the rule that holds `second`, as if the rule had held for ever.
    func period(at second: Int64) -> ZonePeriod {
        guard let daylight else {
            return ZonePeriod(
                start: .min,
                end: .max,
                offset: offset,
                abbreviation: firstAbbreviation
            )
        }
        let days = Int(floorDivide(second, by: 86_400).quotient)
        let year = CivilDate(daysSince1970: days).year
        // A change may lie more than a week outside its year, and so may both of a year. Those of two years
        // to each side surround `second` in any case; most often one change of its own year comes before it, and
        // the years before need no look.
        var firstYear = year
        while true {
            let period = period(at: second, daylight, years: firstYear...(year + 2))
            if period.start != .min || firstYear == year - 2 { return period }
            firstYear -= 1
        }
    }

    /// The same by the changes of these years alone; without a start where they all come later.
    ///
    /// At equal instants the start of daylight saving comes last and holds.
    private func period(at second: Int64, _ daylight: Daylight, years: ClosedRange<Int>)
        -> ZonePeriod
    {
        var period = ZonePeriod(
            start: .min,
            end: .max,
            offset: offset,
            abbreviation: firstAbbreviation
        )
        for year in years where period.end == .max {
            let start = daylight.start.second(inYear: year) - offset
            let end = daylight.end.second(inYear: year) - daylight.offset
            if start < end {
                consider(start, isDaylight: true, second, &period)
                consider(end, isDaylight: false, second, &period)
            } else {
                consider(end, isDaylight: false, second, &period)
                consider(start, isDaylight: true, second, &period)
            }
        }
        return period
    }

    /// Takes one change into account, in order of time.
    @inline(__always)
    private func consider(
        _ instant: Int64,
        isDaylight: Bool,
        _ second: Int64,
        _ period: inout ZonePeriod
    ) {
        if instant <= second {
            period.start = instant
            period.offset = isDaylight ? daylight?.offset ?? offset : offset
            period.abbreviation = firstAbbreviation + (isDaylight ? 1 : 0)
        } else if period.end == .max {
            period.end = instant
        }
    }
}

extension ZoneRule.Change {
    /// The change in a year, in seconds since 1970 of local time.
    func second(inYear year: Int) -> Int64 {
        let first = CivilDate(year: year, month: 1, day: 1).daysSince1970
        let days: Int
        switch day {
        case .julian(let day):
            days = first + day - (day < 60 || !CivilDate.isLeap(year) ? 1 : 0)
        case .ordinal(let day):
            days = first + day
        case .weekday(let month, let week, let weekday):
            let firstOfMonth = CivilDate(year: year, month: month, day: 1).daysSince1970
            var day = (weekday - CivilDate.weekday(daysSince1970: firstOfMonth) + 7) % 7
            day += (week - 1) * 7
            if day >= CivilDate.length(ofMonth: month, year: year) { day -= 7 }
            days = firstOfMonth + day
        }
        return Int64(days) * 86_400 + time
    }
}
