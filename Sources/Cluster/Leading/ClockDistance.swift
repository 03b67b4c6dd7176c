// SPDX-License-Identifier: Apache-2.0

/// Whether this node's wall clock is far from the database's, told when that changes.
package struct ClockDistance: Sendable {
    package enum News: Sendable, Equatable {
        /// By how much it is ahead of the database's, in µs; negative where it is behind.
        case isOff(Int64)
        case isRightAgain
    }

    /// The distance that is told, in µs: from there on a node that takes over fires at other times.
    private let limit: Int64
    /// What was told last; nil for nothing, or that it is right again.
    private var told: Int64?

    package init(limit: Int64 = 100_000) { self.limit = limit }

    /// Takes in a comparison whose answer was under way for `roundTrip`, so that it is wrong by half of that at most.
    ///
    /// - Returns: what is new. A distance that was told is told again once it has doubled, or changed sides.
    package mutating func compare(_ difference: Int64, roundTrip: Int64) -> News? {
        let (distance, error) = (abs(difference), roundTrip / 2)
        if let told {
            // Well within, so that one at the limit is not told of each time.
            if distance + error < limit / 2 {
                self.told = nil
                return .isRightAgain
            }
            guard abs(difference - told) - error > abs(told) else { return nil }
        }
        guard distance - error >= limit else { return nil }
        told = difference
        return .isOff(difference)
    }
}
