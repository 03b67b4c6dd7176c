// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

@Suite("Recovery", .timeLimit(.minutes(2)))
struct RecoveryTests {
    @Test("A job that was added is there after a crash, and fires at its date")
    func addedSurvives() async throws {
        try await TestScheduler.with { test in
            let near = try await test.add(ScheduleWords(in: "4s"))
            let far = try await test.add(ScheduleWords(in: "1h"))
            let after = try await test.crashed()
            try await after.advance(by: .seconds(3700))
            #expect(after.fired(near.id) == [4])
            #expect(after.fired(far.id) == [3600])
            #expect(after.sink.all(.fireFired).allSatisfy { $0.redelivered == nil })
            try await after.close()
        }
    }

    @Test("An event whose telling a crash left open is told again, as the same fire, and says so")
    func redelivered() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "4s"))
            // Its date passes while the daemon is down: for all that is stored, it may have fired.
            let after = try await test.crashedAndDown(for: .seconds(5))
            try await after.advance(by: .seconds(4))
            #expect(after.fired(job.id) == [4, 8])
            let events = after.sink.all(.fireFired)
            #expect(events.map(\.redelivered) == [true, nil])
            #expect(Set(events.map(\.fire)).count == 2)
            try await after.close()
        }
    }

    @Test("A command whose fire was claimed was not started: it follows the misfire rule")
    func claimedCommand() async throws {
        try await TestScheduler.with { test in
            let once = try await test.add(ScheduleWords(in: "4s"), command: ["once"])
            let skip = try await test.add(ScheduleWords(in: "4s"), command: ["skip"]) {
                $0.misfire = .skip
            }
            let after = try await test.crashedAndDown(for: .seconds(3600))
            try await after.advance(by: .zero)
            #expect(after.runner.requests.map(\.argv) == [["once"]])
            #expect(after.runner.requests.map { $0.environment["TIMERD_MISSED"] } == ["1"])
            #expect(after.fired(once.id) == [4])
            #expect(try await after.history(skip.id).map(\.reason) == [.misfire])
            try await after.close()
        }
    }

    @Test("A run that was in progress is interrupted, and not started again")
    func interrupted() async throws {
        try await TestScheduler.with { test in
            test.runner.isHolding = true
            let job = try await test.add(ScheduleWords(every: "10s"), command: ["slow"])
            try await test.advance(by: .seconds(11))
            let after = try await test.crashed()
            #expect(after.recovered.interrupted == 1)
            try await after.advance(by: .zero)
            #expect(after.runner.requests.isEmpty)
            let run = try #require(try await after.history(job.id).first)
            #expect(run.outcome == .interrupted)
            try await after.advance(by: .seconds(10))
            #expect(after.runner.requests.count == 1)
            #expect(after.sink.all(.runFinished).first?.outcome == .interrupted)
            test.runner.end()
            try await after.close()
        }
    }

    @Test("A command that was about to start when the daemon died is not started twice")
    func preparedThenCrash() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(in: "5s"), command: ["once"])
            try await test.advance(by: .milliseconds(4_995))
            let after = try await test.crashed()
            try await after.advance(by: .seconds(10))
            #expect(after.runner.requests.isEmpty)
            let run = try #require(try await after.history(job.id).first)
            #expect(run.outcome == .interrupted)
            #expect(try await after.job(job.id).state == .finished)
            try await after.close()
        }
    }

    @Test("Dates that passed while no daemon ran are one fire, which says how many they were")
    func downtime() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "1min"))
            let after = try await test.crashedAndDown(for: .seconds(3600))
            try await after.advance(by: .zero)
            #expect(after.fired(job.id) == [3600])
            #expect(after.sink.all(.fireFired).first?.missed == 59)
            let skipped = try #require(try await after.history(job.id).first)
            #expect(skipped.dates == 59)
            #expect(skipped.reason == .coalesced)
            try await after.close()
        }
    }

    @Test("Numbers of events go on after a crash, and are never used again")
    func numbersGoOn() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "1s"))
            try await test.advance(by: .seconds(5))
            let after = try await test.crashed()
            try await after.advance(by: .seconds(5))
            let before = test.sink.all.map(\.seq)
            let then = after.sink.all.map(\.seq)
            #expect(before == before.sorted())
            #expect(then == then.sorted())
            #expect(try #require(then.first) > (try #require(before.last)))
            #expect(after.fired(job.id).isEmpty == false)
            try await after.close()
        }
    }

    @Test("What watchers were told is what the database tells again, in order")
    func eventsAreKept() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "1s")) {
                $0.name = "tick"
                $0.userInfo = JSONText(.integer(7))
            }
            try await test.add(ScheduleWords(in: "2s"), command: ["x"])
            try await test.advance(by: .milliseconds(3500))
            try await test.change(job.id, .pause)
            try await test.change(job.id, .resume)
            try await test.change(job.id, .setFireDate(TestScheduler.start + .seconds(9)))
            try await test.change(job.id, .invalidate)
            try await test.settle()
            let kept = try await test.store.reader.read {
                try EventLog($0).events(after: 0, limit: 100)
            }
            #expect(kept == test.sink.all)
        }
    }

    @Test("A daemon that was stopped gave back what it had claimed: nothing is told twice")
    func cleanStop() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(in: "4s"))
            try await test.settle()
            await test.scheduler.stop(.end(after: .zero))
            let after = try await test.crashedAndDown(for: .seconds(20))
            #expect(after.recovered.redelivered == 0)
            try await after.advance(by: .zero)
            #expect(after.fired(job.id) == [4])
            #expect(after.sink.all(.fireFired).first?.redelivered == nil)
            try await after.close()
        }
    }

    @Test(
        "An event that may have been told is told as such, whatever happens before it is told again",
        arguments: ["stop", "unset clock", "pause"]
    )
    func redeliveredLater(what: String) async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "10s", from: "2026-12-01T08:00:04Z"))
            try await test.settle()
            let claim = try #require(try await test.job(job.id).claim?.fire)
            // Its date passes while the daemon is down; the next daemon does not live to tell.
            let between = try await test.crashedAndDown(for: .seconds(5))
            if what == "stop" { await between.scheduler.stop(.end(after: .zero)) }
            let after = try await between.crashedAndDown(for: .seconds(1)) { machine in
                guard what == "unset clock" else { return }
                machine.boot = 2
                machine.sinceBoot = Timestamp(microseconds: 5_000_000)
                machine.wall = machine.sinceBoot
            }
            if what == "pause" { try await after.change(job.id, .pause) }
            if what == "unset clock" {
                after.clock.step(by: TestScheduler.start + .seconds(3600) - after.clock.now().wall)
                _ = await after.scheduler.clockStepped()
            }
            try await after.advance(by: .seconds(1))
            let event = try #require(after.sink.all(.fireFired).first)
            #expect(event.fire == claim)
            #expect(event.fireDate == TestScheduler.start + .seconds(4))
            #expect(event.redelivered == true)
            #expect(try await after.history(job.id).count { $0.fire == claim } == 1)
            try await after.close()
            try await between.close()
        }
    }

    @Test("A run that is over before its fire has a number is not taken for one in progress")
    func runOverBeforeNumber() async throws {
        try await TestScheduler.with { test in
            // The first event of a daemon waits for the store to take a block of numbers.
            let before = try await test.add(ScheduleWords(in: "10s"), command: ["quick"])
            let after = try await test.crashedAndDown(for: .seconds(1))
            try await after.advance(by: .seconds(20))
            let fire = try #require(try await after.history(before.id).first)
            #expect(fire.state == .done)
            try await after.close()
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

    @Test("The events of a list that a crash caught are told again in order, in a few writes")
    func listToldAgain() async throws {
        try await TestScheduler.with { test in
            // That they were told is stored within 50 ms, unless the store is busy.
            let gate = DispatchSemaphore(value: 0)
            let thread = test.store.thread
            test.sink.atNext { thread.perform { gate.wait() } }
            let words = Array(repeating: ScheduleWords(in: "1h"), count: 130)
            let jobs = try await test.add(words, of: 1000).map(\.id)
            let after = try await test.killedAndDown(for: .seconds(1))
            gate.signal()
            try await after.settle()
            let events = after.sink.all(.jobAdded)
            #expect(events.map(\.job) == jobs)
            #expect(events.allSatisfy { $0.redelivered == true })
            // A record for each event would write its row 130 times.
            #expect(after.store.writer.statistics.writes < 20)
            try await after.close()
        }
    }
}
