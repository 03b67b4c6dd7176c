// SPDX-License-Identifier: Apache-2.0

import Schedules

/// Distances in time as a person says them: "in 4 min", "3 s ago", "1.2 s".
enum RelativeTime {
    /// From `now` to `date` in one unit, to the nearest: "in 4 min", "3 s ago", "now".
    static func words(from now: Timestamp, to date: Timestamp) -> String {
        let distance = date - now
        let milliseconds = rounded(distance.microseconds.magnitude, to: 1000)
        if milliseconds == 0 { return "now" }
        let amount = amount(milliseconds: milliseconds)
        return distance > .zero ? "in \(amount)" : "\(amount) ago"
    }

    /// The amount in the largest unit that does not round too coarsely.
    private static func amount(milliseconds: UInt64) -> String {
        if milliseconds < 1000 { return "\(milliseconds) ms" }
        let seconds = rounded(milliseconds, to: 1000)
        if seconds < 120 { return "\(seconds) s" }
        let minutes = rounded(seconds, to: 60)
        if minutes < 120 { return "\(minutes) min" }
        let hours = rounded(minutes, to: 60)
        if hours < 48 { return "\(hours) h" }
        let days = rounded(hours, to: 24)
        if days < 730 { return "\(days) days" }
        return "\(rounded(days * 100, to: 36_525)) years"
    }

    /// How long something took, in two units at most: "12 ms", "1.2 s", "3 min 20 s", "2 days 4 h".
    ///
    /// A negative span, from a clock that was stepped back, counts as 0.
    static func length(_ span: TimeSpan) -> String {
        let microseconds = UInt64(max(span.microseconds, 0))
        let milliseconds = rounded(microseconds, to: 1000)
        if milliseconds < 1000 { return "\(milliseconds) ms" }
        let tenths = rounded(microseconds, to: 100_000)
        if tenths < 100 { return "\(tenths / 10).\(tenths % 10) s" }
        let seconds = rounded(microseconds, to: 1_000_000)
        if seconds < 60 { return "\(seconds) s" }
        if seconds < 3600 { return two(seconds, "min", of: 60, "s") }
        let minutes = rounded(seconds, to: 60)
        if minutes < 1440 { return two(minutes, "h", of: 60, "min") }
        let hours = rounded(minutes, to: 60)
        return two(hours, hours < 48 ? "day" : "days", of: 24, "h")
    }

    private static func two(
        _ count: UInt64,
        _ large: String,
        of size: UInt64,
        _ small: String
    ) -> String {
        let (whole, rest) = count.quotientAndRemainder(dividingBy: size)
        return rest == 0 ? "\(whole) \(large)" : "\(whole) \(large) \(rest) \(small)"
    }

    private static func rounded(_ count: UInt64, to unit: UInt64) -> UInt64 {
        (count + unit / 2) / unit
    }
}
