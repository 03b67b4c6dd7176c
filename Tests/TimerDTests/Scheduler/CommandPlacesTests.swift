// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

/// A command whose row does not say `running` has not begun: it waits, through crashes too, and begins
/// unless its job is ended.
@Suite("Commands that wait for a place", .timeLimit(.minutes(2)))
struct CommandPlacesTests {
    /// Two jobs that are due after 10 s, with a place for one of them; the first one's run goes on.
    private static func withTwo(
        _ change: (inout JobDefinition) -> Void = { _ in },
        _ body: (TestScheduler, _ running: JobID, _ waiting: JobID) async throws -> Void
    ) async throws {
        try await TestScheduler.with(keeping: TestScheduler.Keeping(maxRuns: 1)) { test in
            test.runner.isHolding = true
            let first = try await test.add(ScheduleWords(in: "10s"), command: ["first"])
            let second = try await test.add(ScheduleWords(every: "10s"), command: ["second"]) {
                change(&$0)
            }
            try await test.advance(by: .seconds(11))
            #expect(test.runner.requests.map(\.argv) == [["first"]])
            try await body(test, first.id, second.id)
            test.runner.isHolding = false
            test.runner.end()
            try await test.settle()
        }
    }

    private static func waits(_ test: TestScheduler, _ job: JobID) async throws -> [Run.Wait?] {
        try await test.history(job).filter { $0.state == .waiting }.map(\.waitsFor)
    }

    @Test("It is no fire yet: it waits, keeps its job busy, and is told once it begins")
    func waiting() async throws {
        try await Self.withTwo { test, _, job in
            #expect(try await Self.waits(test, job) == [.place])
            #expect(test.fired(job).isEmpty)
            try await test.advance(by: .seconds(10))
            let story = try await SchedulerDatesTests.story(test.history(job))
            #expect(story.last == "overlap 20")
            test.runner.end()
            try await test.settle()
            #expect(test.runner.requests.map(\.argv) == [["first"], ["second"]])
            #expect(test.fired(job) == [10])
            #expect(test.sink.all(.fireFired).last?.firedAt == test.clock.now().wall)
            #expect(try await test.job(job).fires == 1)
        }
    }

    @Test("After a crash it begins, as its first attempt, and is told for the first time")
    func crash() async throws {
        try await Self.withTwo { test, first, job in
            let after = try await test.crashedAndDown(for: .seconds(5))
            #expect(after.recovered.interrupted == 1, "the one that ran")
            #expect(after.runner.requests.map(\.argv) == [["second"]])
            #expect(after.runner.requests[0].environment["TIMERD_ATTEMPT"] == "1")
            #expect(after.sink.all(.fireFired).map(\.redelivered) == [nil])
            let run = try #require(try await after.history(job).first)
            #expect(run.outcome == .exited)
            #expect(try await after.history(first).map(\.outcome) == [.interrupted])
            try await after.close()
        }
    }

    @Test("Where the daemon stops, the next one begins it")
    func stop() async throws {
        try await Self.withTwo { test, _, job in
            test.runner.end()
            // The second has begun by now, and a third waits.
            let third = try await test.add(ScheduleWords(in: "1s"), command: ["third"])
            try await test.advance(by: .seconds(2))
            #expect(try await Self.waits(test, third.id) == [.place])
            await test.scheduler.stop(.end(after: .zero))
            #expect(!test.runner.requests.contains { $0.argv == ["third"] })
            let after = try await test.crashed()
            #expect(after.runner.requests.map(\.argv) == [["third"]])
            #expect(try await after.history(third.id).map(\.outcome) == [.exited])
            #expect(try await after.history(job).first?.outcome == .interrupted)
            try await after.close()
        }
    }

    @Test("Where its job is ended, it is skipped for that reason, and never begins")
    func invalidated() async throws {
        try await Self.withTwo { test, _, job in
            try await test.change(job, .invalidate)
            test.runner.end()
            try await test.advance(by: .seconds(60))
            #expect(test.runner.requests.map(\.argv) == [["first"]])
            let history = try await test.history(job)
            #expect(history.first?.state == .skipped)
            #expect(history.first?.reason == .invalidated)
            #expect(test.fired(job).isEmpty)
            #expect(test.sink.all(.fireSkipped).map(\.reason) == ["invalidated"])
            #expect(try await test.job(job).fires == 0)
            let scheduler = test.scheduler
            #expect(await scheduler.measures().waitingForPlace == 0)
        }
    }

