// SPDX-License-Identifier: Apache-2.0

/// How far this node's wall clock is from the database's, as far as that is beyond doubt.
package struct ClockDistance: Sendable {
    package enum News: Sendable, Equatable {
        /// By how much it is ahead of the database's, in µs; negative where it is behind.
        case isOff(Int64)
        case isRightAgain
    }

    /// By how much it is ahead of the database's, in µs; negative where it is behind.
    ///
    /// A clock counts as right until a comparison proves that it is not.
    package private(set) var difference: Int64 = 0
    /// The distance that is told, in µs: from there on a node that takes over fires at other times.
    private let limit: Int64
    /// What was told last; nil for nothing, or that it is right again.
    private var told: Int64?

    package init(limit: Int64 = 100_000) { self.limit = limit }

    /// Takes in a comparison whose answer was under way for `roundTrip`, so that it is wrong by half of that at most.
    ///
    /// The difference moves just as far as the comparison proves. The truth lies within that error, so a slow answer never
    /// leads away from it.
    ///
    /// - Returns: what is new. A distance that was told is told again once it has doubled, or changed sides.
    package mutating func compare(_ measured: Int64, roundTrip: Int64) -> News? {
        let error = roundTrip / 2
        difference = min(max(difference, measured - error), measured + error)
        if let told {
            // Well within, so that one at the limit is not told of each time.
            if abs(measured) + error < limit / 2 {
                self.told = nil
                return .isRightAgain
            }
            guard abs(difference - told) > abs(told) else { return nil }
        }
        guard abs(difference) >= limit else { return nil }
        told = difference
        return .isOff(difference)
    }
}
