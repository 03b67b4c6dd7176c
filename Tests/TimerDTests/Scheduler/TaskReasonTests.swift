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

    @Test(
        "The last attempt at a task says in its row where the task stands, one before it that it is over"
    )
    func rows() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(in: "0s")) {
                ($0.queue, $0.retries, $0.backoff) = ("mails", 1, "10s..10s")
            }
            func states() async throws -> [Run.State] {
                try await test.history(job.id).map(\.state)
            }
            func fail() async throws {
                let task = try #require(try await test.reserve("mails").first)
                _ = try await test.fail(task, "no route")
            }
            try await fail()
            let delayed = try #require(try await test.history(job.id).last)
            let ready = try #require(try await test.tasks().first?.readyAt)
            #expect((delayed.state, delayed.outcome) == (.queued, .failed))
            #expect(delayed.nextAttemptAt == ready)
            try await test.advance(by: .seconds(11))
            #expect(try await test.history(job.id).last?.nextAttemptAt == nil, "it is ready")
            try await fail()
            #expect(try await states() == [.done, .dead])
            _ = try await test.scheduler.care(TestScheduler.root) {
                try $0.drop(.queue("mails", state: .dead, count: nil), TestScheduler.root)
            }
            #expect(try await states() == [.done, .skipped])
            var skipped = ListRuns()
            skipped.outcome = .skipped
            let answer = try await test.handler().listRuns(skipped, TestScheduler.root)
            let reply = try #require(answer as? RunsReply)
            #expect(reply.runs.map(\.outcome) == [.failed])
            #expect(reply.runs.map(\.reason) == [.dropped])
        }
    }
}
