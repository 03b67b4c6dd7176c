// SPDX-License-Identifier: Apache-2.0

import Locks
import Logging
import Schedules
import Testing
import TimerControl

@testable import TimerD

@Suite("Rows that say by the wall clock what comes in elapsed time", .timeLimit(.minutes(2)))
struct SteppedRowsTests {
    /// Adds jobs in one request whose runs fail, each of which is tried again within an hour.
    private static func addFailing(_ count: Int, _ test: TestScheduler) async throws {
        test.runner.outcome = .exited(3)
        var definition = JobDefinition(schedule: ScheduleWords(in: "5s"))
        definition.command = ["false"]
        definition.retries = 1
        definition.backoff = "1h..1h"
        let now = test.clock.now()
        let jobs = try (0..<count).map { _ in
            try NewJob(definition, owner: 0, at: now, zone: .utc)
        }
        _ = try await test.scheduler.add(jobs, replace: false, caller: TestScheduler.root)
    }

    private static func waiting(_ test: TestScheduler) async throws -> [Run] {
        try await test.settle()
        return try await test.store.reader.read {
            try Queries($0).runs(RunFilter(), after: nil, limit: 1000, in: PageRoom(.max)).runs
        }.filter { $0.nextAttemptAt != nil }
    }

    @Test("However many runs wait to be tried again, of each the clock says after a step when")
    func manyAttempts() async throws {
        try await TestScheduler.with { test in
            let count = Scheduler.attemptPiece + 1
            try await Self.addFailing(count, test)
            try await test.advance(by: .seconds(5))
            let before = try await Self.waiting(test).map(\.nextAttemptAt)
            #expect(before.count == count)
            test.clock.step(by: .seconds(3600))
            #expect(await test.scheduler.clockStepped() == .seconds(3600))
            let after = try await Self.waiting(test).map(\.nextAttemptAt)
            #expect(after == before.map { $0.map { $0 + .seconds(3600) } })
        }
    }

    @Test("So it does of a run whose end is stored, and not heard of yet")
    func unheardEnd() async throws {
        try await TestScheduler.with { test in
            let told = Locked<Timestamp?>(nil)
            let (scheduler, clock) = (test.scheduler, test.clock)
            test.runner.onStored = {
                clock.step(by: .seconds(7200))
                scheduler.assumeIsolated { _ = $0.clockStepped() }
                told.withLock { $0 = clock.now().wall }
            }
            try await Self.addFailing(1, test)
            try await test.advance(by: .seconds(5))
            let next = try #require(try await Self.waiting(test).first?.nextAttemptAt)
            let stepped = try #require(told.withLock { $0 })
            // The wait is of an hour at most.
            #expect(next >= stepped && next <= stepped + .seconds(3600))
        }
    }

    @Test(
        "A node whose clock is all but that of the node before takes over the next attempts as they are",
        arguments: [(50, 0), (3_600_000, 3_600_000)] as [(Int64, Int64)]
    )
    func otherHost(distance: Int64, moved: Int64) async throws {
        try await TestScheduler.with { test in
            try await Self.addFailing(1, test)
            try await test.advance(by: .seconds(5))
            let run = try #require(try await Self.waiting(test).first)
            let next = try #require(run.nextAttemptAt)
            let files = try CrashCopy.make(of: test.folder)
            var machine = test.clock.machine
            machine.boot += 1
            machine.pass(.seconds(1))
            machine.wall = machine.wall + .milliseconds(distance)
            let store = try Store.test(files, isShared: SharedTestStore.isWanted, now: machine.wall)
            _ = try await VirtualClock(
                machine,
                store,
                othersClock: .milliseconds(-distance),
                log: Logger(label: "test")
            )
            let fire = run.fire
            let told = try await store.reader.read { try FireStore($0).left(fire)?.waitsUntil }
            #expect(told == next + .milliseconds(moved))
            try await store.close()
        }
    }

    @Test("A fire that was near at a crash is not late by a step made before the next start")
    func keptClaim() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "2s"))
            try await test.advance(by: .seconds(5))
            let after = try await test.crashedAndDown(for: .zero) {
                $0.wall = $0.wall + .seconds(3600)
            }
            try await after.advance(by: .seconds(3))
            let fires = try await after.history(job.id).filter { $0.state == .fired }
            #expect(fires.count == 4)
            #expect(fires.allSatisfy { $0.fireDate == $0.firedAt }, "none was late")
            try await after.close()
        }
    }
}
