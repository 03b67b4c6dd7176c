// SPDX-License-Identifier: Apache-2.0

/// A cron expression: five fields, or six with seconds first, in a zone.
///
/// Fields are minute, hour, day of month, month, day of week, as crontab(5) has them, and `L`, `W` and `#`
/// besides. Day of month and day of week: either matches when both are restricted, both must match when one
/// begins with `*` or is `?`. The daylight saving rule is in LocalTime.swift.
public struct CronExpression: Hashable, Sendable {
    /// The expression as it was written, without blanks around it.
    public let text: String
    public internal(set) var zone: Zone
    let fields: Fields

    /// What the fields match, as bit masks.
    struct Fields: Hashable, Sendable {
        var seconds: UInt64 = 1
        var minutes: UInt64 = 0
        var hours: UInt64 = 0
        var months: UInt16 = 0
        var days = CronDays()
        var followsRealTime = false
    }

    /// The first fire date strictly after `date`; nil when no day ever matches.
    public func nextFireDate(after date: Timestamp) -> Timestamp? {
        zone.nextDate(after: date, matching: fields)
    }

    /// Whether `date`, one of its fire dates, stands for a local time that daylight saving skipped.
    public func movedByDaylightSaving(_ date: Timestamp) -> Bool {
        zone.isMoved(date, from: fields)
    }
}

extension CronExpression.Fields: CivilPattern {
    func year(atOrAfter year: Int) -> Int? { year }

    @inline(__always)
    func days(in month: CalendarMonth) -> UInt64 { days.days(in: month) }

    func time(atOrAfter time: Int64) -> Int64? {
        // Fields have whole seconds: a second that has begun counts as past.
        var second = Int((time + 999_999) / 1_000_000)
        var minute = second / 60
        var hour = minute / 60
        second %= 60
        minute %= 60
        // Each field either keeps its value, or moves on and sets the finer ones back to their
        // first.
        var rest = hours >> UInt64(hour)
        if rest == 0 { return nil }
        if rest & 1 == 0 {
            hour += rest.trailingZeroBitCount
            return Self.time(hour, minutes.trailingZeroBitCount, seconds.trailingZeroBitCount)
        }
        rest = minutes >> UInt64(minute)
        if rest & 1 != 0 {
            let left = seconds >> UInt64(second)
            if left != 0 {
                return Self.time(hour, minute, second + left.trailingZeroBitCount)
            }
            rest &= ~1
        }
        if rest != 0 {
            minute += rest.trailingZeroBitCount
            return Self.time(hour, minute, seconds.trailingZeroBitCount)
        }
        rest = hours >> UInt64(hour) & ~1
        if rest == 0 { return nil }
        hour += rest.trailingZeroBitCount
        return Self.time(hour, minutes.trailingZeroBitCount, seconds.trailingZeroBitCount)
    }

    func countOfTimes(before time: Int64) -> Int {
        let second = Int((time + 999_999) / 1_000_000)
        let perMinute = seconds.nonzeroBitCount
        let perHour = minutes.nonzeroBitCount * perMinute
        var count = hours.bits(below: second / 3600) * perHour
        if hours >> UInt64(second / 3600) & 1 != 0 {
            count += minutes.bits(below: second / 60 % 60) * perMinute
            if minutes >> UInt64(second / 60 % 60) & 1 != 0 {
                count += seconds.bits(below: second % 60)
            }
        }
        return count
    }

    @inline(__always)
    private static func time(_ hour: Int, _ minute: Int, _ second: Int) -> Int64 {
        Int64(hour * 3600 + minute * 60 + second) * 1_000_000
    }
}
