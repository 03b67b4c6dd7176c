// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

/// Dates that had come and not fired as their job ended, and what an undo makes of them.
@Suite("Dates that had come when their job ended", .timeLimit(.minutes(1)))
struct UnfiredDatesTests {
    private func endAndUndo(_ test: TestScheduler, _ job: JobID) async throws {
        try await test.change(job, .invalidate)
        _ = try await test.scheduler.restore(.ids([job]), caller: TestScheduler.root)
    }

    @Test("A date that is put off by jitter fires when it would have")
    func putOff() async throws {
        try await TestScheduler.with { test in
            let once = try await test.add(ScheduleWords(in: "1s")) { $0.jitter = "10h" }
            let every = try await test.add(ScheduleWords(every: "1h")) { $0.jitter = "30min" }
            for (job, date) in [(once, 1), (every, 3600)] as [(StoredJob, Int64)] {
                let come = TestScheduler.start + .seconds(date + 1)
                #expect(try #require(job.dueDate) > come)
                try await test.advance(to: come)
                try await endAndUndo(test, job.id)
            }
            try await test.advance(by: .seconds(36_000))
            #expect(test.fired(once.id) == [1])
            #expect(test.fired(every.id).first == 3600)
        }
    }

    @Test("Dates that were still to be made up for are, and none fires twice")
    func backlog() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "10s")) { $0.misfire = .all }
            try await test.advance(by: .seconds(11))
            test.stall(.seconds(49))
            try await endAndUndo(test, job.id)
            try await test.advance(by: .seconds(1))
            #expect(test.fired(job.id) == [10, 20, 30, 40, 50, 60])
        }
    }

    @Test("A job that was ended in a maintenance makes up for its dates once that is over")
    func maintenance() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "10s")) { $0.misfire = .all }
            try await test.jobs(.beginMaintenance(nil))
            try await test.advance(by: .seconds(35))
            try await test.change(job.id, .invalidate)
            try await test.jobs(.endMaintenance(nil))
            _ = try await test.scheduler.restore(.ids([job.id]), caller: TestScheduler.root)
            try await test.advance(by: .seconds(1))
            #expect(test.fired(job.id) == [10, 20, 30])
        }
    }

    @Test("A fire that was moved alone, and had come, is where it was put")
    func movedAlone() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(cron: "* * * * *"))
            try await test.change(job.id, .setFireDate(TestScheduler.start + .seconds(30)))
            test.stall(.seconds(70))
            try await endAndUndo(test, job.id)
            try await test.advance(by: .seconds(51))
            let story = try await SchedulerDatesTests.story(test.history(job.id))
            #expect(story == ["fire 30", "moved 60", "fire 120"])
        }
    }

    @Test("A fire by hand that is the last by count leaves what a pause has passed with its reason")
    func countByHand() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "10s")) { $0.count = 1 }
            try await test.change(job.id, .pause)
            try await test.advance(by: .seconds(35))
            _ = try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
            #expect(try await test.job(job.id).endReason == .count)
            let story = try await SchedulerDatesTests.story(test.history(job.id))
            #expect(story == ["paused 10-30 x3", "fire 35"])
        }
    }
}
