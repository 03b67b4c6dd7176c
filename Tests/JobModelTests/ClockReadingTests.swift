// SPDX-License-Identifier: Apache-2.0

import JobModel
import Schedules
import Testing

@Suite("ClockReading") struct ClockReadingTests {
    @Test(
        "Each clock has its reading, and a date of it one of the wall clock, there and back",
        arguments: [-3600, 0, 7200] as [Int64]
    )
    func clocks(wallOffset: Int64) {
        let moment = ClockReading(elapsed: .start(100), wallOffset: .seconds(wallOffset))
        #expect(moment.wall == .start(Double(100 + wallOffset)))
        #expect(moment.reading(of: .wall) == .start(Double(100 + wallOffset)))
        #expect(moment.reading(of: .elapsed) == .start(100))
        let date = Timestamp.start(130)
        #expect(moment.wallDate(date, on: .wall) == date)
        #expect(moment.wallDate(date, on: .elapsed) == .start(Double(130 + wallOffset)))
        #expect(moment.date(ofWall: date, on: .wall) == date)
        #expect(moment.date(ofWall: date, on: .elapsed) == .start(Double(130 - wallOffset)))
        for clock in [ScheduleClock.wall, .elapsed] {
            #expect(moment.date(ofWall: moment.wallDate(date, on: clock), on: clock) == date)
        }
    }
}
