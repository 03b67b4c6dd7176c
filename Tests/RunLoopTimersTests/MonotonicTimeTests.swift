// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import RunLoopTimers

@Suite("MonotonicTime")
struct MonotonicTimeTests {
    @Test(
        "Seconds become nanoseconds, at most a century either way",
        arguments: [
            (0, 0), (1.5, 1_500_000_000), (-0.1, -100_000_000), (1e-9, 1), (1e300, Int64.century),
            (-1e300, -Int64.century), (.infinity, .century), (-.infinity, -.century),
            (.nan, .century),
        ] as [(Double, Int64)]
    )
    func seconds(seconds: Double, nanoseconds: Int64) {
        #expect(Int64(nanosecondsIn: seconds) == nanoseconds)
    }

    @Test(
        "A date there and back is the same to a millisecond",
        arguments: [-1e6, -0.5, 0, 0.5, 1e6]
    )
    func thereAndBack(distance: Double) {
        let date = Date() + distance
        let back = MonotonicTime(date).date
        #expect(abs(back.timeIntervalSince(date)) < 1e-3)
    }

    @Test("Clocks between whose readings the thread lost the processor are read once more")
    func apart() {
        // In milliseconds: each time the monotonic clock before and after the wall clock.
        var monotonic: [Int64] = [0, 50, 60, 90, 100, 100]
        var wall = [1.0, 2.0, 3.0]
        let pair = ClockPair.read(
            wall: { Date(timeIntervalSince1970: wall.removeFirst()) },
            monotonic: { MonotonicTime(nanoseconds: monotonic.removeFirst() * 1_000_000) }
        )
        #expect(pair.wall == Date(timeIntervalSince1970: 3))
        #expect(pair.before == pair.after && pair.after.nanoseconds == 100_000_000)
    }

    @Test("Clocks that are apart each time are not read for ever")
    func alwaysApart() {
        var reads: Int64 = 0
        let pair = ClockPair.read(monotonic: {
            reads += 1
            return MonotonicTime(nanoseconds: reads * 1_000_000)
        })
        #expect(reads == 16)
        #expect(pair.after.nanoseconds == 16_000_000)
    }
}
