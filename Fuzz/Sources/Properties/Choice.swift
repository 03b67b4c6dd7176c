// SPDX-License-Identifier: Apache-2.0

import Schedules

/// Decisions that an input makes: where a stream is cut, which zone and dates words are read with.
///
/// They come from a hash of the input (FNV-1a, then SplitMix64), so that the input itself stays the text that is
/// read, and the same input is the same test everywhere.
struct Choice: RandomNumberGenerator {
    private var state: UInt64

    init(of input: [UInt8]) {
        state = input.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = state
        value = (value ^ value >> 30) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ value >> 27) &* 0x94d0_49bb_1331_11eb
        return value ^ value >> 31
    }

    mutating func number(in range: ClosedRange<Int>) -> Int { .random(in: range, using: &self) }

    /// A date: mostly of the years that have daylight saving, sometimes near the ends of time.
    mutating func date() -> Timestamp {
        let day: Int64 = 86_400_000_000
        switch number(in: 0...9) {
        case 0: return .distantPast + TimeSpan(microseconds: .random(in: 0...day, using: &self))
        case 1: return .distantFuture - TimeSpan(microseconds: .random(in: 0...day, using: &self))
        case 2: return Timestamp(microseconds: .random(in: -day...day, using: &self))
        // Whole hours: those of the changes are among them.
        case 3...5:
            return Timestamp(
                microseconds: .random(in: 0...1_100_000, using: &self) * 3_600_000_000
            )
        default: return Timestamp(microseconds: .random(in: 0...60_000 * day, using: &self))
        }
    }

    /// UTC, or one of the zones that have been most awkward.
    mutating func zone() -> Zone { Self.zones[number(in: 0...(Self.zones.count - 1))] }

    private static let zones: [Zone] =
        [.utc]
        + [
            "Europe/Berlin", "Australia/Lord_Howe", "America/Santiago", "Pacific/Apia",
            "Africa/Casablanca", "America/St_Johns", "Asia/Gaza",
        ].compactMap {
            // try?: a machine without the zone database fuzzes in UTC.
            try? Zone(named: $0)
        }
}
