// SPDX-License-Identifier: Apache-2.0

// `timespec` is CLinux's if any module of the program imports that.
import CLinux
import Glibc
import Schedules

/// Dates as the user's own clock shows them.
///
/// It holds one "now" for a whole command, so that all its lines agree.
struct LocalDate {
    var now: Timestamp
    var zone: Zone

    /// "2026-12-01 09:00:05 CET"; milliseconds follow the seconds unless there are none.
    func full(_ date: Timestamp) -> String {
        "\(dayAndTime(date)) \(zone.abbreviation(at: date))"
    }

    /// "2026-12-01 09:00:05", or "2026-12-01 09:00:05.250"; below a millisecond cut off.
    func dayAndTime(_ date: Timestamp) -> String {
        let text = local(date)
        let fraction = text.dropFirst(20).prefix(3)
        return text.prefix(19) + (fraction == "000" ? "" : ".\(fraction)")
    }

    /// "2026-12-01 09:00:05.250": always with milliseconds, so that lines align.
    func stamp(_ date: Timestamp) -> String {
        String(local(date).prefix(23))
    }

    /// "at 09:00:05" today, "tomorrow at 09:00:05", else "on 2026-12-01 at 09:00:05".
    func phrase(_ date: Timestamp) -> String {
        let text = local(date)
        let (day, time) = (text.prefix(10), text.dropFirst(11).prefix(8))
        switch self.day(date) - self.day(now) {
        case 0: return "at \(time)"
        case 1: return "tomorrow at \(time)"
        case -1: return "yesterday at \(time)"
        default: return "on \(day) at \(time)"
        }
    }

    /// "Thu Dec 24 10:00:00 2026", as asctime(3) has it.
    func asctime(_ date: Timestamp) -> String {
        let text = local(date)
        let months = [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ]
        let month = months[(Int(text.dropFirst(5).prefix(2)) ?? 1) - 1]
        let day = text.dropFirst(8).prefix(2)
        return "\(weekday(date)) \(month) \(day.hasPrefix("0") ? " \(day.dropFirst())" : day) "
            + "\(text.dropFirst(11).prefix(8)) \(text.prefix(4))"
    }

    /// "in 4 min", "3 s ago".
    func distance(_ date: Timestamp) -> String {
        RelativeTime.words(from: now, to: date)
    }

    /// The weekday of the date: "Mon".
    func weekday(_ date: Timestamp) -> String {
        // Day 0, 1 January 1970, was a Thursday.
        let names = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        let remainder = day(date) % 7
        return names[remainder < 0 ? remainder + 7 : remainder]
    }

    /// "2026-12-01 09:00:05.250000", on the clock of the zone.
    private func local(_ date: Timestamp) -> String {
        let shown = Timestamp(microseconds: zone.localTime(at: date).microseconds)
        return shown.rfc3339.dropLast().split(separator: "T").joined(separator: " ")
    }

    /// Days since 1970 on the clock of the zone.
    private func day(_ date: Timestamp) -> Int {
        let length: Int64 = 86_400_000_000
        let local = zone.localTime(at: date).microseconds
        return Int(local >= 0 ? local / length : (local + 1) / length - 1)
    }
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
