// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

extension Timestamp {
    /// The µs from 1970 to 2001, from where Foundation counts.
    private static let referenceDate: Int64 = 978_307_200_000_000

    /// The instant of a Foundation date, to the nearest µs.
    ///
    /// A date out of range, or not a number, becomes the end of the range.
    public init(_ date: Date) {
        let microseconds = (date.timeIntervalSinceReferenceDate * 1e6).rounded()
        let limit = Double(Self.distantFuture.microseconds)
        if microseconds >= limit {
            self = .distantFuture
        } else if microseconds > -limit {
            let sum = Int64(microseconds) + Self.referenceDate
            self = Self(microseconds: sum).clamped
        } else {
            self = .distantPast
        }
    }

    /// The same instant for Foundation; exact to the µs within some thousand years of 2001.
    public var date: Date {
        Date(timeIntervalSinceReferenceDate: Double(microseconds - Self.referenceDate) / 1e6)
    }
}
