// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

/// Dates that a clock found that was ahead, of which no row says so.
@Suite("Jobs of a clock that was ahead", .timeLimit(.minutes(2)))
struct ChangedAheadTests {
    private static let start = TestScheduler.start

    private static func step(_ test: TestScheduler, _ span: TimeSpan) async throws {
        test.clock.step(by: span)
        _ = await test.scheduler.clockStepped()
        try await test.settle()
    }

    /// Gives the job of that name another schedule.
    private static func replace(_ test: TestScheduler, _ name: String, _ cron: String) async throws
    {
        var definition = JobDefinition(schedule: ScheduleWords(cron: cron))
        definition.name = name
        let new = try NewJob(definition, owner: 0, at: test.clock.now(), zone: .utc)
        _ = try await test.scheduler.add([new], replace: true, caller: TestScheduler.root)
    }

    @Test(
        "A job that was added while the clock was ahead fires by the right time, also where another was added behind it by a clock that was lost"
    )
    func addedAheadThenLost() async throws {
        try await TestScheduler.with { test in
            try await Self.step(test, .seconds(86_400))
            let job = try await test.add(ScheduleWords(cron: "*/5 * * * *"))
            let lost = Timestamp(microseconds: 1_000_000_000) - test.clock.now().wall
            try await Self.step(test, lost)
            try await test.add(ScheduleWords(cron: "0 0 1 6 *"))
            try await Self.step(test, -lost - .seconds(86_400))
            try await test.advance(to: Self.start + .seconds(310))
            #expect(test.fired(job.id) == [300])
        }
    }

    @Test(
        "A job that got another schedule while the clock was ahead fires by the right time",
        arguments: [false, true]
    )
    func changedAhead(isDown: Bool) async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(cron: "0 0 1 6 *")) { $0.name = "a" }
            let paused = try await test.add(ScheduleWords(cron: "0 0 1 6 *")) { $0.name = "b" }
            try await Self.step(test, .seconds(86_400))
            for name in ["a", "b"] { try await Self.replace(test, name, "*/5 * * * *") }
            try await test.change(paused.id, .pause)
            if !isDown { try await Self.step(test, .seconds(-86_400)) }
            let after = try await test.crashedAndDown(for: .seconds(1)) {
                if isDown { $0.wall = $0.wall - .seconds(86_400) }
            }
            for job in [job, paused] {
                let date = try await after.job(job.id).fireDate
                #expect(date == Self.start + .seconds(300))
            }
            try await after.change(paused.id, .resume)
            try await after.advance(to: Self.start + .seconds(700))
            #expect(after.fired(job.id) == [300, 600])
            #expect(after.fired(paused.id) == [300, 600])
            try await after.close()
        }
    }

    @Test("So does one that was claimed by then", arguments: [false, true])
    func changedAheadAndClaimed(isDown: Bool) async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(cron: "0 0 1 6 *")) { $0.name = "a" }
            try await Self.step(test, .seconds(297))
            try await Self.replace(test, "a", "* * * * *")
            #expect(try await test.job(job.id).claim != nil)
            if !isDown { try await Self.step(test, .seconds(-297)) }
            let after = try await test.crashedAndDown(for: .seconds(1)) {
                if isDown { $0.wall = $0.wall - .seconds(297) }
            }
            try await after.advance(to: Self.start + .seconds(130))
            // What was claimed may have been told.
            #expect(after.fired(job.id) == (isDown ? [300, 60, 120] : [60, 120]))
            try await after.close()
        }
    }

    @Test("Of many jobs all follow, a piece at a time")
    func pieces() async throws {
        try await TestScheduler.with { test in
            try await Self.step(test, .seconds(86_400))
            let words = ScheduleWords(cron: "*/5 * * * *")
            let count = JobTransaction.clockPiece.looks + 2 * JobTransaction.clockPiece.jobs
            let jobs = try await test.add(Array(repeating: words, count: count), of: 70_002)
            let lost = Timestamp(microseconds: 1_000_000_000) - test.clock.now().wall
            try await Self.step(test, lost)
            try await test.add(ScheduleWords(cron: "0 0 1 6 *"))
            try await Self.step(test, -lost - .seconds(86_400))
            for _ in 0...count / JobTransaction.clockPiece.jobs { try await test.settle() }
            for job in [jobs[0], jobs[count / 2], jobs[count - 1]] {
                #expect(try await test.job(job.id).fireDate == Self.start + .seconds(300))
            }
        }
    }
}
