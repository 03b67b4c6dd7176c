// SPDX-License-Identifier: Apache-2.0

public import Schedules

/// Distances in time as a person says them.
public enum RelativeTime {
    /// From `now` to `date` in one unit, to the nearest: "in 4 min", "3 s ago", "now".
    public static func words(from now: Timestamp, to date: Timestamp) -> String {
        let distance = date - now
        if distance.microseconds.magnitude < 500 { return "now" }
        return distance > .zero ? "in \(distance.roughly)" : "\(distance.roughly) ago"
    }
}

extension TimeSpan {
    /// In two units at most: "12 ms", "1.2 s", "3 min 20 s", "2 days 4 h".
    ///
    /// A negative one, from a clock that was stepped back, counts as 0.
    public var length: String {
        let microseconds = UInt64(max(self.microseconds, 0))
        let milliseconds = Self.rounded(microseconds, to: 1000)
        if milliseconds < 1000 { return "\(milliseconds) ms" }
        let tenths = Self.rounded(microseconds, to: 100_000)
        if tenths < 100 { return "\(tenths / 10).\(tenths % 10) s" }
        let seconds = Self.rounded(microseconds, to: 1_000_000)
        if seconds < 60 { return "\(seconds) s" }
        if seconds < 3600 { return Self.two(seconds, "min", of: 60, "s") }
        let minutes = Self.rounded(seconds, to: 60)
        if minutes < 1440 { return Self.two(minutes, "h", of: 60, "min") }
        let hours = Self.rounded(minutes, to: 60)
        return Self.two(hours, hours < 48 ? "day" : "days", of: 24, "h")
    }

    /// In the largest unit that does not round too coarsely, without its sign: "4 min".
    public var roughly: String {
        let milliseconds = Self.rounded(microseconds.magnitude, to: 1000)
        if milliseconds < 1000 { return "\(milliseconds) ms" }
        let seconds = Self.rounded(milliseconds, to: 1000)
        if seconds < 120 { return "\(seconds) s" }
        let minutes = Self.rounded(seconds, to: 60)
        if minutes < 120 { return "\(minutes) min" }
        let hours = Self.rounded(minutes, to: 60)
        if hours < 48 { return "\(hours) h" }
        let days = Self.rounded(hours, to: 24)
        if days < 730 { return "\(days) days" }
        return "\(Self.rounded(days * 100, to: 36_525)) years"
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
