// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

/// What `CrashSimulation` has found, each in its shortest form.
@Suite("Found by crashes", .timeLimit(.minutes(2)))
struct CrashFindingsTests {
    @Test("What the store answers is taken over in its order, whoever waits for it")
    func orderOfAnswers() async throws {
        try await TestScheduler.with { test in
            // Each is added unclaimed, and claimed by a window load right behind.
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<200 {
                    group.addTask { _ = try await test.add(ScheduleWords(in: "7s")) }
                    group.addTask { await test.scheduler.loadWindow() }
                }
                try await group.waitForAll()
            }
            try await test.advance(by: .seconds(8))
            #expect(test.sink.all(.fireFired).count == 200)
            try await test.settle()
        }
    }

    @Test("A fire by hand that may have been told before a crash is told again as such")
    func byHandAgain() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "1h"))
            try await test.settle()
            let fire = try await test.store.writer.write { database in
                var writer = JobTransaction(database, at: test.clock.now(), horizon: .distantPast)
                return try writer.fireNow(job.id, caller: TestScheduler.root).fire
            }
            let after = try await test.crashed()
            let event = try #require(after.sink.all(.fireFired).first)
            #expect(event.fire == fire)
            #expect(event.redelivered == true)
            try await after.close()
        }
    }

    @Test("A one-shot that is fired by hand and ended then does not begin any more")
    func byHandThenEnded() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(in: "1h"), command: ["once"])
            try await test.settle()
            let (fired, fire) = try await test.scheduler.fire(
                .id(job.id),
                caller: TestScheduler.root
            )
            try await test.change(job.id, .invalidate)
            #expect(fired.state == .finished)
            let history = try await test.history(job.id)
            #expect(history.map(\.fire) == [fire])
            #expect(history.map(\.outcome) == [.notStarted])
            #expect(history.map(\.error) == ["it was ended before it began"])
            #expect(test.runner.requests.isEmpty)
            #expect(try await test.job(job.id).endReason == .invalidated)
        }
    }

    @Test("A due job whose target went with the daemon is told once, and ends")
    func targetGoneAtStart() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "10s")) { $0.whileConnected = true }
            try await test.advance(by: .seconds(9))
            let after = try await test.crashedAndDown(for: .seconds(2))
            #expect(after.sink.all(.fireFired).count == 1)
            #expect(try await after.job(job.id).endReason == .targetGone)
            #expect(after.sink.all(.jobFinished).isEmpty)
            let live = try await after.store.reader.read { try Queries($0).liveJobs() }
            #expect(live == (0, 0, 0))
            try await after.close()
        }
    }

    @Test(
        "A run that was made ready leaves nothing where its fire then waits for another",
        arguments: [
            JobDefinition.Overlap.queue, .skip,
        ]
    )
    func readyAndThenWaiting(overlap: JobDefinition.Overlap) async throws {
        try await TestScheduler.with { test in
            test.runner.isHolding = true
            let job = try await test.add(ScheduleWords(every: "10s"), command: ["x"]) {
                $0.overlap = overlap
            }
            // Its run is stored 10 ms ahead; the one by hand begins after that.
            try await test.advance(by: .milliseconds(9_995))
            _ = try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
            try await test.advance(by: .milliseconds(10))
            let rows = try await test.history(job.id)
            #expect(rows.count { $0.id != nil } == 1)
            #expect(rows.contains { $0.state == (overlap == .queue ? .waiting : .skipped) })
        }
    }

    @Test(
        "Dates that were dropped keep their one row when the job is moved to among them and missed",
        arguments: [Int64(2), 7, 12, 17]
    )
    func movedAmongDropped(to second: Int64) async throws {
        try await TestScheduler.with { test in
            let words = ScheduleWords(cron: "*/5 * * * * *")
            let job = try await test.add(words, command: ["x"]) { $0.misfire = .skip }
            try await test.advance(by: .seconds(1))
            try await test.change(job.id, .skip(3))
            try await test.change(job.id, .setFireDate(TestScheduler.start + .seconds(second)))
            let after = try await test.crashedAndDown(for: .seconds(61))
            try await after.advance(by: .seconds(1))
            var dates: [Timestamp: Int] = [:]
            for row in try await after.history(job.id) {
                var (date, count) = (Timestamp?.some(row.fireDate), 0)
                while let next = date, next <= row.through ?? row.fireDate {
                    dates[next, default: 0] += 1
                    count += 1
                    date = job.schedule.nextFireDate(after: next)
                }
                #expect(row.dates ?? 1 == count, "\(row)")
            }
            #expect(dates.values.allSatisfy { $0 == 1 }, "\(dates)")
            // From 5 s to 60 s, and the date that it was moved to.
            #expect(dates.count == 13)
            try await after.close()
        }
    }

    @Test("A date that may have been told before a crash is none to drop: the next one is dropped")
    func skipAfterTold() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "5s"))
            try await test.advance(by: .seconds(1))
            let after = try await test.crashedAndDown(for: .zero) { $0.wall = $0.wall - .hours(1) }
            try await after.change(job.id, .skip(1))
            let history = try await after.history(job.id)
            #expect(history.map(\.state) == [.fired, .skipped])
            #expect(history.last?.reason == .skip)
            #expect(after.sink.all(.fireFired).map(\.redelivered) == [true])
            try await after.advance(by: .seconds(15))
            #expect(after.sink.all(.fireFired).count == 2)
            try await after.close()
        }
    }

    @Test("What a start of the machine made due is not put off by a clock that is set back")
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

    @Test("No wall job begins to fire while the store has it follow a clock that was set back")
    func heldWhileFollowing() async throws {
        try await TestScheduler.with { test in
            let wall = try await test.add(ScheduleWords(cron: "*/5 * * * * *"))
            let elapsed = try await test.add(ScheduleWords(every: "5s"))
            var holds = Holds()
            holds.holdWallJobs()
            #expect(holds.covers(wall))
            #expect(!holds.covers(elapsed))
            holds.releaseWallJobs()
            #expect(!holds.covers(wall))
        }
    }

    @Test("A date that had passed when its job was replaced has its reason")
    func replacedLate() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "10s")) { $0.name = "a" }
            test.stall(.seconds(11))
            let new = try NewJob(job.definition, owner: 0, at: test.clock.now(), zone: .utc)
            _ = try await test.scheduler.add([new], replace: true, caller: TestScheduler.root)
            #expect(try await test.history(job.id).map(\.reason) == [.invalidated])
        }
    }

    @Test("A fire that waits for a run does not begin beside the next attempt of another")
    func queuedBesideRetry() async throws {
        try await TestScheduler.with { test in
            test.runner.outcome = .exited(1)
            let job = try await test.add(ScheduleWords(every: "10s"), command: ["x"]) {
                $0.overlap = .queue
                $0.retries = 1
                $0.backoff = "1h"
            }
            // The first fire waits for its next attempt, the second for the first.
            try await test.advance(by: .seconds(25))
            let runs = test.runner.requests.count
            let after = try await test.crashed()
            try await after.advance(by: .seconds(1))
            #expect(runs == 1)
            #expect(after.runner.requests.isEmpty)
            #expect(try await after.history(job.id).contains { $0.state == .waiting })
            try await after.close()
        }
    }

    @Test("Two fires that a crash left to be tried again are not tried beside each other")
    func twoAttempts() async throws {
        try await TestScheduler.with { test in
            test.runner.isHolding = true
            let job = try await test.add(ScheduleWords(every: "10s"), command: ["x"]) {
                $0.retries = 1
            }
            // Made ready for its date, which is to be skipped for the fire by hand.
            try await test.advance(by: .milliseconds(9_995))
            _ = try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
            let after = try await test.crashed()
            after.runner.isHolding = true
            try await after.advance(by: .seconds(5))
            #expect(after.runner.heldCount == 1)
            #expect(after.runner.requests.count == 1)
            after.runner.end()
            try await after.advance(by: .milliseconds(1))
            #expect(after.runner.heldCount == 1, "the other follows it")
            #expect(after.runner.requests.count == 2)
            after.runner.end()
            try await after.settle()
            test.runner.end()
            try await after.close()
        }
    }

    @Test(
        "A one-shot that may have been told before clock and daemon were lost ends as it is told again"
    )
    func toldAndLost() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(at: "2026-12-01 08:00:05"))
            try await test.advance(by: .seconds(4))
            // Its clock was a minute ahead.
            let right = test.clock.now().wall - .seconds(60)
            let after = try await test.crashedAndDown(for: .zero) { machine in
                machine.boot += 1
                machine.sinceBoot = Timestamp(microseconds: 1_000_000)
                machine.wall = machine.sinceBoot
            }
            #expect(after.sink.all(.fireFired).isEmpty, "it is 1970")
            after.clock.step(by: right - after.clock.now().wall)
            _ = await after.scheduler.clockStepped()
            try await after.settle()
            #expect(after.sink.all(.fireFired).map(\.redelivered) == [true])
            #expect(try await after.job(job.id).endReason == .once)
            try await after.advance(by: .seconds(70))
            #expect(after.sink.all(.fireFired).count == 1)
            try await after.close()
        }
    }
}
