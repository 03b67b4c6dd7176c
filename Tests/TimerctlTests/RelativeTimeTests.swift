// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerWords

@testable import timerctl

@Suite("RelativeTime") struct RelativeTimeTests {
    @Test(
        "A distance is told in one unit, to the nearest",
        arguments: [
            (0.0, "now"), (0.000_4, "now"), (0.25, "in 250 ms"), (0.999_6, "in 1 s"),
            (4.998, "in 5 s"), (5, "in 5 s"), (90, "in 90 s"), (119.4, "in 119 s"),
            (119.6, "in 2 min"), (240, "in 4 min"), (269, "in 4 min"), (3600, "in 60 min"),
            (7199, "in 2 h"), (50_400, "in 14 h"), (172_800, "in 2 days"),
            (2_592_000, "in 30 days"), (63_115_200, "in 2 years"), (3_155_760_000, "in 100 years"),
            (-0.003, "3 ms ago"), (-3, "3 s ago"), (-240, "4 min ago"), (-86_400, "24 h ago"),
        ]
    )
    func distance(seconds: Double, words: String) {
        let date = testNow + TimeSpan(microseconds: Int64(seconds * 1e6))
        #expect(RelativeTime.words(from: testNow, to: date) == words)
    }

    @Test("The ends of time are some distance away, and no crash")
    func extremes() {
        let words = RelativeTime.words(from: .distantPast, to: .distantFuture)
        #expect(words == "in 9999 years")
        let far = Timestamp(microseconds: .max)
        #expect(RelativeTime.words(from: Timestamp(microseconds: .min), to: far).hasPrefix("in "))
    }

    @Test(
        "A length is told in two units at most",
        arguments: [
            (0.0, "0 ms"), (0.012, "12 ms"), (0.999_6, "1.0 s"), (1.2, "1.2 s"), (9.94, "9.9 s"),
            (9.96, "10 s"), (45, "45 s"), (59.7, "1 min"), (200, "3 min 20 s"), (180, "3 min"),
            (7500, "2 h 5 min"), (86_400, "1 day"), (190_800, "2 days 5 h"), (-3, "0 ms"),
        ]
    )
    func length(seconds: Double, words: String) {
        #expect(TimeSpan(microseconds: Int64(seconds * 1e6)).length == words)
    }
}