    @Test("What was dropped stays dropped, whatever is recorded of it behind that")
    func droppedAndRecorded() async throws {
        try await Self.withTwo { test, _, job in
            let id = try #require(try await test.history(job).first?.fire)
            let scheduler = test.scheduler
            let entry = try #require(await scheduler.fires[id])
            let run = RunID(rawValue: 1_000_000)
            let command = RunningCommand(
                run: run,
                place: RunPlace(),
                fire: entry.fire,
                command: ["second"]
            )
            // As where a place is sought, or a command begins, while the invalidation is on its way back.
            try await test.store.writer.write { database in
                var writer = JobTransaction(database, at: test.clock.now(), horizon: .distantPast)
                _ = try writer.change(.ids([job]), .invalidate, caller: TestScheduler.root)
                try writer.waitForPlace(id)
                try writer.waitAgain(command.fire, after: command.run)
                #expect(try writer.beginCommand(entry.fire, at: RunPlace()) == nil)
                #expect(try writer.job(job)?.fires == 0)
            }
            #expect(try await test.history(job).map(\.state) == [.skipped])
            try await test.change(job, .invalidate)
        }
    }

    @Test("A command whose order was lost waits no more where its job was ended meanwhile")
    func lostOrder() async throws {
        try await TestScheduler.with(keeping: TestScheduler.Keeping(maxRuns: 1)) { test in
            let gate = Gate()
            test.runner.orderGate = gate
            let job = try await test.add(ScheduleWords(in: "1s"), command: ["first"])
            try await test.advance(by: .seconds(2))
            try await test.change(job.id, .invalidate)
            // Another takes the place: what waited for one would go on waiting.
            test.runner.orderGate = nil
            test.runner.isHolding = true
            try await test.add(ScheduleWords(in: "1s"), command: ["second"])
            try await test.advance(by: .seconds(2))
            gate.open()
            try await test.settle()
            #expect(test.runner.requests.map(\.argv) == [["second"]])
            let run = try #require(try await test.history(job.id).first)
            #expect((run.state, run.outcome) == (.done, .notStarted))
            #expect(run.error == StartRefusal.withdrawn.message)
            let measures = await test.scheduler.measures()
            #expect(measures.waitingForPlace == 0)
        }
    }

    @Test("What waits for its next attempt does not begin where a finished job is ended")
    func retryOfFinished() async throws {
        try await TestScheduler.with { test in
            test.runner.outcome = .exited(1)
            let job = try await test.add(ScheduleWords(in: "1s"), command: ["false"]) {
                $0.retries = 5
                $0.backoff = "10s..10s"
                $0.onFailure = ["notify"]
                $0.tags = ["t"]
            }
            try await test.advance(by: .seconds(2))
            #expect(try await test.job(job.id).state == .finished)
            let begun = test.runner.requests.count
            _ = try await test.scheduler.change(.tag("t"), .invalidate, caller: TestScheduler.root)
            try await test.advance(by: .seconds(600))
            #expect(test.runner.requests.count == begun)
            let history = try await test.history(job.id)
            #expect(history.allSatisfy { $0.state == .done })
            #expect(try await test.job(job.id).endReason == .invalidated)
        }
    }

    // MARK: - Fires by hand

    @Test(
        "Of two fires by hand at once, one begins: the other is refused, or waits",
        arguments: [
            JobDefinition.Overlap.skip, .queue, .replace, .allow,
        ]
    )
    func twoByHand(overlap: JobDefinition.Overlap) async throws {
        try await TestScheduler.with { test in
            test.runner.isHolding = true
            let job = try await test.add(ScheduleWords(every: "1h"), command: ["x"]) {
                $0.overlap = overlap
            }
            let scheduler = test.scheduler
            async let first = scheduler.fire(.id(job.id), caller: TestScheduler.root)
            async let second = scheduler.fire(.id(job.id), caller: TestScheduler.root)
            var refused = 0
            do { _ = try await first } catch is ControlError { refused += 1 }
            do { _ = try await second } catch is ControlError { refused += 1 }
            try await test.settle()
            #expect(refused == (overlap == .skip ? 1 : 0))
            let inProgress = test.runner.heldCount
            #expect(inProgress == (overlap == .allow ? 2 : 1))
            test.runner.end()
            try await test.settle()
            test.runner.end()
            try await test.settle()
            // Under `replace` the newest fire is the one that is wanted.
            let isOne = overlap == .skip || overlap == .replace
            #expect(test.runner.requests.count == (isOne ? 1 : 2))
        }
    }

