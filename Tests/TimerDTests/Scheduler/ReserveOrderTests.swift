// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Schedules
import Testing
import TimerControl

@testable import TimerD

/// What a worker of many queues gets, and what that takes.
@Suite("Scheduler, order of reserved tasks", .timeLimit(.minutes(2))) struct ReserveOrderTests {
    /// Adds a task that is ready for each of `queues`.
    private static func add(
        _ test: TestScheduler,
        to queues: [String],
        _ change: (inout JobDefinition, Int) -> Void = { _, _ in }
    ) async throws {
        let jobs = try queues.enumerated().map { number, queue in
            var definition = JobDefinition(schedule: ScheduleWords(in: "0s"))
            definition.queue = queue
            change(&definition, number)
            return try NewJob(definition, owner: 0, at: test.clock.now(), zone: .utc)
        }
        _ = try await test.scheduler.add(jobs, replace: false, caller: TestScheduler.root)
    }

    private static func order(_ queues: [String], count: Int) -> ReserveOrder {
        ReserveOrder(owner: .root, queues: queues, count: count, lease: .seconds(60))
    }

    @Test(
        "Of all of a worker's queues the highest priority goes first, and of one what is ready longest",
        arguments: [1, 3, 64],
        [7, 150, 1000]
    )
    func order(queueCount: Int, count: Int) async throws {
        try await TestScheduler.with { test in
            let queues = (0..<queueCount).map { "q\($0)" }
            for _ in 0..<3 {
                let names = (0..<90).map { queues[$0 * 7 % queueCount] }
                try await Self.add(test, to: names) { $0.priority = $1 * 5 % 4 }
                try await test.advance(by: .seconds(1))
            }
            try await test.settle()
            let now = test.clock.now().elapsed
            let rows = try await test.store.reader.read { database in
                try queues.flatMap { name in
                    let key = QueueKey(owner: .root, name: name)
                    return try TaskStore(database).ready(key, limit: 1000, at: now)
                }
            }
            let sorted = rows.sorted {
                ($1.priority, $0.readyAt, $0.fire.rawValue)
                    < ($0.priority, $1.readyAt, $1.fire.rawValue)
            }
            let given = try await test.scheduler.reserve(
                Self.order(queues, count: count),
                wait: .zero,
                life: nil,
                isTied: false
            )
            #expect(rows.count == 270)
            #expect(given.map(\.fire) == sorted.prefix(count).map(\.fire))
        }
    }

    @Test("What a reserve of many queues reads is for what it hands out, not for all that is ready")
    func work() async throws {
        try await TestScheduler.with { test in
            let queues = (0..<30).map { "q\($0)" }
            // Four of these fill an answer.
            try await Self.add(test, to: Array(repeating: "q0", count: 9)) { definition, _ in
                let text = String(repeating: "x", count: 60_000)
                (definition.priority, definition.userInfo) = (5, JSONText(stored: "\"\(text)\""))
            }
            func reserve() async throws -> (tasks: Int, pages: Int) {
                try await test.settle()
                let (now, order) = (test.clock.now(), Self.order(queues, count: 1000))
                return try await test.store.writer.write { database in
                    _ = database.pagesLookedAt()
                    var transaction = JobTransaction(database, at: now, horizon: .distantPast)
                    let given = try transaction.reserve([order])
                    let pages = database.pagesLookedAt()
                    _ = try transaction.finish()
                    return (tasks: given.flatMap(\.tasks).count, pages: pages)
                }
            }
            try await Self.add(test, to: queues + queues)
            let few = try await reserve()
            for _ in 0..<38 { try await Self.add(test, to: queues) }
            let many = try await reserve()
            #expect((few.tasks, many.tasks) == (4, 4))
            #expect(many.pages < 2 * few.pages)
        }
    }

    @Test("Behind tasks whose job is gone a reserve reads each of them a few times at most")
    func gone() async throws {
        try await TestScheduler.with { test in
            func reserve(behind count: Int, of queue: String) async throws -> (
                tasks: Int, pages: Int
            ) {
                try await Self.add(test, to: Array(repeating: queue, count: count))
                try await test.settle()
                try await test.store.writer.write { database in
                    try database.prepare("UPDATE tasks SET job_id = -job_id WHERE queue = ?1")
                        .run(queue)
                }
                try await test.advance(by: .seconds(1))
                try await Self.add(test, to: [queue])
                try await test.settle()
                let (now, order) = (test.clock.now(), Self.order([queue], count: 1))
                return try await test.store.writer.write { database in
                    _ = database.pagesLookedAt()
                    var transaction = JobTransaction(database, at: now, horizon: .distantPast)
                    let given = try transaction.reserve([order])
                    let pages = database.pagesLookedAt()
                    _ = try transaction.finish()
                    return (tasks: given.flatMap(\.tasks).count, pages: pages)
                }
            }
            let few = try await reserve(behind: 100, of: "few")
            let many = try await reserve(behind: 800, of: "many")
            #expect((few.tasks, many.tasks) == (1, 1))
            #expect(many.pages < 16 * few.pages)
        }
    }

    @Test("A reserve of many tasks shares its commit with what others write", .ofOneHost())
    func commit() async throws {
        try await TestScheduler.with { test in
            try await Self.add(test, to: ["mails"])
            try await test.settle()
            let (isBusy, isQueued) = (Tally(), DispatchSemaphore(value: 0))
            test.store.thread.perform {
                isBusy.add()
                isQueued.wait()
            }
            while isBusy.count == 0 { await Task.yield() }
            let before = test.store.writer.statistics.commits
            async let first: Void = Self.add(test, to: ["other"])
            while test.store.thread.queueLength < 1 { await Task.yield() }
            async let given = test.scheduler.reserveReady(Self.order(["mails"], count: 1000))
            while test.store.thread.queueLength < 2 { await Task.yield() }
            isQueued.signal()
            try await first
            #expect(try await given?.count == 1)
            #expect(test.store.writer.statistics.commits == before + 1)
        }
    }

    @Test("A worker has its place until the store has looked for it, and none while it waits")
    func place() async throws {
        try await TestScheduler.with { test in
            let (taken, given) = (Tally(), Tally())
            let place = WorkPlace(take: { taken.add() }, giveBack: { given.add() })
            var reserve = ReserveTasks(queues: ["mails"])
            reserve.wait = "1min"
            let (handler, request) = (test.handler(), Request.reserveTasks(reserve))
            async let answer = handler.handle(request, from: Owner(uid: 0), place: place)
            try await test.waits(1, for: "mails")
            #expect((taken.count, given.count) == (1, 1))
            try await Self.add(test, to: ["mails"])
            let reply = try await answer.get()
            #expect((reply as? TasksReply)?.tasks.count == 1)
            #expect(taken.count == 1, "whoever makes a task ready asks for it")
        }
    }
}
