// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

/// How often one write looks into the store for workers who wait.
@Suite("Scheduler, looks at queues", .timeLimit(.minutes(1))) struct QueueLooksTests {
    /// A worker who wants one task of any of these queues.
    private static func order(_ queues: [String]) -> ReserveOrder {
        ReserveOrder(owner: .root, queues: queues, count: 1, lease: .seconds(60))
    }

    @Test("A queue is read once, with a row or without, and again once a task of it was handed out")
    func onceEach() async throws {
        try await TestScheduler.with { test in
            _ = try await test.add(ScheduleWords(in: "0s")) { $0.queue = "mails" }
            let ready = try await test.store.writer.write { database in
                var looks = QueueLooks(QueueStore(database))
                let key = QueueKey(owner: .root, name: "mails")
                var ready: [Int?] = []
                for name in ["mails", "mails", "none", "none"] {
                    let key = QueueKey(owner: .root, name: name)
                    ready.append(try looks.queue(key)?.ready)
                }
                #expect(looks.count == 2)
                looks.forget(key)
                ready.append(try looks.queue(key)?.ready)
                #expect(looks.count == 3)
                return ready
            }
            #expect(ready == [1, 1, nil, nil, 1])
        }
    }

    @Test("Whoever is left once a write has looked a thousand times gets his of the next")
    func bound() async throws {
        try await TestScheduler.with { test in
            let now = test.clock.now()
            let (apart, together) = try await test.store.writer.write { database in
                var transaction = JobTransaction(database, at: now, horizon: .distantPast)
                let names = { (worker: Int) in (0..<64).map { "\(worker).\($0)" } }
                let apart = try transaction.reserve((1...20).map { Self.order(names($0)) })
                let together = try transaction.reserve((1...99).map { _ in Self.order(names(1)) })
                _ = try transaction.finish()
                return (apart.map(\.isPutOff), together.map(\.isPutOff))
            }
            let most = JobTransaction.looksAtOnce / 64
            #expect(apart.prefix(most).allSatisfy { !$0 })
            #expect(apart.dropFirst(most).allSatisfy { $0 })
            #expect(together.allSatisfy { !$0 }, "they all wait for the same queues")
        }
    }

    @Test("Of a queue that has handed out what it may, the next worker of a write gets none")
    func limit() async throws {
        try await TestScheduler.with { test in
            var request = SetQueue(queue: "mails")
            request.maxReserved = 1
            _ = try await test.scheduler.care(TestScheduler.root) { [request] transaction in
                try transaction.set(request, TestScheduler.root)
            }
            for _ in 0..<2 {
                _ = try await test.add(ScheduleWords(in: "0s")) { $0.queue = "mails" }
            }
            let now = test.clock.now()
            let given = try await test.store.writer.write { database in
                var transaction = JobTransaction(database, at: now, horizon: .distantPast)
                let orders = [Self.order(["mails"]), Self.order(["mails"])]
                let given = try transaction.reserve(orders)
                _ = try transaction.finish()
                return given.map(\.tasks.count)
            }
            #expect(given == [1, 0])
        }
    }

    @Test("Forty workers of the same queues get a task each, whichever queue has it")
    func everybody() async throws {
        try await TestScheduler.with { test in
            let names = (0..<40).map { "q\($0)" }
            var workers: [Task<[QueuedTask], any Error>] = []
            for _ in names {
                let order = Self.order(names)
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
            }
            try await test.waits(workers.count, for: "q0")
            let jobs = try names.map { name in
                var definition = JobDefinition(schedule: ScheduleWords(in: "0s"))
                definition.queue = name
                return try NewJob(definition, owner: 0, at: test.clock.now(), zone: .utc)
            }
            _ = try await test.scheduler.add(jobs, replace: false, caller: TestScheduler.root)
            var given: [String] = []
            for worker in workers { given += try await worker.value.map(\.queue) }
            #expect(given.sorted() == names.sorted())
        }
    }
}
