// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

@Suite("A clock that is set back", .timeLimit(.minutes(2)))
struct ClockBackTests {
    private static let start = TestScheduler.start

    /// Each row with its dates, in seconds after the start, oldest date first.
    private static func story(_ runs: [Run]) -> [String] {
        runs.sorted { $0.fireDate < $1.fireDate }.map { run in
            let first = (run.fireDate - start).microseconds / 1_000_000
            return "\(run.reason?.rawValue ?? "fire") \(first) x\(run.dates ?? 1)"
        }
    }

    private static func step(_ test: TestScheduler, _ span: TimeSpan) async throws {
        test.clock.step(by: span)
        _ = await test.scheduler.clockStepped()
        try await test.settle()
    }

    @Test("Dates that fired ahead are in no row of dates that are missed later")
    func firedAheadThenMissed() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(cron: "*/1 * * * *"))
            try await Self.step(test, .seconds(290))
            try await test.advance(by: .seconds(12))
            try await Self.step(test, .seconds(-290))
            test.stall(.seconds(590))
            try await test.advance(by: .seconds(1))
            #expect(
                try await Self.story(test.history(job.id)) == [
                    "coalesced 60 x3", "fire 240 x1", "fire 300 x1", "coalesced 360 x4",
                    "fire 600 x1",
                ]
            )
            // 60 to 180 and 360 to 540; the first three were missed by the clock that was ahead, too.
            #expect(try await test.history(job.id).compactMap(\.missed) == [3, 7])
        }
    }

    @Test("Where the latest missed date has fired ahead, the one before it fires")
    func latestFiredAhead() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(cron: "*/1 * * * *"))
            try await Self.step(test, .seconds(290))
            try await test.advance(by: .seconds(12))
            try await Self.step(test, .seconds(-302))
            test.stall(.seconds(330))
            try await test.advance(by: .seconds(1))
            #expect(
                try await Self.story(test.history(job.id)) == [
                    "coalesced 60 x2", "fire 180 x1", "fire 240 x1", "fire 300 x1",
                ]
            )
        }
    }

    @Test("Dates that a user dropped ahead stay dropped, and those before them fire")
    func droppedAhead() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(cron: "*/1 * * * *"))
            try await Self.step(test, .seconds(130))
            try await test.advance(by: .seconds(1))
            try await test.change(job.id, .skip(2))
            try await Self.step(test, .seconds(-131))
            try await test.advance(by: .seconds(310))
            #expect(test.fired(job.id) == [120, 60, 300])
        }
    }

    @Test("A job with a moved fire keeps the rows of dates that were missed ahead")
    func movedAndBack() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(cron: "*/1 * * * *"))
            test.stall(.seconds(310))
            try await test.advance(by: .seconds(1))
            try await test.change(job.id, .setFireDate(Self.start + .seconds(500)))
            try await Self.step(test, .seconds(-200))
            try await test.advance(by: .seconds(450))
            #expect(
                try await Self.story(test.history(job.id)) == [
                    "coalesced 60 x4", "fire 300 x1", "moved 360 x3", "fire 500 x1", "fire 540 x1",
                ]
            )
        }
    }

    @Test("A job that was added while the clock was ahead fires by the right time")
    func addedAhead() async throws {
        try await TestScheduler.with { test in
            try await Self.step(test, .seconds(30 * 86_400))
            let job = try await test.add(ScheduleWords(cron: "*/1 * * * *"))
            try await Self.step(test, .seconds(-30 * 86_400))
            try await test.advance(by: .seconds(130))
            #expect(test.fired(job.id) == [60, 120])
        }
    }

    @Test("A job that was held while the clock was set back goes on by the right time")
    func heldMeanwhile() async throws {
        let zones = TestZones()
        try await TestScheduler.with(zones: zones) { test in
            let job = try await test.add(ScheduleWords(cron: "*/1 * * * *", tz: "Europe/Berlin"))
            try await Self.step(test, .seconds(30 * 86_400))
            try await test.advance(by: .seconds(130))
            zones.remove("Europe/Berlin")
            await test.scheduler.reload(test.scheduler.settings)
            #expect(try await test.job(job.id).held != nil)
            try await Self.step(test, .seconds(-30 * 86_400))
            zones.restore("Europe/Berlin")
            while test.sink.all(.jobReleased).isEmpty {
                try await test.advance(by: .seconds(60))
            }
            let next = try #require(try await test.job(job.id).fireDate)
            #expect(next - test.clock.now().wall <= .seconds(60))
            let before = test.fired(job.id).count
            try await test.advance(by: .seconds(180))
            #expect(test.fired(job.id).count == before + 3)
        }
    }

    @Test("A clock that is set back by mistake, and put right again, frees no key early")
    func keyThere() async throws {
        try await TestScheduler.with { test in
            func add() async throws -> StoredJob {
                try await test.add(ScheduleWords(in: "1s")) {
                    $0.key = "payment"
                    $0.keyKept = "1h"
                }
            }
            let job = try await add()
            try await test.advance(by: .seconds(2))
            let end = try #require(try await test.job(job.id).endedAt)
            try await Self.step(test, .seconds(-30 * 86_400))
            #expect(try await add().id == job.id)
            try await Self.step(test, .seconds(30 * 86_400))
            #expect(try await add().id == job.id)
            #expect(try await test.job(job.id).endedAt == end)
            try await test.advance(by: .seconds(3601))
            #expect(try await add().id != job.id)
        }
    }

    @Test("Moved into dates that were dropped, a fire happens there", arguments: [nil, "10s"])
    func movedIntoDropped(every: String?) async throws {
        try await TestScheduler.with { test in
            let words = ScheduleWords(every: every, cron: every == nil ? "*/1 * * * *" : nil)
            let job = try await test.add(words)
            try await test.change(job.id, .skip(5))
            let date: Int64 = every == nil ? 95 : 35
            try await test.change(job.id, .setFireDate(Self.start + .seconds(date)))
            try await test.advance(by: .seconds(date + 15))
            #expect(test.fired(job.id) == (every == nil ? [95] : [35, 45]))
        }
    }

    @Test("A fire that was moved in between dropped dates does not bring those behind it back")
    func droppedAroundMoved() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(cron: "*/1 * * * *"))
            try await test.change(job.id, .skip(3))
            try await test.change(job.id, .setFireDate(Self.start + .seconds(95)))
            try await Self.step(test, .seconds(200))
            try await test.advance(by: .seconds(1))
            #expect(test.fired(job.id) == [95])
            try await Self.step(test, .seconds(-200))
            try await test.advance(by: .seconds(310))
            #expect(test.fired(job.id) == [95, 300])
        }
    }

    @Test("A moved fire that was missed ahead stays moved, however often the clock is set back")
    func movedAndBackTwice() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(cron: "*/1 * * * *"))
            try await test.change(job.id, .setFireDate(Self.start + .seconds(150)))
            try await Self.step(test, .seconds(290))
            try await test.advance(by: .seconds(1))
            try await Self.step(test, .seconds(-291))
            try await Self.step(test, .seconds(-30))
            try await test.advance(by: .seconds(400))
            #expect(test.fired(job.id) == [240, 150, 180, 300, 360])
            #expect(
                try await Self.story(test.history(job.id)) == [
                    "moved 60 x2", "fire 150 x1", "fire 180 x1", "fire 240 x1", "fire 300 x1",
                    "fire 360 x1",
                ]
            )
        }
    }

    @Test("Set ahead and back before anybody noticed, the clock takes no date with it")
    func aheadAndBackAtOnce() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(cron: "*/1 * * * *"))
            test.clock.step(by: .seconds(290))
            try await test.change(job.id, .pause)
            try await test.change(job.id, .resume)
            #expect(try await Self.story(test.history(job.id)) == ["paused 60 x3"])
            try await Self.step(test, .seconds(-290))
            try await test.advance(by: .seconds(310))
            #expect(test.fired(job.id) == [60, 120, 180, 240, 300])
        }
    }

    @Test("Of dates that pass behind ones that were dropped, each is in one row")
    func passedBehindDropped() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(cron: "*/1 * * * *")) {
                $0.misfireWindow = "100s"
            }
            try await Self.step(test, .seconds(130))
            try await test.advance(by: .seconds(1))
            try await test.change(job.id, .skip(2))
            try await Self.step(test, .seconds(-130))
            try await test.change(job.id, .pause)
            test.stall(.seconds(310))
            try await test.change(job.id, .resume)
            try await test.advance(by: .seconds(1))
            #expect(
                try await Self.story(test.history(job.id)) == [
                    "misfireWindow 60 x1", "fire 120 x1", "skip 180 x2", "fire 300 x1",
                ]
            )
        }
    }

    @Test(
        "What a start of the machine made due is not put off by a clock that is set back",
        .ofOneHost()
    )
    func bootBeforeClockBack() async throws {
        try await TestScheduler.with { test in
            let due = try await test.add(ScheduleWords(cron: "@reboot"))
            let paused = try await test.add(ScheduleWords(cron: "@reboot"))
            try await test.change(paused.id, .pause)
            let after = try await test.crashedAndDown(for: .seconds(10)) {
                $0.boot += 1
                $0.sinceBoot = Timestamp(microseconds: 5_000_000)
                $0.wall = $0.wall + .hours(2)
            }
            after.clock.step(by: -.hours(2))
            _ = await after.scheduler.clockStepped()
            try await after.advance(by: .seconds(1))
            #expect(after.sink.all(.fireFired).map(\.job) == [due.id])
            #expect(try await after.history(paused.id).map(\.reason) == [.paused])
            try await after.advance(by: .hours(3))
            #expect(after.sink.all(.fireFired).count == 1)
            try await after.close()
        }
    }

    @Test("A job that is stored once the clock was set back has the next date of that clock")
    func addedBeforeClockBack() async throws {
        try await TestScheduler.with { test in
            let definition = JobDefinition(schedule: ScheduleWords(cron: "* * * * *"))
            let new = try NewJob(definition, owner: 0, at: test.clock.now(), zone: .utc)
            test.clock.step(by: -.seconds(90))
            let job = try await test.scheduler.add(
                [new],
                replace: false,
                caller: TestScheduler.root
            )
            #expect(job[0].fireDate == TestScheduler.start - .seconds(60))
        }
    }

    @Test("A moved date that a wrong clock left out comes once the clock is set back")
    func movedAndLeftOut() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(cron: "*/5 * * * * *"))
            try await test.advance(by: .seconds(1))
            let date = TestScheduler.start + .milliseconds(32_500)
            try await test.change(job.id, .setFireDate(date))
            for step in [TimeSpan.seconds(40), -.seconds(40)] {
                test.clock.step(by: step)
                _ = await test.scheduler.clockStepped()
                try await test.settle()
                try await test.advance(by: .milliseconds(1))
            }
            #expect(try await test.job(job.id).fireDate == date)
            try await test.advance(by: .seconds(60))
            #expect(test.sink.all(.fireFired).count { $0.fireDate == date } == 1)
        }
    }

    @Test(
        "A job that went ahead with a wrong clock follows it back by way of a clock that was lost"
    )
    func aheadThenLost() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(cron: "* * * * *"))
            try await test.advance(by: .seconds(1))
            test.clock.step(by: .hours(1))
            _ = await test.scheduler.clockStepped()
            try await test.advance(by: .seconds(60))
            let wall = test.clock.now().wall
            let after = try await test.crashedAndDown(for: .zero) {
                $0.boot += 1
                $0.sinceBoot = Timestamp(microseconds: 1_000_000)
                $0.wall = $0.sinceBoot
            }
            let lost = after.clock.now().wall
            after.clock.step(by: wall - .hours(1) - lost)
            _ = await after.scheduler.clockStepped()
            #expect(try await after.job(job.id).fireDate == TestScheduler.start + .minutes(2))
            try await after.close()
        }
    }

    @Test(
        "An event on elapsed time that may have been told says so, wherever the clock was put before"
    )
    func elapsedAfterClockBack() async throws {
        try await TestScheduler.with { test in
            try await test.add(ScheduleWords(in: "3s"))
            test.clock.step(by: -.minutes(2))
            _ = await test.scheduler.clockStepped()
            // As if it had been told, and not recorded.
            let after = try await test.crashedAndDown(for: .seconds(4))
            try await after.advance(by: .milliseconds(1))
            #expect(after.sink.all(.fireFired).map(\.redelivered) == [true])
            try await after.close()
        }
    }
}
