// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

@Suite("Scheduler, what a task's attempts failed with", .timeLimit(.minutes(1)))
struct TaskReasonTests {
    @Test(
        "A task is listed with what its last attempt that has ended failed with, and with nothing of older ones"
    )
    func reasons() async throws {
        try await TestScheduler.with { test in
            _ = try await test.add(ScheduleWords(in: "1s")) {
                ($0.queue, $0.retries, $0.backoff) = ("mails", 9, "1s..1s")
            }
            try await test.advance(by: .seconds(2))
            func listed() async throws -> String {
                let task = try #require(try await test.tasks().first)
                return "\(task.attempt) \(task.state?.rawValue ?? "") \(task.reason ?? "-")"
            }
            func next(lease: TimeSpan = .seconds(60)) async throws -> QueuedTask {
                try await test.advance(by: .seconds(2))
                return try #require(try await test.reserve("mails", lease: lease).first)
            }
            _ = try await test.fail(next(), "no route")
            #expect(try await listed() == "1 delayed no route")
            let second = try await next()
            #expect(try await listed() == "2 reserved no route")
            _ = try await test.fail(second)
            #expect(try await listed() == "2 delayed -")
            _ = try await test.fail(next(), "no route")
            _ = try await next(lease: .seconds(1))
            try await test.advance(by: .seconds(2))
            #expect(try await listed() == "4 ready lost: its lease has ended")
            let fifth = try await next()
            #expect(try await listed() == "5 reserved lost: its lease has ended")
            _ = try await test.tell(fifth) {
                try $0.release(ReleasedTask($1, delay: nil), TestScheduler.root)
            }
            #expect(try await listed() == "5 ready -")
        }
    }
}
