// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import SQLite
@testable import TimerD

/// Fires and tasks of one job that are dropped, more than one write closes.
@Suite("Many fires that are dropped at once", .timeLimit(.minutes(1))) struct DroppedFiresTests {
    /// What the write that drops them leaves to those behind it.
    private static let left = 200 - JobTransaction.droppedAtOnce

    /// A daemon whose one place a run has, and a job of which 200 fires wait for it.
    private static func with(_ body: (TestScheduler, StoredJob) async throws -> Void) async throws {
        var keeping = TestScheduler.Keeping.all
        keeping.maxRuns = 1
        try await TestScheduler.with(keeping: keeping) { test in
            test.runner.isHolding = true
            try await test.add(ScheduleWords(in: "1s"), command: ["long"])
            try await test.advance(by: .seconds(2))
            let job = try await test.add(ScheduleWords(every: "1s"), command: ["x"]) {
                $0.overlap = .allow
            }
            try await test.advance(by: .seconds(200))
            #expect(try await test.history(job.id).count { $0.waitsFor == .place } == 200)
            try await body(test, test.job(job.id))
            test.runner.isHolding = false
            test.runner.end()
            try await test.settle()
        }
    }

    /// What becomes of the job after a crash right behind a write that does `change` and nothing more.
    ///
    /// The scheduler hears nothing of that write; none of what it dropped begins though.
    private static func crashing(
        _ test: TestScheduler,
        leaving left: Int = Self.left,
        behind change: @escaping @Sendable (inout JobTransaction) throws -> Void
    ) async throws -> TestScheduler {
        let now = test.clock.now()
        let closed = try await test.store.writer.write { database in
            var writer = JobTransaction(database, at: now, horizon: .distantPast)
            try change(&writer)
            #expect(writer.outcome.left.map(\.fires.count) == [left])
            _ = try writer.finish()
            let sql = "SELECT count(*) FROM fires WHERE state = 'skipped' OR state = 'done'"
            return try database.prepare(sql).value(as: Int.self)
        }
        #expect(closed == JobTransaction.droppedAtOnce)
        return try await test.crashed()
    }

    /// The fires that were skipped for `reason`: it is told of each.
    private static func skipped(_ test: TestScheduler, _ job: JobID, _ reason: FireReason)
        async throws -> Int
    {
        let fires = try await test.history(job).filter {
            $0.state == .skipped && $0.reason == reason
        }
        let told = test.sink.all(.fireSkipped).filter { $0.reason == reason.rawValue }
        #expect(Set(told.compactMap(\.fire)) == Set(fires.map(\.fire)))
        return fires.count
    }

    @Test("An undo right behind the end of their job leaves them dropped for that end")
    func undo() async throws {
        try await Self.with { test, job in
            try await test.change(job.id, .invalidate)
            _ = try await test.scheduler.restore(.ids([job.id]), caller: TestScheduler.root)
            #expect(try await Self.skipped(test, job.id, .invalidated) == 200)
            let restored = try await test.job(job.id)
            #expect((restored.state, restored.fires) == (.scheduled, 0))
            test.runner.isHolding = false
            test.runner.end()
            try await test.settle()
            #expect(test.runner.requests.map(\.argv) == [["long"]])
            try await test.advance(by: .seconds(1))
            #expect(test.runner.requests.map(\.argv) == [["long"], ["x"]], "it goes on")
        }
    }

    @Test("A crash right behind such an undo has none of them begin, and tells of each")
    func undoAndCrash() async throws {
        try await Self.with { test, job in
            let after = try await Self.crashing(test) { writer in
                _ = try writer.change(.ids([job.id]), .invalidate, caller: TestScheduler.root)
                _ = try writer.restore(.ids([job.id]), limit: nil, caller: TestScheduler.root)
            }
            #expect(try await Self.skipped(after, job.id, .invalidated) == 200)
            let restored = try await after.job(job.id)
            #expect((restored.state, restored.fires) == (.scheduled, 0))
            #expect(after.runner.requests.isEmpty)
            try await after.close()
        }
    }

    @Test("A fire that replaces them begins alone", arguments: [true, false])
    func replaced(byHand: Bool) async throws {
        try await Self.with { test, job in
            try await NoticeSupport.change(test, job) { $0.overlap = .replace }
            if byHand {
                _ = try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
            } else {
                try await test.advance(by: .seconds(1))
            }
            #expect(try await Self.skipped(test, job.id, .replaced) == 200)
            #expect(try await test.job(job.id).fires == 1)
            test.runner.isHolding = false
            test.runner.end()
            try await test.settle()
            #expect(test.runner.requests.map(\.argv) == [["long"], ["x"]])
        }
    }

    @Test("A crash right behind the fire that replaces them has that alone begin")
    func replacedAndCrash() async throws {
        try await Self.with { test, job in
            try await NoticeSupport.change(test, job) { $0.overlap = .replace }
            let after = try await Self.crashing(test) { writer in
                _ = try writer.fireNow(job.id, caller: TestScheduler.root)
            }
            #expect(try await Self.skipped(after, job.id, .replaced) == 200)
            #expect(try await after.job(job.id).fires == 1)
            #expect(after.runner.requests.map(\.argv) == [["x"]])
            try await after.close()
        }
    }

    @Test("Their job has no command any more: they stay dropped where it gets one again")
    func commandless() async throws {
        try await Self.with { test, job in
            let event = try NewJob(
                JobDefinition(schedule: ScheduleWords(every: "1h")),
                owner: 0,
                at: test.clock.now(),
                zone: .utc
            )
            let command = try NewJob(
                job.definition,
                owner: 0,
                at: test.clock.now(),
                zone: .utc
            )
            let after = try await Self.crashing(test) { writer in
                for new in [event, command] {
                    let changes = JobChanges(
                        invalidate: [],
                        change: [.init(id: job.id, to: new)],
                        add: []
                    )
                    _ = try writer.apply(changes, limit: nil, caller: TestScheduler.root)
                }
            }
            #expect(try await Self.skipped(after, job.id, .changed) == 200)
            #expect(try await after.job(job.id).fires == 0)
            #expect(after.runner.requests.isEmpty)
            try await after.close()
        }
    }

    @Test("Of those that were to be tried again none begins a handler that their job gets later")
    func laterHandler() async throws {
        try await TestScheduler.with(keeping: .all) { test in
            test.runner.answer = NoticeSupport.answers(.exited(3))
            let job = try await test.add(ScheduleWords(every: "1s"), command: ["x"]) {
                ($0.overlap, $0.retries, $0.backoff) = (.allow, 3, "1h..1h")
            }
            try await test.advance(by: .seconds(100))
            let begun = test.runner.requests.count
            // One may have had its next attempt by then.
            let fires = Set(try await test.history(job.id).map(\.fire))
            let left = fires.count - JobTransaction.droppedAtOnce
            var definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
            let event = try NewJob(definition, owner: 0, at: test.clock.now(), zone: .utc)
            (definition.command, definition.onFailure) = (["y"], ["alert"])
            let command = try NewJob(definition, owner: 0, at: test.clock.now(), zone: .utc)
            let after = try await Self.crashing(test, leaving: left) { writer in
                for new in [event, command] {
                    let changes = JobChanges(
                        invalidate: [],
                        change: [.init(id: job.id, to: new)],
                        add: []
                    )
                    _ = try writer.apply(changes, limit: nil, caller: TestScheduler.root)
                }
            }
            let runs = try await after.history(job.id)
            #expect(runs.count == begun)
            #expect(runs.allSatisfy { $0.state == .done && $0.failed == true })
            #expect(after.runner.requests.isEmpty)
            try await after.close()
        }
    }

    @Test("A task takes the place of many, which have left their queue then, also after a crash")
    func replacedTasks() async throws {
        try await TestScheduler.with(keeping: .all) { test in
            let id = try await test.add(ScheduleWords(every: "1d")) {
                ($0.queue, $0.overlap) = ("mails", .allow)
            }.id
            for _ in 1...200 {
                _ = try await test.scheduler.fire(.id(id), caller: TestScheduler.root)
            }
            try await NoticeSupport.change(test, test.job(id)) { $0.overlap = .replace }
            let now = test.clock.now()
            // As the first write leaves it.
            let fire = try await test.store.writer.write { database in
                var writer = JobTransaction(database, at: now, horizon: .distantPast)
                let fired = try writer.fireNow(id, caller: TestScheduler.root)
                #expect(writer.outcome.left.map(\.fires.count) == [Self.left])
                _ = try writer.finish()
                return fired.fire
            }
            #expect(try await test.queue("mails")?.ready == 1)
            let after = try await test.crashed()
            #expect(try await after.reserve("mails", count: 10).map(\.fire) == [fire])
            let dropped = try await after.history(id).filter { $0.fire != fire }
            #expect(dropped.count == 200)
            #expect(dropped.allSatisfy { $0.state == .skipped && $0.reason == .withdrawn })
            let told = after.sink.all(.fireSkipped).compactMap(\.fire)
            #expect(Set(told) == Set(dropped.map(\.fire)))
            try await after.close()
        }
    }
}
