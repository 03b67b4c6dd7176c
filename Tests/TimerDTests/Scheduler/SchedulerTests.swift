// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

@Suite("Scheduler", .timeLimit(.minutes(2)))
struct SchedulerTests {
    @Test("A one-shot fires at its date, once, and is finished")
    func oneShot() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(in: "30s")) {
                $0.userInfo = JSONText(.object(["text": .string("stand up")]))
            }
            try await test.advance(by: .milliseconds(29_999))
            #expect(test.fired(job.id).isEmpty)
            try await test.advance(by: .seconds(3600))
            #expect(test.fired(job.id) == [30])
            let event = try #require(test.sink.all(.fireFired).first)
            #expect(event.userInfo == JSONText(.object(["text": .string("stand up")])))
            #expect(event.firedAt == event.fireDate)
            #expect(try await test.job(job.id).state == .finished)
            #expect(try await test.job(job.id).endReason == .once)
            #expect(try await test.history(job.id).map(\.state) == [.fired])
        }
    }

    @Test("A repeating job keeps its grid, however late each fire is")
    func grid() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "10s"))
            for _ in 0..<5 {
                test.stall(.milliseconds(1700))
                try await test.advance(by: .milliseconds(8300))
            }
            #expect(test.fired(job.id) == [10, 20, 30, 40, 50])
        }
    }

    @Test("A grid that starts at a date in the past fires at its next date")
    func gridFrom() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(
                ScheduleWords(every: "1h", from: "2026-12-01T07:30:00Z")
            )
            try await test.advance(by: .seconds(2 * 3600))
            #expect(test.fired(job.id) == [1800, 5400])
        }
    }

    @Test("A job ends after its number of fires, or after its last date")
    func ends() async throws {
        try await TestScheduler.with { test in
            let counted = try await test.add(ScheduleWords(every: "10s")) { $0.count = 3 }
            let dated = try await test.add(ScheduleWords(every: "10s")) {
                $0.until = "2026-12-01T08:00:25Z"
            }
            try await test.advance(by: .seconds(100))
            #expect(test.fired(counted.id) == [10, 20, 30])
            #expect(test.fired(dated.id) == [10, 20])
            #expect(try await test.job(counted.id).endReason == .count)
            #expect(try await test.job(dated.id).endReason == .until)
            #expect(test.sink.all(.jobFinished).map(\.reason) == ["until", "count"])
        }
    }

    @Test("After an invalidation has answered, no fire of the job begins")
    func invalidate() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "5s"))
            try await test.advance(by: .seconds(12))
            try await test.change(job.id, .invalidate)
            try await test.advance(by: .seconds(60))
            #expect(test.fired(job.id) == [5, 10])
            #expect(try await test.job(job.id).state == .invalidated)
            try await test.change(job.id, .invalidate)
            #expect(test.sink.all(.jobInvalidated).count == 1, "a second time changes nothing")
            #expect(test.loop.timerCount == 0)
        }
    }

    @Test("A new fire date moves a one-shot, and the whole grid of a repeating job")
    func setFireDate() async throws {
        try await TestScheduler.with { test in
            let once = try await test.add(ScheduleWords(in: "1h"))
            let every = try await test.add(ScheduleWords(every: "10s"))
            try await test.change(once.id, .setFireDate(TestScheduler.start + .seconds(7)))
            try await test.change(every.id, .setFireDate(TestScheduler.start + .seconds(3)))
            try await test.advance(by: .seconds(24))
            #expect(test.fired(once.id) == [7])
            #expect(test.fired(every.id) == [3, 13, 23])
            await #expect(throws: ControlError.self, "a finished job has no date to move") {
                try await test.change(once.id, .setFireDate(TestScheduler.start + .seconds(60)))
            }
        }
    }

    @Test("No date of a job fires twice, even when its grid is set back onto it")
    func dateFiresOnce() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "10s"))
            try await test.advance(by: .seconds(12))
            await #expect(throws: ControlError.self) {
                try await test.change(job.id, .setFireDate(TestScheduler.start + .seconds(10)))
            }
            try await test.change(job.id, .setFireDate(TestScheduler.start + .seconds(5)))
            try await test.advance(by: .seconds(20))
            #expect(test.fired(job.id) == [10, 5, 15, 25])
        }
    }

    @Test("A paused job does not fire; resumed, its missed dates follow the misfire policy")
    func pauseAndResume() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "10s"))
            try await test.change(job.id, .pause)
            try await test.advance(by: .seconds(35))
            #expect(test.fired(job.id).isEmpty)
            try await test.change(job.id, .resume)
            try await test.advance(by: .seconds(6))
            #expect(test.fired(job.id) == [30, 40])
            #expect(test.sink.all(.fireFired).map(\.missed) == [2, nil])
            let skipped = try #require(try await test.history(job.id).first)
            #expect(skipped.state == .skipped)
            #expect(skipped.reason == .paused)
            #expect(skipped.dates == 2)
        }
    }

    @Test("A job added as paused waits for its resumption")
    func addedPaused() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(in: "5s")) { $0.paused = true }
            try await test.advance(by: .seconds(3))
            #expect(test.loop.timerCount == 0)
            try await test.change(job.id, .resume)
            try await test.advance(by: .seconds(3))
            #expect(test.fired(job.id) == [5])
        }
    }

    @Test("Fired by hand, a repeating job keeps its schedule and a one-shot is finished")
    func byHand() async throws {
        try await TestScheduler.with(keeping: .all) { test in
            let every = try await test.add(ScheduleWords(every: "10s"))
            let once = try await test.add(ScheduleWords(in: "1h"))
            try await test.advance(by: .seconds(4))
            _ = try await test.scheduler.fire(.id(every.id), caller: TestScheduler.root)
            _ = try await test.scheduler.fire(.id(once.id), caller: TestScheduler.root)
            try await test.advance(by: .seconds(7200))
            #expect(test.fired(every.id).prefix(3) == [4, 10, 20])
            #expect(test.fired(once.id) == [4])
            #expect(try await test.history(every.id).first?.reason == .manual)
            #expect(test.sink.all(.fireFired).prefix(3).map(\.reason) == ["manual", "manual", nil])
            #expect(try await test.job(once.id).endReason == .fired)
            #expect(try await test.job(once.id).state == .finished)
            #expect(try await test.job(every.id).fires == 721)
        }
    }

    @Test("The name of a live job is taken; with replace, the new job is put in its place")
    func names() async throws {
        try await TestScheduler.with { test in
            let old = try await test.add(ScheduleWords(every: "10s")) { $0.name = "ping" }
            await #expect(throws: ControlError.self) {
                try await test.add(ScheduleWords(every: "10s")) { $0.name = "ping" }
            }
            var definition = JobDefinition(schedule: ScheduleWords(every: "7s"))
            definition.name = "ping"
            let job = try NewJob(definition, owner: 0, at: test.clock.now(), zone: .utc)
            let new = try await test.scheduler.add(
                [job],
                replace: true,
                caller: TestScheduler.root
            )[0]
            try await test.advance(by: .seconds(20))
            #expect(new.id == old.id)
            #expect(test.fired(old.id) == [7, 14])
        }
    }

    @Test("Several jobs are added all or none")
    func allOrNone() async throws {
        try await TestScheduler.with { test in
            var jobs: [NewJob] = []
            for name in ["a", "b", "a"] {
                var definition = JobDefinition(schedule: ScheduleWords(every: "10s"))
                definition.name = name
                jobs.append(
                    try NewJob(definition, owner: 0, at: test.clock.now(), zone: .utc)
                )
            }
            await #expect(throws: ControlError.self) {
                try await test.scheduler.add(jobs, replace: false, caller: TestScheduler.root)
            }
            try await test.advance(by: .seconds(30))
            #expect(test.sink.all.isEmpty)
            let live = try await test.store.reader.read { try Queries($0).liveJobs() }
            #expect(live.scheduled == 0)
        }
    }

    @Test("A change of a job that nobody has is refused and named")
    func unknown() async throws {
        try await TestScheduler.with { test in
            let error = await #expect(throws: ControlError.self) {
                try await test.change(JobID(rawValue: 42), .invalidate)
            }
            #expect(error?.reason == .notFound)
            #expect(error?.message.contains("42") == true)
        }
    }
}
