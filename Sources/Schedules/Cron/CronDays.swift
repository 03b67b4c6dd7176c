// SPDX-License-Identifier: Apache-2.0

/// The day of month and day of week fields of a cron expression.
struct CronDays: Hashable, Sendable {
    /// Bit d is set for day d of the month.
    var daysOfMonth: UInt64 = 0
    /// Bit n is set for the day n days before the last (`L` is 0, `L-3` is 3).
    var daysBeforeLast: UInt64 = 0
    /// The working day nearest to a day (`15W`, `LW`).
    var nearestWeekday: NearestWeekday?
    /// Bit w is set for weekday w, 0 is Sunday.
    var weekdays: UInt8 = 0
    /// Bit w of element n - 1 is set for the n-th weekday w of the month (`5#3`); five groups of
    /// seven bits.
    var nthWeekdays: UInt64 = 0
    /// Bit w is set for the last weekday w of the month (`5L`).
    var lastWeekdays: UInt8 = 0
    /// Whether both fields are restricted, so that a match of one of them is enough.
    var isEither = false

    enum NearestWeekday: Hashable, Sendable {
        case day(Int)
        case beforeLast(Int)
    }

    /// Bit d is set for each matching day d of the month.
    @inline(__always)
    func days(in month: CalendarMonth) -> UInt64 {
        var byMonth = daysOfMonth & month.allDays
        if daysBeforeLast != 0 {
            // The mirror image of the mask, moved so that bit 0 falls on the last day.
            byMonth |= mirrored(daysBeforeLast) >> UInt64(63 - month.length) & month.allDays
        }
        if let nearestWeekday, let day = day(nearestWeekday, in: month) {
            byMonth |= 1 << UInt64(day)
        }
        var byWeek = month.days(onWeekdays: weekdays)
        if nthWeekdays != 0 {
            for week in 0..<5 {
                let group = UInt8(truncatingIfNeeded: nthWeekdays >> UInt64(7 * week) & 0x7f)
                byWeek |= month.days(onWeekdays: group) & 0xfe << UInt64(7 * week)
            }
        }
        if lastWeekdays != 0 {
            byWeek |= month.days(onWeekdays: lastWeekdays) & 0xfe << UInt64(month.length - 7)
        }
        return isEither ? byMonth | byWeek : byMonth & byWeek
    }

    /// Monday to Friday nearest to the day, within the same month; nil when the month has no such
    /// day.
    private func day(_ nearest: NearestWeekday, in month: CalendarMonth) -> Int? {
        let day: Int
        switch nearest {
        case .day(let number): day = number
        case .beforeLast(let distance): day = month.length - distance
        }
        guard (1...month.length).contains(day) else { return nil }
        switch (month.firstWeekday + day - 1) % 7 {
        case 6: return day == 1 ? day + 2 : day - 1
        case 0: return day == month.length ? day - 2 : day + 1
        default: return day
        }
    }
}

/// The bits in reverse order: bit 0 becomes bit 63.
func mirrored(_ bits: UInt64) -> UInt64 {
    var bits = bits
    bits = bits >> 1 & 0x5555_5555_5555_5555 | (bits & 0x5555_5555_5555_5555) << 1
    bits = bits >> 2 & 0x3333_3333_3333_3333 | (bits & 0x3333_3333_3333_3333) << 2
    bits = bits >> 4 & 0x0f0f_0f0f_0f0f_0f0f | (bits & 0x0f0f_0f0f_0f0f_0f0f) << 4
    return bits.byteSwapped
}
