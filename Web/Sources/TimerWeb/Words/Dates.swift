// SPDX-License-Identifier: Apache-2.0

import Glibc
import Schedules

/// Dates as the reader's clock shows them.
///
/// It holds one "now" for a whole page, so that all its parts agree.
struct Dates: Sendable {
    var now: Timestamp
    var zone: Zone

    /// "2026-12-01 09:00:05 CET"; milliseconds follow the seconds unless there are none.
    func full(_ date: Timestamp) -> String {
        "\(dayAndTime(date)) \(zone.abbreviation(at: date))"
    }

    /// "2026-12-01 09:00:05", or "2026-12-01 09:00:05.250".
    func dayAndTime(_ date: Timestamp) -> String {
        let clock = ClockFace(date, in: zone)
        let fraction = clock.millisecond == 0 ? "" : ".\(clock.millisecond.padded(to: 3))"
        return "\(clock.isoDay) \(clock.timeWithSeconds)\(fraction)"
    }

    /// "in 4 min", "3 s ago", "now".
    func distance(_ date: Timestamp) -> String {
        let distance = date - now
        if distance.microseconds.magnitude < 500 { return "now" }
        return distance > .zero ? "in \(distance.roughly)" : "\(distance.roughly) ago"
    }

    /// A date from the wire on this clock; a text that is not RFC 3339 stays as it is.
    func local(_ text: String) -> String { Timestamp(rfc3339: text).map(full) ?? text }

    /// Days since 1970 on the clock of the zone.
    func day(_ date: Timestamp) -> LocalDay {
        LocalDay(number: ClockFace(date, in: zone).dayNumber)
    }

    var today: LocalDay { day(now) }
}

extension Timestamp {
    /// Now, by the system's clock.
    static var now: Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(
            microseconds: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
        )
    }
}

extension Dates {
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
        return "\(day)\(time) \(zone.abbreviation(at: date))"
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
