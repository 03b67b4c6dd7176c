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
                var writer = JobWriter(database, at: test.clock.now(), horizon: .distantPast)
                let fired = try writer.fireNow(
                    job.id,
                    caller: TestScheduler.root,
                    unstarted: [],
                    busy: nil
                )
                return fired.fire
            }
            let after = try await test.crashed()
            let event = try #require(after.sink.all(.fireFired).first)
            #expect(event.fire == fire)
            #expect(event.redelivered == true)
            try await after.close()
        }
    }

    @Test("A one-shot that is fired by hand has begun when that is answered, whatever comes next")
    func byHandThenEnded() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(in: "1h"), command: ["once"])
            try await test.settle()
            let (fired, fire) = try await test.scheduler.fire(
                .id(job.id),
                caller: TestScheduler.root
            )
            try await test.change(job.id, .invalidate)
            try await test.settle()
            #expect(fired.state == .finished)
            #expect(test.runner.requests.map { $0.environment["TIMERD_FIRE_ID"] } == ["\(fire)"])
            #expect(try await test.job(job.id).endReason == .fired)
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
            #expect(live == (0, 0))
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
}
