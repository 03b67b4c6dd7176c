// SPDX-License-Identifier: Apache-2.0

import SQLite
import Schedules
import Testing
import TimerControl

@testable import TimerD

/// Rows of tasks with numbers of a bad disk.
@Suite("Damaged tasks", .timeLimit(.minutes(2))) struct DamagedTaskTests {
    @Test(
        "A number that no task can have, of a damaged row, keeps neither it nor others from workers",
        arguments: ["attempt", "failures", "losses", "lease_us", "priority"],
        ["9223372036854775807", "-9223372036854775807"]
    )
    func damagedTask(column: String, number: String) async throws {
        try await TestScheduler.with { test in
            let bad = try await test.add(ScheduleWords(in: "0s")) { $0.queue = "mails" }
            let good = try await test.add(ScheduleWords(in: "0s")) { $0.queue = "mails" }
            try await HeldJobsTests.change(
                test,
                "UPDATE tasks SET \(column) = \(number) WHERE job_id = ?1",
                bad.id
            )
            let given = try await test.reserve("mails", count: 2)
            #expect(Set(given.map(\.job)) == [bad.id, good.id])
            if column == "lease_us" {
                try await HeldJobsTests.change(
                    test,
                    "UPDATE tasks SET lease_us = \(number) WHERE job_id = ?1",
                    bad.id
                )
            }
            // The start gives each worker its lease again.
            let next = try await test.crashedAndDown(for: .seconds(1))
            #expect(try await next.tasks().count == 2)
        }
    }

    @Test("A queue whose name is damaged is left out of what a changed job leaves in queues")
    func damagedName() async throws {
        try await TestScheduler.with { test in
            let database = try Database(inMemoryBeside: test.folder + "/timerd.db")
            defer { database.close() }
            // What the table itself refuses, and a bad disk does not.
            let left = try TaskStore(database).left(
                of: JobID(rawValue: 1),
                "SELECT x'00', 2 WHERE ?1 > 0 UNION ALL SELECT 'old', 1"
            )
            #expect(left.map { $0.queue } == ["old"])
        }
    }
}
