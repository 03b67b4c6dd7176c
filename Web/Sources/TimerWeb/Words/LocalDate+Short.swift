// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerWords

/// Dates in the forms that only a page has.
extension LocalDate {
    /// Days since 1970 on the clock of the zone.
    func day(_ date: Timestamp) -> LocalDay {
        LocalDay(number: ClockFace(date, in: zone).dayNumber)
    }

    var today: LocalDay { day(now) }

    /// "Europe/Berlin (CET, UTC+1)".
    var zoneWords: String { "\(zone.name) (\(zone.abbreviation(at: now)), \(offset(at: now)))" }

    /// "UTC+1", "UTC-3:30".
    func offset(at date: Timestamp) -> String {
        let minutes = zone.offset(at: date) / 60
        let (hours, rest) = abs(minutes).quotientAndRemainder(dividingBy: 60)
        return "UTC\(minutes < 0 ? "-" : "+")\(hours)\(rest == 0 ? "" : ":\(rest.padded)")"
    }

    /// "Tue 24 Nov, 21:04:10 CET"; without the day where that is today, and without seconds where they are 0.
    func short(_ date: Timestamp) -> String {
        let clock = ClockFace(date, in: zone)
        let time = clock.second == 0 ? clock.time : clock.timeWithSeconds
        let day = clock.dayNumber == today.number ? "" : "\(shortDay(date)), "
        return "\(day)\(time) \(abbreviation(at: date))"
    }

    /// "Tue 24 Nov".
    func shortDay(_ date: Timestamp) -> String {
        let clock = ClockFace(date, in: zone)
        let year = clock.year == ClockFace(now, in: zone).year ? "" : " \(clock.year)"
        return
            "\(clock.weekdayName.prefix(3)) \(clock.day) \(ClockFace.months[clock.month - 1].prefix(3))\(year)"
    }

    /// "21:04".
    func time(_ date: Timestamp) -> String { ClockFace(date, in: zone).time }
}
