// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing

@testable import JobModel

@Suite("The dates of a row") struct TakenDatesTests {
    @Test("A last date before the first, of a damaged row, is the first, and none lies between")
    func damaged() throws {
        let job = try StoredJob.sample()
        let dates = TakenDates(first: .start(10), last: .start(5))
        #expect(dates.last == dates.first)
        #expect(dates.contains(.start(10), of: job))
        #expect(!dates.contains(.start(7), of: job) && !dates.contains(.start(5), of: job))
    }

    @Test("A date that the schedule does not have is in no range but as its first, moved or not")
    func offSchedule() throws {
        var job = try StoredJob.sample(ScheduleWords(cron: "* * * * *"))
        let dates = TakenDates(first: .start(30), last: .start(180))
        for from in [nil, Timestamp.start(240)] {
            (job.fireDate, job.movedFrom) = (.start(90), from)
            #expect(!dates.contains(.start(90), of: job))
            #expect(dates.contains(.start(30), of: job) && dates.contains(.start(120), of: job))
        }
    }

    @Test("A fire that was moved to a date within them is none of them, though the schedule has it")
    func movedInto() throws {
        var job = try StoredJob.sample(ScheduleWords(cron: "* * * * *"))
        (job.fireDate, job.movedFrom) = (.start(120), .start(240))
        let dates = TakenDates(first: .start(60), last: .start(180))
        #expect(!dates.contains(.start(120), of: job))
        #expect(dates.contains(.start(180), of: job) && !dates.contains(.start(240), of: job))
    }

    @Test("Dates of a grid that was moved since are none of them, and none of those behind them")
    func otherGrid() throws {
        let job = try StoredJob.sample()
        let dates = TakenDates(first: .start(10), last: .start(50))
        #expect(dates.contains(.start(30), of: job))
        #expect(!dates.contains(.start(35), of: job) && !dates.contains(.start(60), of: job))
    }
}
