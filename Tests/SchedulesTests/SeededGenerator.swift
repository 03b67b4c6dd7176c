// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing

/// Random numbers that are the same in every run: SplitMix64 from a fixed seed.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = state
        value = (value ^ value >> 30) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ value >> 27) &* 0x94d0_49bb_1331_11eb
        return value ^ value >> 31
    }

    mutating func isTrue(_ chance: Double) -> Bool {
        Double.random(in: 0..<1, using: &self) < chance
    }
}

/// The instant of an RFC 3339 text; the test fails where there is none.
func instant(_ text: String) throws -> Timestamp {
    try #require(Timestamp(rfc3339: text), "no date: \(text)")
}

/// The next dates of a schedule, at most `count`.
func nextDates(_ schedule: Schedule, after date: Timestamp, count: Int) -> [Timestamp] {
    var dates: [Timestamp] = []
    var last = date
    while dates.count < count, let next = schedule.nextFireDate(after: last) {
        dates.append(next)
        last = next
    }
    return dates
}
