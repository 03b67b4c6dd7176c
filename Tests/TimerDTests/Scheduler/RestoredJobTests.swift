// SPDX-License-Identifier: Apache-2.0

import Glibc
import Schedules
import Testing
import TimerControl

@testable import TimerD

/// What an undo makes of a job, and of its dates: what it would have been had the job lived.
@Suite("A job that is brought back", .timeLimit(.minutes(2)))
struct RestoredJobTests {
    private static func restore(_ test: TestScheduler, _ job: JobID) async throws {
        _ = try await test.scheduler.restore(.ids([job]), caller: TestScheduler.root)
    }

    /// Each row with its dates, in seconds after the start, oldest date first.
    private static func story(_ test: TestScheduler, _ job: JobID) async throws -> [String] {
        try await test.history(job).sorted { $0.fireDate < $1.fireDate }.map { run in
            let first = (run.fireDate - TestScheduler.start).microseconds / 1_000_000
            return "\(run.reason?.rawValue ?? "\(run.state)") \(first) x\(run.dates ?? 1)"
        }
    }

    @Test("A job that ends with a process or a connection does not come back")
    func tied() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "1h")) { $0.whilePid = getpid() }.id
            try await test.change(job, .invalidate)
            let refused = await test.refusal(.restoreJobs(.ids([job])), as: 0)
            #expect(
                refused?.message
                    == "job \(job) ends with a process or a connection, which cannot be undone"
            )
            #expect(try await test.job(job).state == .invalidated)
        }
    }

    @Test(
        "A local time that has fired does not come once more with a zone's other rules",
        arguments: ["Europe/Helsinki", "Europe/London"],
        [true, false]
    )
    func zoneOfFired(other: String, isPaused: Bool) async throws {
        let zones = TestZones()
        try await TestScheduler.with(zones: zones) { test in
            // 09:00 of Berlin, at the start, is 10:00 of Helsinki and 08:00 of London.
            let words = ScheduleWords(cron: "5 0 9 * * *", tz: "Europe/Berlin")
            let job = try await test.add(words).id
            try await test.advance(by: .seconds(60))
            if isPaused { try await test.change(job, .pause) }
            try await test.change(job, .invalidate)
            try zones.set("Europe/Berlin", as: other)
            await test.scheduler.reload(test.scheduler.settings)
            try await test.settle()
            try await Self.restore(test, job)
            if isPaused { try await test.change(job, .resume) }
            try await test.advance(by: .seconds(90_060))
            let isLater = other == "Europe/London"
            let next: Int64 = 86_405 + (isLater ? 3600 : -3600)
            #expect(test.fired(job) == [5, next])
            let over = isLater ? ["zoneChanged 3605 x1"] : []
            let story = try await Self.story(test, job)
            #expect(story == ["fired 5 x1"] + over + ["fired \(next) x1"])
        }
    }

    @Test("Ended for longer than a day, a job goes by the rules of its zone as others do")
    func endedForLong() async throws {
        let zones = TestZones()
        try await TestScheduler.with(zones: zones) { test in
            let words = ScheduleWords(cron: "5 0 9 * * *", tz: "Europe/Berlin")
            let job = try await test.add(words).id
            let before = try await test.job(job).rules
            try await test.change(job, .invalidate)
            try zones.set("Europe/Berlin", as: "Europe/London")
            await test.scheduler.reload(test.scheduler.settings)
            #expect(try await test.job(job).rules == before, "as long as it can be brought back")
            try await test.advance(by: .seconds(86_401))
            await test.scheduler.reload(test.scheduler.settings)
            #expect(try await test.job(job).rules != before)
        }
    }

    @Test(
        "It counts by its state, and as held if it is",
        arguments: [true, false]
    )
    func broughtBack(isHeld: Bool) async throws {
        try await TestScheduler.with { test in
            test.runner.isHolding = true
            let id = try await test.add(ScheduleWords(every: "1h"), command: ["x"]).id
            try await test.advance(by: .seconds(3601))
            try await test.change(id, .invalidate)
            let damage = "UPDATE fires SET waits_for = 'moon' WHERE job_id = ?1"
            if isHeld { try await HeldJobsTests.change(test, damage, id) }
            let after = try await test.crashed()
            func live() async throws -> [Int] {
                let jobs = try await after.store.reader.read { try Queries($0).liveJobs() }
                return [jobs.scheduled, jobs.paused, jobs.held]
            }
            #expect(try await live() == [0, 0, 0])
            _ = try await after.jobs(.restoreJobs(.ids([id])))
            #expect(try await live() == [1, 0, isHeld ? 1 : 0])
            after.runner.end()
            try await after.close()
            test.runner.end()
        }
    }

    @Test("A job that has finished since it was brought back is none that its user has ended")
    func finishedSince() async throws {
        try await TestScheduler.with { test in
            let ended = try await test.add(ScheduleWords(every: "1h")).id
            let back = try await test.add(ScheduleWords(in: "30s")).id
            for job in [ended, back] {
                try await test.change(job, .invalidate)
                try await test.advance(by: .seconds(1))
            }
            try await Self.restore(test, back)
            try await test.advance(by: .seconds(60))
            #expect(try await test.job(back).state == .finished)
            #expect(try await test.jobs(.restoreJobs(nil)).map(\.id) == [ended])
        }
    }

    @Test("Without a job it is what was ended last, also where that was by a clock that was ahead")
    func lastByClocks() async throws {
        try await TestScheduler.with { test in
            let first = try await test.add(ScheduleWords(every: "1h")).id
            let ahead = try await test.add(ScheduleWords(every: "1h")).id
            let last = try await test.add(ScheduleWords(every: "1h")).id
            for (job, step) in [(first, 3600), (ahead, -3600), (last, 0)] as [(JobID, Int64)] {
                try await test.advance(by: .seconds(1))
                try await test.change(job, .invalidate)
                try await test.settle()
                test.clock.step(by: .seconds(step))
                _ = await test.scheduler.clockStepped()
            }
            for job in [last, ahead, first] {
                #expect(try await test.jobs(.restoreJobs(nil)).map(\.id) == [job])
            }
        }
    }
}