    @Test("A fire by hand waits for a place as any other, and is skipped where its job is ended")
    func byHandWaits() async throws {
        try await Self.withTwo { test, _, _ in
            let job = try await test.add(ScheduleWords(every: "1h"), command: ["hand"])
            _ = try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
            #expect(try await Self.waits(test, job.id) == [.place])
            let again = await #expect(throws: ControlError.self) {
                try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
            }
            #expect(again?.reason == .conflict)
            try await test.change(job.id, .invalidate)
            test.runner.end()
            try await test.settle()
            #expect(!test.runner.requests.contains { $0.argv == ["hand"] })
            #expect(try await test.history(job.id).map(\.reason) == [.withdrawn])
        }
    }

    // MARK: - What a crash caught

    @Test("A fire that is counted has its event, also where a crash caught it before its date")
    func preparedAndCrashed() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "10s"), command: ["x"])
            // Its row says `running` 10 ms ahead.
            try await test.advance(by: TimeSpan(microseconds: 9_995_000))
            #expect(test.sink.all(.fireFired).isEmpty)
            let after = try await test.crashed()
            #expect(try await after.job(job.id).fires == 1)
            #expect(after.sink.all(.fireFired).map(\.redelivered) == [true])
            #expect(after.sink.all(.fireFired).map(\.job) == [job.id])
            #expect(try await after.history(job.id).first?.outcome == .interrupted)
            try await after.close()
        }
    }

    @Test(
        "onFailure is run where the daemon's end interrupted the last attempt, and is none itself"
    )
    func onFailureAfterInterruption() async throws {
        try await TestScheduler.with { test in
            test.runner.isHolding = true
            let job = try await test.add(ScheduleWords(in: "1s"), command: ["x"]) {
                $0.onFailure = ["notify"]
            }
            try await test.advance(by: .seconds(2))
            let after = try await test.crashed()
            #expect(after.runner.requests.map(\.argv) == [["notify"]])
            let ends = after.sink.all(.runFinished)
            #expect(ends.map(\.onFailure) == [nil, true])
            #expect(ends.map(\.attempt) == [1, nil])
            #expect(ends.map(\.outcome) == [.interrupted, .exited])
            #expect(after.sink.all(.runStarted).map(\.onFailure) == [true])
            let runs = await after.scheduler.measures().counters.runs
            #expect(runs == ["interrupted": 1, "onFailure": 1])
            #expect(try await after.history(job.id).map(\.attempt) == [1, nil])
            try await after.close()
            test.runner.end()
        }
    }

    @Test("What is late after a start takes a quarter of the places, and gives way to what is due")
    func catchUp() async throws {
        try await TestScheduler.with(keeping: TestScheduler.Keeping(maxRuns: 8)) { test in
            for number in 0..<20 {
                try await test.add(ScheduleWords(in: "10s"), command: ["late \(number)"]) {
                    $0.misfireAfter = "1h"
                }
            }
            try await test.add(ScheduleWords(in: "70s"), command: ["due"])
            let after = try await test.crashedAndDown(for: .seconds(60)) { _ in }
            try await after.advance(by: .milliseconds(1))
            #expect(after.runner.requests.count == 20, "each ends at once, and gives its place on")
            try await after.close()
        }
        try await TestScheduler.with(keeping: TestScheduler.Keeping(maxRuns: 8)) { test in
            for number in 0..<20 {
                try await test.add(ScheduleWords(in: "10s"), command: ["late \(number)"]) {
                    $0.misfireAfter = "1h"
                }
            }
            test.stall(.seconds(60))
            test.runner.isHolding = true
            await test.scheduler.windowDue()
            try await test.advance(by: .milliseconds(1))
            #expect(test.runner.heldCount == 2)
            try await test.add(ScheduleWords(in: "1s"), command: ["due"])
            try await test.advance(by: .seconds(2))
            #expect(test.runner.requests.last?.argv == ["due"])
            test.runner.isHolding = false
            test.runner.end()
            try await test.settle()
            #expect(test.runner.requests.count == 21)
        }
    }

    @Test("A run that ends behind its job's invalidation stores no further attempt")
    func endedBehindInvalidation() async throws {
        try await TestScheduler.with { test in
            test.runner.isHolding = true
            let job = try await test.add(ScheduleWords(every: "10s"), command: ["false"]) {
                $0.retries = 5
                $0.backoff = "10s..10s"
            }
            try await test.advance(by: .seconds(11))
            let scheduler = test.scheduler
            let fires = await scheduler.fires
            let command = try #require(fires.of(job.id).first?.command)
            try await test.store.writer.write { database in
                var writer = JobTransaction(database, at: test.clock.now(), horizon: .distantPast)
                _ = try writer.change(.ids([job.id]), .invalidate, caller: TestScheduler.root)
                let ended = EndedRun(
                    fire: command.fire.id,
                    fireDate: command.fire.fireDate,
                    attempt: 1,
                    outcome: .exited(1),
                    endedAt: test.clock.now().wall,
                    output: CapturedOutput()
                )
                let finished = try writer.recordFinished(command.run, of: command.job, ended)
                #expect(finished.next == .done)
            }
            let run = try #require(try await test.history(job.id).first)
            #expect(run.state == .done)
            #expect(run.nextAttemptAt == nil)
        }
    }
}
