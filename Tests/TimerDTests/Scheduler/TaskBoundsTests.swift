// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import LinuxSystem
@testable import SQLite
@testable import TimerD

/// What is not handed out, and what is not taken in.
@Suite("Scheduler, bounds of tasks", .timeLimit(.minutes(2)))
struct TaskBoundsTests {
    @Test("Who has shut down its writing is handed nothing that is tied to its connection")
    func silent() async throws {
        try await TestScheduler.with { test in
            let life = ConnectionLife()
            _ = try await test.add(ScheduleWords(in: "0s")) { $0.queue = "mails" }
            let held = try await test.reserve("mails", life: life)
            #expect(held.map(\.attempt) == [1])
            async let waiting = test.reserve("mails", wait: .seconds(60), life: life)
            try await test.waits(1, for: "mails")
            life.fallSilent()
            let waited = try await waiting
            #expect(waited.isEmpty, "and does not wait for it")
            try await test.settle()
            #expect(try await test.tasks().map(\.state) == [.ready], "what it had goes back")
            #expect(try await test.reserve("mails", life: life).isEmpty)
            let next = try await test.reserve("mails")
            #expect(next.map(\.attempt) == [2], "what was not handed out was no attempt")
        }
    }

    @Test(
        "Where the wait alone ends with the writing, it is answered then, and tasks stay their worker's"
    )
    func waitWhileConnected() async throws {
        try await TestScheduler.with { test in
            let life = ConnectionLife()
            _ = try await test.add(ScheduleWords(in: "0s")) { $0.queue = "mails" }
            let held = try await test.reserve("mails", life: life, isTied: false)
            #expect(held.map(\.attempt) == [1])
            async let waiting = test.reserve("mails", wait: .hours(1), life: life, isTied: false)
            try await test.waits(1, for: "mails")
            life.fallSilent()
            #expect(try await waiting.isEmpty)
            _ = try await test.add(ScheduleWords(in: "0s")) { $0.queue = "mails" }
            try await test.settle()
            #expect(
                try await test.tasks().map(\.state) == [.reserved, .ready],
                "nothing more is handed to it"
            )
            life.end()
            try await test.settle()
            #expect(try await test.tasks().map(\.state) == [.reserved, .ready])
        }
    }

    @Test("A list of tasks that are due at once counts with what is there, but for known keys")
    func quota() async throws {
        try await TestScheduler.with { test in
            var settings = await test.scheduler.settings
            settings.maxTasksPerUser = 5
            await test.scheduler.reload(settings)
            let caller = Caller(uid: 1000, isAdministrator: false)
            func add(_ keys: [String], in time: String = "0s") async throws -> Int {
                let jobs = try keys.map { key in
                    var definition = JobDefinition(schedule: ScheduleWords(in: time))
                    (definition.queue, definition.key) = ("mails", key)
                    return try NewJob(definition, owner: 1000, at: test.clock.now(), zone: .utc)
                }
                let added = try await test.scheduler.add(jobs, replace: false, caller: caller)
                return added.count { !$0.isExisting }
            }
            let first = try await add(["a", "b", "c"])
            await #expect(throws: ControlError.self) { try await add(["d", "e", "f"]) }
            let counts = [first, try await add(["d", "e"]), try await add(["a", "e"])]
            #expect(counts == [3, 2, 0], "what is there takes no room")
            await #expect(throws: ControlError.self) { try await add(["g"]) }
            await #expect(throws: ControlError.self) { try await add(["g"], in: "1h") }
        }
    }

    @Test(
        "Beyond maxTasksPerUser no job is fired by hand, changed into one with a queue, or restored"
    )
    func quotaOtherwise() async throws {
        try await TestScheduler.with { test in
            var settings = await test.scheduler.settings
            settings.maxTasksPerUser = 2
            await test.scheduler.reload(settings)
            let caller = Caller(uid: 1000, isAdministrator: false)
            func job(_ change: (inout JobDefinition) -> Void) throws -> NewJob {
                var definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
                change(&definition)
                return try NewJob(definition, owner: 1000, at: test.clock.now(), zone: .utc)
            }
            func add(_ change: (inout JobDefinition) -> Void) async throws -> StoredJob {
                try await test.scheduler.add([job(change)], replace: false, caller: caller)[0]
            }
            func isRefused(_ body: () async throws -> Void) async throws -> Bool {
                do { try await body() } catch let error as ControlError {
                    #expect(error.reason == .limitReached, "\(error.message)")
                    return true
                }
                return false
            }
            let gone = try await add { $0.queue = "mails" }
            _ = try await test.scheduler.change(.ids([gone.id]), .invalidate, caller: caller)
            let event = try await add { $0.name = "event" }
            let once = try await add { ($0.queue, $0.schedule) = ("mails", .init(in: "1h")) }
            let often = try await add { ($0.queue, $0.overlap) = ("mails", .allow) }
            for _ in 0..<2 { _ = try await test.scheduler.fire(.id(often.id), caller: caller) }
            let refused = try await [
                isRefused { _ = try await test.scheduler.fire(.id(often.id), caller: caller) },
                isRefused {
                    let change = JobChanges.Change(
                        id: event.id,
                        to: try job { $0.queue = "mails" }
                    )
                    let changes = JobChanges(invalidate: [], change: [change], add: [])
                    _ = try await test.scheduler.apply(changes, caller: caller)
                },
                isRefused {
                    _ = try await test.scheduler.restore(.ids([gone.id]), caller: caller)
                },
                // That one was accepted before, and fires once.
                isRefused { _ = try await test.scheduler.fire(.id(once.id), caller: caller) },
            ]
            #expect(refused == [true, true, true, false])
            #expect(try await test.queue("mails")?.ready == 3)
        }
    }

    @Test("A job is changed to no queue beyond the thousand that its owner may have")
    func queuesByChange() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "1h")) { $0.queue = "a" }
            try await test.store.writer.write { database in
                let owner = try Owners(database).row(of: .root)
                for number in 1..<1000 {
                    let key = QueueKey(owner: owner, name: "\(number)")
                    try QueueStore(database).add(key)
                    guard var queue = try QueueStore(database).queue(key) else { continue }
                    queue.maxReserved = 1
                    try QueueStore(database).set(queue)
                }
            }
            _ = try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
            var definition = job.definition
            definition.queue = "b"
            let new = try NewJob(definition, owner: 0, at: test.clock.now(), zone: .utc)
            let changes = JobChanges(invalidate: [], change: [.init(id: job.id, to: new)], add: [])
            await #expect(throws: ControlError.self) {
                try await test.scheduler.apply(changes, caller: TestScheduler.root)
            }
        }
    }

    @Test("A list of queues ends at its limit and at 256 KiB, and goes on behind that")
    func pages() async throws {
        try await TestScheduler.with { test in
            // Names that are as long as they may be.
            let names = (100..<1000).map { "\($0)" + String(repeating: "x", count: 252) }
            try await test.store.writer.write { database in
                let owners = [
                    try Owners(database).row(of: Owner(uid: 1000)),
                    try Owners(database).row(of: Owner(uid: 1001)),
                ]
                for key in owners.flatMap({ owner in names.map { (owner, $0) } }) {
                    try QueueStore(database).add(QueueKey(owner: key.0, name: key.1))
                }
            }
            func list(_ limit: Int, _ owner: UInt32? = nil) async throws -> (
                sizes: [Int], names: [String]
            ) {
                try await test.store.reader.read { database in
                    let queries = Queries(database)
                    var request = ListQueues()
                    request.limit = limit
                    var all: (sizes: [Int], names: [String]) = ([], [])
                    repeat {
                        let id = try owner.flatMap { try queries.id(of: Owner(uid: $0)) }
                        let (page, cursor) = try queries.queues(request, owner: id)
                        all.sizes.append(page.count)
                        all.names += page.map(\.row.key.name)
                        request.cursor = cursor
                    } while request.cursor != nil
                    return all
                }
            }
            let own = try await list(700, 1000)
            #expect(own.names == names && own.sizes.max() ?? 0 < 500, "by bytes")
            #expect(try await list(100).names == names + names)
            #expect(try await list(100).sizes.max() == 100)
        }
    }

    /// A job with 200 tasks.
    private static func addMany(_ test: TestScheduler) async throws -> JobID {
        let job = try await test.add(ScheduleWords(every: "1d")) {
            ($0.queue, $0.overlap) = ("mails", .allow)
        }
        for _ in 1...200 {
            _ = try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
        }
        return job.id
    }

    @Test(
        "Of a job that is invalidated many tasks go in pieces: none is handed out meanwhile, a crash keeps none, nor an undo"
    )
    func pieces() async throws {
        try await TestScheduler.with { test in
            let job = try await Self.addMany(test)
            try await test.change(job, .invalidate)
            #expect(try await test.queue("mails")?.ready == 0)
            #expect(test.sink.all(.fireSkipped).count { $0.job == job } == 200)

            let second = try await Self.addMany(test)
            let other = try await test.add(ScheduleWords(in: "0s")) { $0.queue = "mails" }
            #expect(try await test.queue("mails")?.ready == 201)
            let now = test.clock.now()
            let order = ReserveOrder(
                owner: .root,
                queues: ["mails"],
                count: 10,
                lease: .seconds(60)
            )
            // As the first write leaves it.
            try await test.store.writer.write { database in
                var writer = JobTransaction(database, at: now, horizon: .distantPast)
                _ = try writer.change(.ids([second]), .invalidate, caller: TestScheduler.root)
                let left = 200 - JobTransaction.droppedAtOnce
                #expect(writer.outcome.left.map(\.fires.count) == [left])
                // None of those are in the way of another job's, which was behind them.
                let given = try writer.reserve([order]).flatMap(\.tasks)
                #expect(given.map(\.job) == [other.id])
                _ = try writer.finish()
            }
            #expect(try await test.queue("mails")?.ready == 0)
            let after = try await test.crashed()
            #expect(try await after.queue("mails")?.ready == 0)
            #expect(try await after.history(second).allSatisfy { $0.state == .skipped })
            try await after.close()
            _ = try await test.scheduler.restore(.ids([second]), caller: TestScheduler.root)
            #expect(try await test.queue("mails")?.ready == 0)
        }
    }

    @Test("A reserve reads the userInfo of what it hands out, and not of all that is ready")
    func largeTasks() async throws {
        try await TestScheduler.with { test in
            for _ in 0..<100 {
                _ = try await test.add(ScheduleWords(in: "0s")) {
                    let text = String(repeating: "x", count: 60_000)
                    ($0.queue, $0.userInfo) = ("mails", JSONText(stored: "\"\(text)\""))
                }
            }
            try await test.advance(by: .seconds(1))
            #expect(try await test.queue("mails")?.ready == 100)
            let now = test.clock.now()
            let order = ReserveOrder(
                owner: .root,
                queues: ["mails"],
                count: 100,
                lease: .seconds(60)
            )
            let (tasks, pages) = try await test.store.writer.write { database in
                _ = database.pagesLookedAt()
                var transaction = JobTransaction(database, at: now, horizon: .distantPast)
                let given = try transaction.reserve([order])
                let pages = database.pagesLookedAt()
                _ = try transaction.finish()
                return (given.flatMap(\.tasks), pages)
            }
            #expect(tasks.map { $0.userInfo?.text.utf8.count } == [60_002, 60_002, 60_002, 60_002])
            // One userInfo has 30 pages.
            #expect(pages < 2000)
        }
    }

    @Test(
        "A page of queues has a cursor where there are more, and none where they are all",
        arguments: [1, 2, 3]
    )
    func lastPage(limit: Int) async throws {
        try await TestScheduler.with { test in
            for name in ["mails", "others"] {
                _ = try await test.add(ScheduleWords(in: "0s")) { $0.queue = name }
            }
            try await test.settle()
            var request = ListQueues()
            request.limit = limit
            let answer = try await test.handler().listQueues(request, TestScheduler.root)
            let reply = try #require(answer as? QueuesReply)
            #expect(reply.queues.count == min(limit, 2))
            #expect((reply.cursor != nil) == (limit < 2))
        }
    }

    @Test(
        "A limit, a rate or a number that no queue can have, of a damaged row, counts as none",
        arguments: [
            "rate_count = 0, rate_us = 1000000", "rate_count = -7, rate_us = 1000000",
            "rate_count = 5, rate_us = 0", "rate_count = 5, rate_us = 9223372036854775807",
            "rate_count = 9223372036854775807, rate_us = 1", "max_reserved = -9223372036854775807",
            "reserved = -9223372036854775807, max_reserved = 5",
            "ready = 9223372036854775807, delayed = 9223372036854775807",
        ]
    )
    func damaged(words: String) async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(in: "0s")) { $0.queue = "mails" }
            _ = try await test.add(ScheduleWords(in: "0s")) { $0.queue = "others" }
            try await HeldJobsTests.change(
                test,
                "UPDATE queues SET \(words) WHERE name = 'mails' AND ?1 > 0",
                job.id
            )
            #expect(try await test.reserve("mails").map(\.job) == [job.id])
            #expect(try await test.queue("mails")?.rate == nil)
            let standing = try await test.store.reader.read { try QueueStore($0).standing() }
            #expect(standing.ready > 0)
        }
    }

    @Test("A task whose 'until' has passed is not handed out, also where it is not skipped yet")
    func expired() async throws {
        try await TestScheduler.with { test in
            let until = (TestScheduler.start + .seconds(30)).rfc3339
            _ = try await test.add(ScheduleWords(every: "20s")) {
                ($0.queue, $0.until) = ("mails", until)
            }
            try await test.advance(by: .seconds(21))
            let now = test.clock.now().elapsed
            let counts = try await test.store.reader.read { database in
                try [now, now + .seconds(9)].map {
                    let key = QueueKey(owner: .root, name: "mails")
                    return try TaskStore(database).ready(key, limit: 10, at: $0).count
                }
            }
            #expect(counts == [1, 0])
        }
    }
}
