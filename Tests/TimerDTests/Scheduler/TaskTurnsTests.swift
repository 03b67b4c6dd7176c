// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import SQLite
@testable import TimerD

/// Where more tasks are due than one write takes, none of another user's keep a user's waiting.
@Suite("Scheduler, turns of due tasks", .timeLimit(.minutes(1))) struct TaskTurnsTests {
    /// Gives users as many tasks, whose delays have ended, those of the first user first.
    private static func add(_ counts: [UInt32: Int], to test: TestScheduler) async throws {
        for (uid, count) in counts.sorted(by: { $0.key < $1.key }) {
            let owner = Owner(uid: uid)
            let jobs = try (0..<count).map { _ in
                var definition = JobDefinition(schedule: ScheduleWords(in: "0s"))
                definition.queue = "mails"
                return try NewJob(definition, owner: owner, at: test.clock.now(), zone: .utc)
            }
            let caller = Caller(owner, isAdministrator: false)
            _ = try await test.scheduler.add(jobs, replace: false, caller: caller)
        }
        try await test.settle()
        let now = test.clock.now().elapsed
        try await test.store.writer.write { database in
            let delay = "UPDATE tasks SET state = 'delayed', due_us = ?1 - 100000 + fire_id"
            try database.prepare(delay).run(now)
        }
    }

    /// Does one piece of what is due; returns how many tasks each user has that are ready.
    private static func takePiece(_ test: TestScheduler) async throws -> [UInt32: Int] {
        let moment = test.clock.now()
        let rows = try await test.store.writer.write { database in
            var transaction = JobTransaction(database, at: moment, horizon: .distantPast)
            var gaps = LeaseGaps()
            try transaction.takeDueTasks(&gaps, at: moment.elapsed)
            _ = try transaction.finish()
            let ready = """
                SELECT owners.uid, count(*) FROM tasks JOIN owners ON owners.id = tasks.owner_id
                WHERE tasks.state = 'ready' GROUP BY 1
                """
            return try database.prepare(ready).all {
                (uid: try $0.get(0, as: UInt32.self), count: try $0.get(1, as: Int.self))
            }
        }
        return Dictionary(uniqueKeysWithValues: rows.map { ($0.uid, $0.count) })
    }

    @Test("A task that is due behind many of another user's is done with the first of them")
    func shares() async throws {
        try await TestScheduler.with { test in
            try await Self.add([1001: 250, 1002: 1], to: test)
            #expect(try await Self.takePiece(test) == [1001: 50, 1002: 1])
            #expect(try await Self.takePiece(test) == [1001: 150, 1002: 1])
            #expect(try await Self.takePiece(test) == [1001: 250, 1002: 1])
        }
    }

    @Test("Tasks of no user that there can be, in damaged rows, are done as well")
    func damagedOwner() async throws {
        try await TestScheduler.with { test in
            try await Self.add([1001: 150], to: test)
            try await test.store.writer.write { database in
                try database.execute("UPDATE tasks SET owner_id = -5")
            }
            for ready in [100, 150] {
                _ = try await Self.takePiece(test)
                let count: Int? = try await test.store.writer.write { database in
                    try database.prepare("SELECT count(*) FROM tasks WHERE state = 'ready'").value()
                }
                #expect(count == ready)
            }
        }
    }

    @Test("Of more users than one write has shares the rest come first in the next")
    func rotation() async throws {
        try await TestScheduler.with { test in
            let users = (1001...1120).map(UInt32.init)
            try await Self.add(Dictionary(uniqueKeysWithValues: users.map { ($0, 2) }), to: test)
            #expect(try await Self.takePiece(test).count == 100)
            #expect(try await Self.takePiece(test).keys.sorted() == users)
        }
    }
}
