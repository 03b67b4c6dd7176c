// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

extension TaskCareTests {
    /// Makes three tasks of jobs whose `until` will have passed in a minute, and one of a job without, and reserves all.
    private func reserved(_ queue: String, _ test: TestScheduler) async throws -> [QueuedTask] {
        let until = (TestScheduler.start + .seconds(60)).rfc3339
        for end in [until, until, until, nil] {
            _ = try await test.add(ScheduleWords(in: "0s")) { ($0.queue, $0.until) = (queue, end) }
        }
        return try await test.reserve(queue, count: 4)
    }

    @Test("A task whose 'until' has passed is neither retried nor counted, nor in another's way")
    func retriedTooLate() async throws {
        try await TestScheduler.with { test in
            for task in try await reserved("mails", test) {
                #expect(try await test.fail(task).state == .dead)
            }
            try await test.advance(by: .seconds(61))
            func retry(_ selection: TaskSelection) async throws -> Int {
                try await test.scheduler.care(TestScheduler.root) {
                    try $0.retry(selection, TestScheduler.root)
                }
            }
            #expect(try await retry(.queue("mails", count: 1)) == 1)
            #expect(try await retry(.queue("mails", count: nil)) == 0)
            let dead = try await test.tasks().filter { $0.state == .dead }
            #expect(dead.count == 3)
            let refused = await #expect(throws: ControlError.self) {
                _ = try await retry(.fires(dead.map(\.fire)))
            }
            #expect(refused?.reason == .conflict)
            #expect(refused?.message.contains("'until' of job \(dead[0].job)") == true)
            #expect(try await test.queue("mails")?.ready == 1)
            #expect(test.sink.all(.fireSkipped).isEmpty)
        }
    }

    @Test("A task whose 'until' has passed is neither kicked nor counted, nor in another's way")
    func kickedTooLate() async throws {
        try await TestScheduler.with { test in
            for task in try await reserved("mails", test) {
                let told = try await test.tell(task) {
                    try $0.release(ReleasedTask($1, delay: "1h"), TestScheduler.root)
                }
                #expect(told.state == .delayed)
            }
            try await test.advance(by: .seconds(61))
            func kick(_ count: Int?) async throws -> Int {
                try await test.scheduler.care(TestScheduler.root) {
                    try $0.kick(KickTasks(queue: "mails", count: count), TestScheduler.root)
                }
            }
            #expect(try await kick(1) == 1)
            #expect(try await kick(nil) == 0)
            let queue = try #require(try await test.queue("mails"))
            #expect((queue.ready, queue.delayed) == (1, 3))
            #expect(test.sink.all(.fireSkipped).isEmpty)
        }
    }

    @Test("After a step of the clock all tasks go by it, however many there are")
    func manyAfterStep() async throws {
        try await TestScheduler.with { test in
            let until = (TestScheduler.start + .seconds(7200)).rfc3339
            let new = try (0..<150).map { _ in
                var definition = JobDefinition(schedule: ScheduleWords(in: "0s"))
                (definition.queue, definition.until) = ("mails", until)
                return try NewJob(definition, owner: 0, at: test.clock.now(), zone: .utc)
            }
            _ = try await test.scheduler.add(new, replace: false, caller: TestScheduler.root)
            #expect(try await test.queue("mails")?.ready == 150)
            test.clock.step(by: .seconds(3600))
            _ = await test.scheduler.clockStepped()
            try await test.advance(by: .seconds(3601))
            #expect(try await test.queue("mails")?.ready == 0)
        }
    }

    /// Makes 1000 tasks of jobs whose `until` has passed, and one of a job without behind them, and has `rest` put each out of
    /// the workers' reach; returns the first of them.
    private func behindThousand(
        _ test: TestScheduler,
        _ rest: @escaping @Sendable (inout JobTransaction, TaskReference) throws -> TaskOutcome
    ) async throws -> FireID {
        let until = (TestScheduler.start + .seconds(60)).rfc3339
        let ends: [String?] = Array(repeating: until, count: 1000) + [nil]
        let new = try ends.map { end in
            var definition = JobDefinition(schedule: ScheduleWords(in: "0s"))
            (definition.queue, definition.until) = ("mails", end)
            return try NewJob(definition, owner: 0, at: test.clock.now(), zone: .utc)
        }
        let jobs = try await test.scheduler.add(new, replace: false, caller: TestScheduler.root)
        try await test.settle()
        var tasks: [QueuedTask] = []
        while true {
            // An answer has room for some of them.
            let more = try await test.reserve("mails", count: 1000)
            if more.isEmpty { break }
            tasks += more
        }
        #expect(tasks.count == jobs.count)
        let last = try #require(jobs.last).id
        for isLast in [false, true] {
            let chosen = tasks.filter { ($0.job == last) == isLast }.compactMap(\.reference)
            try await test.scheduler.care(TestScheduler.root) { transaction in
                for reference in chosen { _ = try rest(&transaction, reference) }
            }
            try await test.advance(by: .seconds(1))
        }
        try await test.advance(by: .seconds(60))
        return try #require(tasks.map(\.fire).min())
    }

    private func drop(_ fire: FireID, _ test: TestScheduler) async throws -> Int {
        try await test.scheduler.care(TestScheduler.root) {
            try $0.drop(.fires([fire]), TestScheduler.root)
        }
    }

    @Test("Behind 1000 dead tasks that stay as they are nothing is retried; behind 999 it is")
    func retriedBehindMany() async throws {
        try await TestScheduler.with { test in
            let first = try await behindThousand(test) {
                try $0.fail(FailedTask($1), TestScheduler.root)
            }
            func retry() async throws -> Int {
                try await test.scheduler.care(TestScheduler.root) {
                    try $0.retry(.queue("mails", count: 10), TestScheduler.root)
                }
            }
            #expect(try await retry() == 0)
            #expect(try await drop(first, test) == 1)
            #expect(try await retry() == 1)
            #expect(try await test.queue("mails")?.ready == 1)
        }
    }

    @Test("Behind 1000 delayed tasks that stay as they are nothing is kicked; behind 999 it is")
    func kickedBehindMany() async throws {
        try await TestScheduler.with { test in
            let first = try await behindThousand(test) {
                try $0.release(ReleasedTask($1, delay: "1h"), TestScheduler.root)
            }
            func kick() async throws -> Int {
                try await test.scheduler.care(TestScheduler.root) {
                    try $0.kick(KickTasks(queue: "mails", count: 10), TestScheduler.root)
                }
            }
            #expect(try await kick() == 0)
            #expect(try await drop(first, test) == 1)
            #expect(try await kick() == 1)
            #expect(try await test.queue("mails")?.ready == 1)
        }
    }
}
