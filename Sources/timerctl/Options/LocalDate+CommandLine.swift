// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerWords

/// Dates in the forms that only the command line has.
extension LocalDate {
    /// "2026-12-01 09:00:05.250": always with milliseconds, so that lines align.
    func stamp(_ date: Timestamp) -> String {
        String(digits(date).prefix(23))
    }

    /// A message with its dates on the reader's clock: the daemon, which does not know that, quotes them in UTC.
    func localized(_ message: String) -> String {
        let parts = message.split(separator: "'", omittingEmptySubsequences: false).map(String.init)
        let length = now.rfc3339.utf8.count
        return parts.map { $0.utf8.count == length ? local($0) : $0 }.joined(separator: "'")
    }

    /// "at 09:00:05" today, "tomorrow at 09:00:05", else "on 2026-12-01 at 09:00:05"; see `zoneOfTwo`.
    func phrase(_ date: Timestamp) -> String {
        let text = digits(date)
        let (day, time) = (text.prefix(10), text.dropFirst(11).prefix(8) + zoneOfTwo(date))
        switch self.day(date) - self.day(now) {
        case 0: return "at \(time)"
        case 1: return "tomorrow at \(time)"
        case -1: return "yesterday at \(time)"
        default: return "on \(day) at \(time)"
        }
    }

    /// "Thu Dec 24 10:00:00 2026", as asctime(3) has it.
    func asctime(_ date: Timestamp) -> String {
        let text = digits(date)
        let months = [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ]
        let month = months[(Int(text.dropFirst(5).prefix(2)) ?? 1) - 1]
        let day = text.dropFirst(8).prefix(2)
        return "\(weekday(date)) \(month) \(day.hasPrefix("0") ? " \(day.dropFirst())" : day) "
            + "\(text.dropFirst(11).prefix(8)) \(text.prefix(4))"
    }

    /// The weekday of the date: "Mon".
    func weekday(_ date: Timestamp) -> String {
        // Day 0, 1 January 1970, was a Thursday.
        let names = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        let remainder = day(date) % 7
        return names[remainder < 0 ? remainder + 7 : remainder]
    }

    /// Days since 1970 on the clock of the zone.
    private func day(_ date: Timestamp) -> Int {
        let length: Int64 = 86_400_000_000
        let local = zoneShown(at: date).localTime(at: date).microseconds
        return Int(local >= 0 ? local / length : (local + 1) / length - 1)
    }
}
