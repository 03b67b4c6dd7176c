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
}
