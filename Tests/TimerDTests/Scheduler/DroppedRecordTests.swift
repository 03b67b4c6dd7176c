// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

/// docs/reliability.md: a record that can never be stored, for a fault of its own, holds its job and no
/// other.
@Suite("A record that can never be stored", .timeLimit(.minutes(2)))
struct DroppedRecordTests {
    @Test("It holds its job alone, gives its place back, and the job goes on by itself")
    func droppedRecord() async throws {
        try await TestScheduler.with(keeping: TestScheduler.Keeping(maxRuns: 1)) { test in
            let job = try await test.add(ScheduleWords(every: "10s"), command: ["bad"])
            let other = try await test.add(ScheduleWords(every: "10s"), command: ["good"])
            try await test.store.writer.write { database in
                try database.execute(
                    """
                    CREATE TRIGGER refuse BEFORE INSERT ON runs WHEN new.job_id = \(job.id)
                    BEGIN SELECT RAISE(ABORT, 'no room for it'); END
                    """
                )
            }
            try await test.advance(by: .seconds(21))
            #expect(test.runner.requests.map(\.argv) == [["good"], ["good"]])
            #expect(try await test.job(other.id).fires == 2)
            let held = try await test.job(job.id)
            #expect(held.held?.contains("no room for it") == true, "\(held.held ?? "not held")")
            try await test.store.writer.write { try $0.execute("DROP TRIGGER refuse") }
            try await test.advance(by: .seconds(90))
            #expect(try await test.job(job.id).held == nil)
            #expect(test.runner.requests.contains { $0.argv == ["bad"] })
        }
    }

    /// Refuses what `statement` writes to the table, until the end of `body`.
    private static func refusing(
        _ statement: String,
        _ test: TestScheduler,
        _ body: () async throws -> Void
    ) async throws {
        try await test.store.writer.write {
            try $0.execute(
                """
                CREATE TRIGGER refuse BEFORE \(statement)
                BEGIN SELECT RAISE(ABORT, 'no room for it'); END
                """
            )
        }
        try await body()
        try await test.store.writer.write { try $0.execute("DROP TRIGGER refuse") }
    }

    @Test("Where that is a run's end, who reads its output is not kept waiting")
    func droppedEnd() async throws {
        try await TestScheduler.with { test in
            test.runner.isHolding = true
            let job = try await test.add(ScheduleWords(every: "10s"), command: ["x"])
            try await test.advance(by: .seconds(11))
            let scheduler = test.scheduler
            let fires = await scheduler.fires
            let run = try #require(fires.of(job.id).first?.command?.run)
            let outputs = scheduler.outputs
            #expect(outputs[run] != nil)
            try await Self.refusing("UPDATE OF outcome ON runs", test) {
                test.runner.end()
                try await test.settle()
            }
            #expect(outputs[run] == nil)
        }
    }

    @Test("Where that is the clock's way back, the jobs by the wall clock go on")
    func droppedClockBack() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(cron: "* * * * * *"))
            try await test.advance(by: .seconds(70))
            let fired = test.fired(job.id).count
            try await Self.refusing("UPDATE OF fire_date_us ON jobs WHEN new.held IS NULL", test) {
                test.clock.step(by: .seconds(-30))
                _ = await test.scheduler.clockStepped()
                try await test.settle()
                #expect(try await test.job(job.id).held?.contains("no room for it") == true)
            }
            try await test.advance(by: .seconds(120))
            #expect(try await test.job(job.id).held == nil)
            #expect(test.fired(job.id).count > fired)
        }
    }

    @Test("Where the hold cannot be stored either, a later look stores it, and the job goes on")
    func droppedHold() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(cron: "* * * * * *"))
            try await test.advance(by: .seconds(70))
            let fired = test.fired(job.id).count
            try await Self.refusing("UPDATE ON jobs", test) {
                test.clock.step(by: .seconds(-30))
                _ = await test.scheduler.clockStepped()
                try await test.settle()
                #expect(try await test.job(job.id).held == nil)
                try await test.advance(by: .seconds(61))
                #expect(test.fired(job.id).count == fired)
                // No reply about jobs has that hold.
                let measures = await test.scheduler.measures()
                #expect(measures.counters.dropped > 0 && measures.unstoredHolds == 1)
                let standing = await test.scheduler.standing(toAdministrator: false)
                #expect(standing.dropped?.unstoredHolds == 1)
            }
            for _ in 1...5 { try await test.advance(by: .seconds(60)) }
            let standing = await test.scheduler.standing(toAdministrator: false)
            #expect(standing.dropped?.unstoredHolds == 0)
            #expect(try await test.job(job.id).held == nil)
            #expect(test.fired(job.id).count > fired)
        }
    }
}
