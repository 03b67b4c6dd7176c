// SPDX-License-Identifier: Apache-2.0

import Cluster
import Testing

@Suite("How far a node's clock is from the database's")
struct ClockDistanceTests {
    @Test("A clock that is off is told once, and once more when it is right again")
    func once() {
        var distance = ClockDistance()
        #expect(distance.compare(99_000, roundTrip: 200) == nil)
        #expect(distance.compare(60_000_000, roundTrip: 200) == .isOff(60_000_000))
        #expect(distance.compare(60_000_100, roundTrip: 200) == nil)
        // Near the limit it is neither right again nor anew off.
        #expect(distance.compare(99_000, roundTrip: 200) == nil)
        #expect(distance.compare(101_000, roundTrip: 200) == nil)
        #expect(distance.compare(-3000, roundTrip: 200) == .isRightAgain)
        #expect(distance.compare(-3000, roundTrip: 200) == nil)
        #expect(distance.compare(-101_000, roundTrip: 200) == .isOff(-101_000))
    }

    @Test("What has doubled, or changed sides, is told again")
    func changes() {
        var distance = ClockDistance()
        #expect(distance.compare(-60_000_000, roundTrip: 200) == .isOff(-60_000_000))
        #expect(distance.compare(-110_000_000, roundTrip: 200) == nil)
        #expect(distance.compare(-130_000_000, roundTrip: 200) == .isOff(-130_000_000))
        #expect(distance.compare(30_000_000, roundTrip: 200) == .isOff(30_000_000))
    }

    @Test("An answer that was long under way tells nothing that it cannot know")
    func slow() {
        var distance = ClockDistance()
        #expect(distance.compare(400_000, roundTrip: 800_000) == nil)
        #expect(distance.compare(600_000, roundTrip: 800_000) == .isOff(600_000))
        #expect(distance.compare(1000, roundTrip: 800_000) == nil)
        #expect(distance.compare(1000, roundTrip: 1000) == .isRightAgain)
    }
}
