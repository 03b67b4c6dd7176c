// SPDX-License-Identifier: Apache-2.0

import Cluster
import Testing

@Suite("How far a node's clock is from the database's")
struct ClockDistanceTests {
    @Test("A clock that is off is told once, and once more when it is right again")
    func once() {
        var distance = ClockDistance()
        #expect(distance.compare(99_000, roundTrip: 0) == nil)
        #expect(distance.compare(60_000_000, roundTrip: 0) == .isOff(60_000_000))
        #expect(distance.compare(60_000_100, roundTrip: 0) == nil)
        // Near the limit it is neither right again nor anew off.
        #expect(distance.compare(99_000, roundTrip: 0) == nil)
        #expect(distance.compare(101_000, roundTrip: 0) == nil)
        #expect(distance.compare(-3000, roundTrip: 0) == .isRightAgain)
        #expect(distance.compare(-3000, roundTrip: 0) == nil)
        #expect(distance.compare(-101_000, roundTrip: 0) == .isOff(-101_000))
    }

    @Test("What has doubled, or changed sides, is told again")
    func changes() {
        var distance = ClockDistance()
        #expect(distance.compare(-60_000_000, roundTrip: 0) == .isOff(-60_000_000))
        #expect(distance.compare(-110_000_000, roundTrip: 0) == nil)
        #expect(distance.compare(-130_000_000, roundTrip: 0) == .isOff(-130_000_000))
        #expect(distance.compare(30_000_000, roundTrip: 0) == .isOff(30_000_000))
    }

    @Test("An answer that was long under way tells nothing that it cannot know")
    func slow() {
        var distance = ClockDistance()
        #expect(distance.compare(400_000, roundTrip: 800_000) == nil)
        #expect(distance.compare(600_000, roundTrip: 800_000) == .isOff(200_000))
        #expect(distance.compare(1000, roundTrip: 800_000) == nil)
        #expect(distance.compare(1000, roundTrip: 1000) == .isRightAgain)
    }

    @Test(
        "A clock is as far off as its comparisons prove, and no further",
        arguments: [
            // One that is right, and a slow answer: later, at once, and to both sides.
            ([(0, 200), (750_000, 1_500_000)], 0),
            ([(-750_000, 1_500_000)], 0),
            ([(50, 400), (-300_000, 600_000), (400_000, 1_000_000)], 0),
            // One that is off.
            ([(60_000_000, 0), (60_400_000, 800_000)], 60_000_000),
            ([(60_000_000, 0), (59_700_000, 800_000)], 60_000_000),
            ([(60_400_000, 800_000)], 60_000_000),
            ([(-60_400_000, 800_000), (-61_000_000, 0)], -61_000_000),
            // One that is set meanwhile: a slow answer proves a part of it.
            ([(0, 200), (1_000_000, 800_000)], 600_000),
            ([(0, 200), (1_000_000, 800_000), (1_100_000, 0)], 1_100_000),
            ([(60_000_000, 0), (0, 200)], 100),
        ] as [([(Int64, Int64)], Int64)]
    )
    func proven(comparisons: [(Int64, Int64)], difference: Int64) {
        var distance = ClockDistance()
        for (measured, roundTrip) in comparisons {
            _ = distance.compare(measured, roundTrip: roundTrip)
        }
        #expect(distance.difference == difference)
    }

    @Test(
        "No answer leads away from the truth, wherever on its way the time went",
        arguments: [-60_000_000, -5000, 0, 5000, 60_000_000] as [Int64]
    )
    func neverWorse(truth: Int64) {
        var distance = ClockDistance()
        for roundTrip in [2_000_000, 40_000, 2_000_000, 200, 2_000_000] as [Int64] {
            for tenths in 0...10 as ClosedRange<Int64> {
                let former = abs(distance.difference - truth)
                let wayThere = roundTrip / 10 * tenths
                _ = distance.compare(truth + roundTrip / 2 - wayThere, roundTrip: roundTrip)
                #expect(abs(distance.difference - truth) <= former)
            }
        }
    }
}
