// SPDX-License-Identifier: Apache-2.0

/// An instant, to the microsecond.
///
/// Counts µs since 1970-01-01T00:00:00Z on the wall clock's scale (leap seconds not counted), as a
/// whole number: arithmetic is exact.
public struct Timestamp: Hashable, Comparable, Sendable {
    public var microseconds: Int64

    public init(microseconds: Int64) {
        self.microseconds = microseconds
    }

    /// 0001-01-01T00:00:00Z: arithmetic goes no lower.
    public static let distantPast = Timestamp(microseconds: -62_135_596_800_000_000)
    /// 9999-12-31T23:59:59.999999Z: arithmetic goes no higher.
    public static let distantFuture = Timestamp(microseconds: 253_402_300_799_999_999)

    /// The same instant, or the end of the range it lies beyond: safe to calculate with.
    var clamped: Self { min(max(self, .distantPast), .distantFuture) }

    public static func < (left: Self, right: Self) -> Bool {
        left.microseconds < right.microseconds
    }

    /// Later by `span`; stays within `distantPast` and `distantFuture`.
    public static func + (date: Self, span: TimeSpan) -> Self {
        let (sum, overflow) = date.microseconds.addingReportingOverflow(span.microseconds)
        if overflow { return span.microseconds < 0 ? distantPast : distantFuture }
        return Self(microseconds: sum).clamped
    }

    /// Earlier by `span`; stays within `distantPast` and `distantFuture`.
    public static func - (date: Self, span: TimeSpan) -> Self {
        let (sum, overflow) = date.microseconds.subtractingReportingOverflow(span.microseconds)
        if overflow { return span.microseconds < 0 ? distantFuture : distantPast }
        return Self(microseconds: sum).clamped
    }

    /// From the right date to the left one; saturates if the difference does not fit.
    public static func - (left: Self, right: Self) -> TimeSpan {
        let (difference, overflow) =
            left.microseconds.subtractingReportingOverflow(right.microseconds)
        if overflow { return TimeSpan(microseconds: left < right ? .min : .max) }
        return TimeSpan(microseconds: difference)
    }

    public static func += (date: inout Self, span: TimeSpan) {
        date = date + span
    }

    public static func -= (date: inout Self, span: TimeSpan) {
        date = date - span
    }
}
