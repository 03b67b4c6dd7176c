// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

/// How workers share what comes, and what another rate of a queue counts.
@Suite("Scheduler, shares of tasks", .timeLimit(.minutes(1))) struct TaskSharesTests {
    struct Case: Sendable, CustomTestStringConvertible {
        /// The queues of each worker that waits, in the order in which they came.
        var workers: [[String]]
        /// How many tasks each queue gets, all at once.
        var tasks: [String: Int]
        /// How many of each queue each worker has then.
        var given: [[String: Int]]

        var testDescription: String { "\(workers) share \(tasks)" }
    }

    @Test(
        "Who came first is served first, and each has its share of each of its queues",
        arguments: [
            Case(
                workers: [["a"], ["a", "b"]],
                tasks: ["a": 1, "b": 6],
                given: [["a": 1], ["b": 6]]
            ),
            Case(
                workers: [["a"], ["a", "b"], ["b"]],
                tasks: ["a": 4, "b": 4],
                given: [["a": 2], ["a": 2, "b": 2], ["b": 2]]
            ),
            Case(
                workers: [["a", "b"], ["a"]],
                tasks: ["a": 4, "b": 4],
                given: [["a": 2, "b": 4], ["a": 2]]
            ),
            Case(
                workers: [["a"], ["a"], ["a"]],
                tasks: ["a": 7],
                given: [["a": 2], ["a": 2], ["a": 3]]
            ),
            // More than one write hands out.
            Case(
                workers: Array(repeating: ["a"], count: 5),
                tasks: ["a": 500],
                given: Array(repeating: ["a": 100], count: 5)
            ),
            // The fourth is left to the next write, and comes before the fifth all the same.
            Case(
                workers: [["a"], ["a"], ["a"], ["a", "b"], ["b"]],
                tasks: ["a": 380, "b": 2],
                given: [["a": 95], ["a": 95], ["a": 95], ["a": 95, "b": 1], ["b": 1]]
            ),
        ]
    )
    func shares(case: Case) async throws {
        try await TestScheduler.with { test in
            var (waiting, workers): ([String: Int], [Task<[QueuedTask], any Error>]) = ([:], [])
            for queues in `case`.workers {
                let order = ReserveOrder(
                    owner: .root,
                    queues: queues,
                    count: 100,
                    lease: .seconds(60)
                )
                workers.append(
                    Task {
                        try await test.scheduler.reserve(
                            order,
                            wait: .seconds(60),
                            life: nil,
                            isTied: false
                        )
                    }
                )
                for queue in queues { waiting[queue, default: 0] += 1 }
                try await test.waits(waiting[queues[0]] ?? 0, for: queues[0])
            }
            let jobs = try `case`.tasks.flatMap { queue, count in
                try (0..<count).map { _ in
                    var definition = JobDefinition(schedule: ScheduleWords(in: "0s"))
                    definition.queue = queue
                    return try NewJob(definition, owner: 0, at: test.clock.now(), zone: .utc)
                }
            }
            _ = try await test.scheduler.add(jobs, replace: false, caller: TestScheduler.root)
            var given: [[String: Int]] = []
            for worker in workers {
                given.append(
                    Dictionary(grouping: try await worker.value, by: \.queue).mapValues(\.count)
                )
            }
            #expect(given == `case`.given)
        }
    }

    @Test(
        "Whom the store has not looked for, as those in front got enough, gets what has come meanwhile, also where his time is over",
        arguments: [false, true]
    )
    func putOff(isOver: Bool) async throws {
        try await TestScheduler.with { test in
            let pause: @Sendable (Bool) -> SetQueue = { isPaused in
                var request = SetQueue(queue: "b")
                request.paused = isPaused
                return request
            }
            _ = try await test.scheduler.care(TestScheduler.root) { transaction in
                try transaction.set(pause(true), TestScheduler.root)
            }
            let jobs = try (0..<600).map { _ in
                var definition = JobDefinition(schedule: ScheduleWords(in: "0s"))
                definition.queue = "b"
                return try NewJob(definition, owner: 0, at: test.clock.now(), zone: .utc)
            }
            _ = try await test.scheduler.add(jobs, replace: false, caller: TestScheduler.root)
            var workers: [Task<[QueuedTask], any Error>] = []
            for queues in [["a"], ["a", "b"], ["a", "b"]] {
                let order = ReserveOrder(
                    owner: .root,
                    queues: queues,
                    count: 1000,
                    lease: .seconds(60)
                )
                workers.append(
                    Task {
                        try await test.scheduler.reserve(
                            order,
                            wait: .seconds(60),
                            life: nil,
                            isTied: false
                        )
                    }
                )
                try await test.waits(workers.count, for: "a")
            }
            // The store is asked for all three, for the sake of 'a', before it has told that 'b' goes on.
            await test.loop.ask { [scheduler = test.scheduler] in
                scheduler.assumeIsolated { scheduler in
                    scheduler.submitWrite { try $0.set(pause(false), TestScheduler.root) }
                    var outcomes = TaskOutcomes()
                    outcomes.ready = [QueueKey(owner: .root, name: "a")]
                    scheduler.take(outcomes)
                    if isOver, let last = scheduler.taskWaits.waiters.keys.max() {
                        scheduler.taskWaitIsOver(last)
                    }
                }
            }
            #expect(try await workers[1].value.count == 300)
            #expect(try await workers[2].value.count == 300)
            workers[0].cancel()
        }
    }

    @Test("Nobody who came later gets the task of one whom a write has not looked for")
    func order() async throws {
        try await TestScheduler.with { test in
            // Of so many queues one write looks for fewer workers than it is asked for.
            let queues = (0..<64).map { "q\($0)" }
            let order = ReserveOrder(owner: .root, queues: queues, count: 1, lease: .seconds(60))
            var workers: [Task<[QueuedTask], any Error>] = []
            for number in 1...40 {
                workers.append(
                    Task {
                        try await test.scheduler.reserve(
                            order,
                            wait: .seconds(60),
                            life: nil,
                            isTied: false
                        )
                    }
                )
                try await test.waits(number, for: "q0")
            }
            let jobs = try queues.prefix(20).map { queue in
                var definition = JobDefinition(schedule: ScheduleWords(in: "0s"))
                definition.queue = queue
                return try NewJob(definition, owner: 0, at: test.clock.now(), zone: .utc)
            }
            _ = try await test.scheduler.add(jobs, replace: false, caller: TestScheduler.root)
            try await test.waits(20, for: "q0")
            let left = await test.loop.ask { [scheduler = test.scheduler] in
                scheduler.assumeIsolated { $0.taskWaits.waiters.keys.sorted() }
            }
            #expect(left == Array(21...40))
            for worker in workers { worker.cancel() }
        }
    }

    @Test(
        "Another rate puts the next task off by no more than one of its own",
        arguments: [
            ("1/h", "1000/s", TimeSpan.milliseconds(100)), ("2/min", "1000/s", .milliseconds(100)),
            ("1/h", "20/h", .seconds(180)), ("1000/s", "1/min", .seconds(1)),
        ]
    )
    func rateChanged(old: String, new: String, wait: TimeSpan) async throws {
        try await TestScheduler.with { test in
            func set(_ rate: String) async throws {
                _ = try await test.scheduler.care(TestScheduler.root) { transaction in
                    var request = SetQueue(queue: "mails")
                    request.maxRate = rate
                    return try transaction.set(request, TestScheduler.root)
                }
            }
            for _ in 0..<3 {
                _ = try await test.add(ScheduleWords(in: "0s")) { $0.queue = "mails" }
            }
            try await set(old)
            #expect(try await test.reserve("mails").count == 1)
            try await set(new)
            try await test.advance(by: wait)
            #expect(try await test.reserve("mails").count == 1)
        }
    }
}
