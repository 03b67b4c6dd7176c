// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Schedules
import Testing
import TimerControl

@testable import LinuxSystem
@testable import TimerD

/// Tasks that cannot be read, and what no task can be made of.
extension TaskLossTests {
    @Test(
        "A task that cannot be read is listed with why, and none waits for it; it goes on once it can be read"
    )
    func unreadable() async throws {
        try await TestScheduler.with { test in
            for _ in 0..<2 {
                _ = try await test.add(ScheduleWords(in: "0s")) { $0.queue = "mails" }
            }
            let tasks = try await test.reserve("mails", count: 2, lease: .seconds(10))
            let (bad, good) = (try #require(tasks.first), try #require(tasks.last))
            try await HeldJobsTests.change(
                test,
                "UPDATE tasks SET state = 'moon', due_us = 1 WHERE job_id = ?1",
                bad.job
            )
            try await test.advance(by: .seconds(11))
            let listed = try await test.tasks()
            #expect(listed.map(\.fire) == [bad.fire, good.fire])
            #expect(listed.map(\.state) == [nil, .ready])
            #expect(listed.first?.reason?.contains("'moon'") == true)
            #expect(try await test.reserve("mails", count: 2).map(\.fire) == [good.fire])
            try await HeldJobsTests.change(
                test,
                "UPDATE tasks SET state = 'reserved' WHERE job_id = ?1",
                bad.job
            )
            try await test.advance(by: .seconds(3700))
            #expect(try await test.tasks().map(\.state) == [.ready, .ready])
        }
    }

    @Test(
        "What no queue can have is refused; what it would not look at is, see JobNeedsTests"
    )
    func refused() async throws {
        let changes: [@Sendable (inout JobDefinition) -> Void] = [
            { ($0.queue, $0.command) = ("q", ["true"]) },
            { ($0.queue, $0.overlap) = ("q", .queue) },
            { ($0.queue, $0.priority) = ("q", 1001) },
            { $0.keyKept = "31d" },
            { $0.queue = "" },
        ]
        try await TestScheduler.with { test in
            for change in changes {
                await #expect(throws: ControlError.self) {
                    try await test.add(ScheduleWords(in: "5s"), change)
                }
            }
        }
    }
}
