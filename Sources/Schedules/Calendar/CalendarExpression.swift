// SPDX-License-Identifier: Apache-2.0

/// A calendar expression of systemd.time(7), such as `Mon..Fri *-*-* 09:00`, in a zone.
///
/// Weekday and date must both match. The daylight saving rule is in LocalTime.swift, and is not
/// systemd's: systemd passes over a skipped local time and takes a repeated one once.
public struct CalendarExpression: Hashable, Sendable {
    /// The zone it is read in: the one it names, else the one it was given.
    public internal(set) var zone: Zone
    let fields: Fields
    /// The zone as the expression names it; nil when it names none.
    let ownZone: String?

    /// What the components match.
    struct Fields: Hashable, Sendable {
        /// Bit w is set for weekday w, 0 is Sunday.
        var weekdays: UInt8 = 0x7f
        var years = CalendarComponent.any()
        var monthsOfYear = CalendarComponent.any()
        var daysOfMonth = CalendarComponent.any()
        /// Whether days count from the month's end: 1 is its last day.
        var countsFromEnd = false
        var hoursOfDay = CalendarComponent.value(0)
        var minutesOfHour = CalendarComponent.value(0)
        /// In µs.
        var seconds = CalendarComponent.value(0, unit: 1_000_000)

        // The same components as bit masks, for the search.
        var months: UInt16 = 0
        var days: UInt64 = 0
        var hours: UInt64 = 0
        var minutes: UInt64 = 0
        var followsRealTime = false
    }

    /// The first fire date strictly after `date`; nil once there is none.
    public func nextFireDate(after date: Timestamp) -> Timestamp? {
        zone.nextDate(after: date, matching: fields)
    }

    /// Whether `date`, one of its fire dates, stands for a local time that daylight saving skipped.
    public func movedByDaylightSaving(_ date: Timestamp) -> Bool {
        zone.isMoved(date, from: fields)
    }

    /// The expression in systemd's normalised form: `daily` is "*-*-* 00:00:00".
    public var normalized: String {
        fields.text + (ownZone.map { " " + $0 } ?? "")
    }
}

extension CalendarExpression.Fields: CivilPattern {
    static let yearRange: ClosedRange<Int64> = 1970...9999
    /// In µs.
    static let lastOfMinute: Int64 = 59_999_999

    func year(atOrAfter year: Int) -> Int? {
        years.first(atOrAfter: Int64(year), limit: Self.yearRange.upperBound).map { Int($0) }
    }

    func days(in month: CalendarMonth) -> UInt64 {
        // The mirror image of the mask, moved so that bit 1 falls on the last day.
        let dates = countsFromEnd ? mirrored(days) >> UInt64(62 - month.length) : days
        return dates & month.days(onWeekdays: weekdays)
    }

    func time(atOrAfter time: Int64) -> Int64? {
        var hour = Int(time / 3_600_000_000)
        var minute = Int(time / 60_000_000 % 60)
        var rest = hours >> UInt64(hour)
        if rest & 1 != 0 {
            let left = minutes >> UInt64(minute)
            if left & 1 != 0, let second = second(atOrAfter: time % 60_000_000) {
                return Self.time(hour, minute, second)
            }
            if left & ~1 != 0, let second = second(atOrAfter: 0) {
                minute += (left & ~1).trailingZeroBitCount
                return Self.time(hour, minute, second)
            }
            rest &= ~1
        }
        guard rest != 0, let second = second(atOrAfter: 0) else { return nil }
        hour += rest.trailingZeroBitCount
        return Self.time(hour, minutes.trailingZeroBitCount, second)
    }

    func countOfTimes(before time: Int64) -> Int {
        let minute = Int(time / 60_000_000)
        let perMinute = countOfSeconds(before: 60_000_000)
        let perHour = minutes.nonzeroBitCount * perMinute
        var count = hours.bits(below: minute / 60) * perHour
        if hours >> UInt64(minute / 60) & 1 != 0 {
            count += minutes.bits(below: minute % 60) * perMinute
            if minutes >> UInt64(minute % 60) & 1 != 0 {
                count += countOfSeconds(before: time % 60_000_000)
            }
        }
        return count
    }

    private func countOfSeconds(before end: Int64) -> Int {
        seconds.count(below: end, limit: Self.lastOfMinute)
    }

    private func second(atOrAfter microsecond: Int64) -> Int64? {
        seconds.first(atOrAfter: microsecond, limit: Self.lastOfMinute)
    }

    @inline(__always)
    private static func time(_ hour: Int, _ minute: Int, _ microsecond: Int64) -> Int64 {
        Int64(hour * 60 + minute) * 60_000_000 + microsecond
    }

    /// Normalizes the components and derives the masks; returns the first component that is not accepted.
    mutating func normalize() -> CalendarMistake? {
        years.normalize()
        monthsOfYear.normalize()
        daysOfMonth.normalize()
        hoursOfDay.normalize()
        minutesOfHour.normalize()
        seconds.normalize()
        if daysOfMonth.isAny { countsFromEnd = false }
        if let mistake { return mistake }
        years.list(limit: Self.yearRange.upperBound)
        seconds.list(limit: Self.lastOfMinute)
        months = UInt16(monthsOfYear.bits(in: 1...12))
        days = countsFromEnd ? daysOfMonth.bitsFromEnd() : daysOfMonth.bits(in: 1...31)
        hours = hoursOfDay.bits(in: 0...23)
        minutes = minutesOfHour.bits(in: 0...59)
        followsRealTime = hoursOfDay.isAny || minutesOfHour.isAny
        return nil
    }
}
