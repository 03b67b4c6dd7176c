// SPDX-License-Identifier: Apache-2.0

import Schedules

/// A generator that gives the same numbers in each run (Steele, Lea and Flood's SplitMix64).
struct SplitMix: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    /// A date from a day to a year after `now`: a job that does nothing but wait.
    mutating func waitingDate(after now: Timestamp) -> Timestamp {
        let day: Int64 = 86_400_000_000
        let distance = Int64.random(in: day..<365 * day, using: &self)
        return Timestamp(microseconds: now.microseconds + distance)
    }
}
