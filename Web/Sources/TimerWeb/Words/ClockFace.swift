// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerWords

/// What the clocks and calendars of a zone show at a date; see `LocalDate.zoneShown`.
struct ClockFace: Hashable, Sendable {
    var year: Int
    /// 1 to 12.
    var month: Int
    var day: Int
    var hour: Int
    var minute: Int
    var second: Int
    /// 0 for Monday.
    var weekday: Int
    /// Days since 1970 on this calendar.
    var dayNumber: Int

    static let weekdays = [
        "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
    ]
    static let months = [
        "January", "February", "March", "April", "May", "June", "July", "August", "September",
        "October", "November", "December",
    ]

    init(_ date: Timestamp, in zone: Zone) {
        // Near the ends of the range of dates UTC's: a year has four digits at most, wherever it is read.
        let zone = LocalDate(now: date, zone: zone).zoneShown(at: date)
        let local = zone.localTime(at: date).microseconds
        let length: Int64 = 86_400_000_000
        let (whole, rest) = local.quotientAndRemainder(dividingBy: length)
        dayNumber = Int(rest < 0 ? whole - 1 : whole)
        let time = rest < 0 ? rest + length : rest
        second = Int(time / 1_000_000 % 60)
        minute = Int(time / 60_000_000 % 60)
        hour = Int(time / 3_600_000_000)
        let day = LocalDay(number: dayNumber)
        (year, month, self.day, weekday) = (day.year, day.month, day.day, day.weekday)
    }

    var weekdayName: String { Self.weekdays[weekday] }
    /// "09:00".
    var time: String { "\(hour.padded):\(minute.padded)" }
    /// "09:00:05".
    var timeWithSeconds: String { "\(time):\(second.padded)" }
}

extension Int {
    /// With two digits at least.
    var padded: String { padded(to: 2) }

    func padded(to length: Int) -> String {
        let digits = String(self)
        return String(repeating: "0", count: Swift.max(0, length - digits.utf8.count)) + digits
    }
}
