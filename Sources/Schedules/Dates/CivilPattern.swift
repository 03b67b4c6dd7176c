// SPDX-License-Identifier: Apache-2.0

/// A pattern made of years, months, days and times of the day, each independent of the others.
///
/// The search jumps from field to field by bit masks: its cost is a few steps for each month on the
/// way.
protocol CivilPattern: LocalPattern {
    /// Bit m is set for month m, 1 to 12.
    var months: UInt16 { get }

    /// The first matching year not before `year`; nil when there is none.
    func year(atOrAfter year: Int) -> Int?

    /// Bit d is set for each matching day d of a month.
    func days(in month: CalendarMonth) -> UInt64

    /// The first matching time of the day not before `time`, in µs after midnight; nil when there
    /// is none.
    func time(atOrAfter time: Int64) -> Int64?

    /// How many times of the day before `time` match, in µs after midnight.
    func countOfTimes(before time: Int64) -> Int
}

/// A month as the patterns look at it.
struct CalendarMonth {
    /// 28 to 31.
    var length: Int
    /// The weekday of its first day; 0 is Sunday.
    var firstWeekday: Int

    /// Bits 1 to `length`.
    var allDays: UInt64 { (1 << UInt64(length + 1)) - 2 }

    /// The days on the weekdays of a mask whose bit 0 is Sunday.
    @inline(__always)
    func days(onWeekdays weekdays: UInt8) -> UInt64 {
        let mask = UInt64(weekdays)
        let firstWeek = (mask >> UInt64(firstWeekday) | mask << UInt64(7 - firstWeekday)) & 0x7f
        // Bits 1 to 7, repeated four times.
        return (firstWeek * 0x2_0408_1020_4081) << 1 & allDays
    }
}

extension CivilPattern {
    func firstMatch(atOrAfter local: Int64) -> Int64? {
        let microsecondsOfDay: Int64 = 86_400_000_000
        let (day, timeOfDay) = floorDivide(local, by: microsecondsOfDay)
        var date = CivilDate(daysSince1970: Int(day))
        var firstOfMonth = Int(day) - date.day + 1
        // The first month is searched from its day on, and that day from its time on.
        var left = ~UInt64(0) << UInt64(date.day)
        if months & 1 << UInt16(date.month) != 0, year(atOrAfter: date.year) == date.year {
            let days = days(in: month(date, firstOfMonth))
            if days & 1 << UInt64(date.day) != 0, let time = time(atOrAfter: timeOfDay) {
                return day * microsecondsOfDay + time
            }
        }
        left <<= 1
        guard let firstTime = time(atOrAfter: 0) else { return nil }
        while true {
            guard let year = year(atOrAfter: date.year), year <= 9999 else { return nil }
            if year != date.year {
                date = CivilDate(year: year, month: 1, day: 1)
                firstOfMonth = date.daysSince1970
                left = ~0
            }
            let rest = months >> UInt16(date.month)
            if rest == 0 {
                date = CivilDate(year: date.year + 1, month: 1, day: 1)
                firstOfMonth = date.daysSince1970
                left = ~0
                continue
            }
            let skipped = rest.trailingZeroBitCount
            if skipped > 0 {
                date.month += skipped
                date.day = 1
                firstOfMonth = date.daysSince1970
                left = ~0
            }
            let month = month(date, firstOfMonth)
            let days = days(in: month) & left
            if days != 0 {
                let day = firstOfMonth + days.trailingZeroBitCount - 1
                return Int64(day) * microsecondsOfDay + firstTime
            }
            left = ~0
            firstOfMonth += month.length
            date.month += 1
            date.day = 1
            if date.month == 13 {
                date.month = 1
                date.year += 1
            }
        }
    }

    @inline(__always)
    fileprivate func month(_ date: CivilDate, _ firstOfMonth: Int) -> CalendarMonth {
        CalendarMonth(
            length: CivilDate.length(ofMonth: date.month, year: date.year),
            firstWeekday: CivilDate.weekday(daysSince1970: firstOfMonth)
        )
    }
}

extension CivilPattern {
    /// How many local times match from `start` up to but not including `end`, in µs.
    func count(from start: Int64, to end: Int64) -> Int {
        guard start < end else { return 0 }
        let microsecondsOfDay: Int64 = 86_400_000_000
        let (firstDay, startTime) = floorDivide(start, by: microsecondsOfDay)
        let (lastDay, endTime) = floorDivide(end, by: microsecondsOfDay)
        if firstDay == lastDay {
            let times = countOfTimes(before: endTime) - countOfTimes(before: startTime)
            return times == 0 ? 0 : times * countOfDays(from: Int(firstDay), to: Int(firstDay) + 1)
        }
        var count = 0
        if startTime > 0, countOfDays(from: Int(firstDay), to: Int(firstDay) + 1) == 1 {
            count -= countOfTimes(before: startTime)
        }
        if endTime > 0, countOfDays(from: Int(lastDay), to: Int(lastDay) + 1) == 1 {
            count += countOfTimes(before: endTime)
        }
        let days = countOfDays(from: Int(firstDay), to: Int(lastDay))
        return count + days * countOfTimes(before: microsecondsOfDay)
    }

    /// How many days match from one day since 1970 up to but not including another.
    ///
    /// - Complexity: a few steps for each month of the first and the last year, and one for each year between.
    func countOfDays(from first: Int, to end: Int) -> Int {
        guard end - first > 3 * 366 else { return countMonthByMonth(from: first, to: end) }
        let years = (CivilDate(daysSince1970: first).year + 1)..<CivilDate(daysSince1970: end).year
        let begin = CivilDate(year: years.lowerBound, month: 1, day: 1).daysSince1970
        let close = CivilDate(year: years.upperBound, month: 1, day: 1).daysSince1970
        return countMonthByMonth(from: first, to: begin) + countOfDays(inYears: years)
            + countMonthByMonth(from: close, to: end)
    }

    /// There are fourteen kinds of years, by their length and the weekday that they begin with: each is counted once.
    private func countOfDays(inYears years: Range<Int>) -> Int {
        var kinds = [Int?](repeating: nil, count: 14)
        var count = 0
        var next = years.lowerBound
        while let year = year(atOrAfter: next), year < years.upperBound {
            let first = CivilDate(year: year, month: 1, day: 1).daysSince1970
            let isLeap = CivilDate.isLeap(year)
            let kind = CivilDate.weekday(daysSince1970: first) * 2 + (isLeap ? 1 : 0)
            let days =
                kinds[kind] ?? countMonthByMonth(from: first, to: first + (isLeap ? 366 : 365))
            kinds[kind] = days
            count += days
            next = year + 1
        }
        return count
    }

    private func countMonthByMonth(from first: Int, to end: Int) -> Int {
        var count = 0
        var day = first
        while day < end {
            let date = CivilDate(daysSince1970: day)
            let firstOfMonth = day - date.day + 1
            let month = month(date, firstOfMonth)
            if months & 1 << UInt16(date.month) != 0, year(atOrAfter: date.year) == date.year {
                var days = days(in: month) & ~0 << UInt64(date.day)
                if end - firstOfMonth < month.length {
                    days &= (1 << UInt64(end - firstOfMonth + 1)) - 1
                }
                count += days.nonzeroBitCount
            }
            day = firstOfMonth + month.length
        }
        return count
    }
}

extension UInt64 {
    /// How many bits below `end` are set.
    func bits(below end: Int) -> Int {
        (self & ((1 << UInt64(end)) - 1)).nonzeroBitCount
    }
}
