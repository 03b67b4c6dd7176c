// SPDX-License-Identifier: Apache-2.0

/// A length of time in whole µs.
public struct TimeSpan: Hashable, Comparable, Sendable {
    public var microseconds: Int64

    public init(microseconds: Int64) {
        self.microseconds = microseconds
    }

    public static let zero = TimeSpan(microseconds: 0)

    /// Whole seconds; saturates.
    public static func seconds(_ count: Int64) -> Self {
        scaled(count, by: 1_000_000)
    }

    /// Whole milliseconds; saturates.
    public static func milliseconds(_ count: Int64) -> Self {
        scaled(count, by: 1000)
    }

    /// In seconds, with what a `Double` has of the fraction.
    package var inSeconds: Double { Double(microseconds) / 1_000_000 }

    private static func scaled(_ count: Int64, by factor: Int64) -> Self {
        let (product, overflow) = count.multipliedReportingOverflow(by: factor)
        return Self(microseconds: overflow ? (count < 0 ? .min : .max) : product)
    }

    public static func < (left: Self, right: Self) -> Bool {
        left.microseconds < right.microseconds
    }

    /// The sum; saturates.
    public static func + (left: Self, right: Self) -> Self {
        let (sum, overflow) = left.microseconds.addingReportingOverflow(right.microseconds)
        return Self(microseconds: overflow ? (left.microseconds < 0 ? .min : .max) : sum)
    }

    /// The difference; saturates.
    public static func - (left: Self, right: Self) -> Self {
        let (sum, overflow) = left.microseconds.subtractingReportingOverflow(right.microseconds)
        return Self(microseconds: overflow ? (left.microseconds < 0 ? .min : .max) : sum)
    }

    /// 1 ms: the shortest interval, and the shortest delay of a one-shot but none.
    public static let shortestInterval = TimeSpan.milliseconds(1)
    /// 100 years of 365.25 days.
    public static let longestInterval = TimeSpan.seconds(100 * 31_557_600)

    /// This span, checked to be a delay: 0, which is at once, or as an interval.
    ///
    /// - Throws: `badDuration`.
    public func validatedDelay(words: String) throws(ScheduleError) -> Self {
        guard self < .shortestInterval else { return try validatedInterval(words: words) }
        guard self == .zero else {
            throw ScheduleError(
                .badDuration,
                "duration '\(words)' is too short; accepted are 0s, which is at once, and 1ms to 100 years"
            )
        }
        return self
    }

    /// This span, checked to be an interval: from 1 ms to 100 years.
    ///
    /// `words` are what the user wrote, for the message.
    ///
    /// - Throws: `badDuration`.
    public func validatedInterval(words: String) throws(ScheduleError) -> Self {
        if self < .shortestInterval {
            throw ScheduleError(
                .badDuration,
                "duration '\(words)' is too short; accepted are 1ms to 100 years"
            )
        }
        if self > .longestInterval {
            throw ScheduleError(
                .badDuration,
                "duration '\(words)' is too long; accepted are 1ms to 100 years"
            )
        }
        return self
    }
}

extension TimeSpan: CustomStringConvertible {
    private static let units: [(name: String, microseconds: Int64)] = [
        ("y", 31_557_600_000_000), ("month", 2_629_800_000_000), ("w", 604_800_000_000),
        ("d", 86_400_000_000), ("h", 3_600_000_000), ("min", 60_000_000), ("s", 1_000_000),
        ("ms", 1000), ("us", 1),
    ]

    /// The same in two units at most, rounded down to whole ones: "6y 10month", "2min 5s", "55s".
    public var inTwoUnits: String {
        let units = Self.units.map { UInt64($0.microseconds) }
        let largest = units.firstIndex { $0 <= microseconds.magnitude } ?? units.count - 1
        // Below a minute one unit is enough.
        let smallest = units[largest] < 60_000_000 ? largest : largest + 1
        let rest = Int64(microseconds.magnitude % units[largest] % units[smallest])
        return Self(microseconds: microseconds + (microseconds < 0 ? rest : -rest)).description
    }

    /// The canonical form, as systemd writes it: "1h 30min", "5.500000s"; reads back as the same
    /// span.
    public var description: String {
        if microseconds == 0 { return "0" }
        var rest = microseconds.magnitude
        var words: [String] = []
        for unit in Self.units where rest >= UInt64(unit.microseconds) {
            let (whole, part) = rest.quotientAndRemainder(dividingBy: UInt64(unit.microseconds))
            rest = part
            if unit.microseconds <= 1_000_000, part > 0 {
                // Below a minute one unit carries the rest as its fraction.
                let digits = String(part)
                let width = unit.microseconds == 1_000_000 ? 6 : 3
                let padding = String(repeating: "0", count: width - digits.utf8.count)
                words.append("\(whole).\(padding)\(digits)\(unit.name)")
                break
            }
            words.append("\(whole)\(unit.name)")
        }
        return (microseconds < 0 ? "-" : "") + words.joined(separator: " ")
    }
}
