// SPDX-License-Identifier: Apache-2.0

import Locks
import Schedules
import Testing
import TimerControl

@testable import TimerD

@Suite("Scheduler, tasks of queues", .timeLimit(.minutes(2)))
struct TaskTests {
    @Test("A fire becomes a task that one worker has until it is finished, and its row says so")
    func finished() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(in: "5s")) {
                $0.queue = "mails"
                $0.userInfo = JSONText(stored: #"{"to":"ann"}"#)
            }
            #expect(try await test.reserve("mails").isEmpty, "its date has not come")
            try await test.advance(by: .seconds(6))
            #expect(test.fired(job.id) == [5])
            #expect(try await test.history(job.id).map(\.state) == [.queued])
            let task = try #require(try await test.reserve("other", "mails").first)
            #expect((task.job, task.attempt, task.userInfo?.text) == (job.id, 1, #"{"to":"ann"}"#))
            #expect(try await test.reserve("mails").isEmpty, "one worker has it alone")
            #expect(try await test.history(job.id).map(\.state) == [.reserved])
            #expect(try await test.finish(task).state == .done)
            #expect(try await test.finish(task).state == .done, "said again, it is answered again")
            let history = try await test.history(job.id)
            #expect(history.map(\.state) == [.done])
            #expect(history.map(\.outcome) == [.finished])
            #expect(try await test.tasks().isEmpty)
            let queue = try #require(try await test.queue("mails"))
            #expect((queue.ready, queue.delayed, queue.reserved, queue.dead) == (0, 0, 0, 0))
        }
    }

    @Test(
        "A task that is due when its job is added is ready with it, in one write and without a timer"
    )
    func atOnce() async throws {
        try await TestScheduler.with { test in
            let timers = test.loop.timersMade
            let job = try await test.add(ScheduleWords(in: "0s")) { $0.queue = "mails" }
            #expect(job.state == .finished)
            #expect(try await test.history(job.id).map(\.state) == [.queued])
            #expect(test.loop.timersMade == timers)
            #expect(test.sink.all.map(\.type) == [.jobAdded, .fireFired, .jobFinished])
            let task = try #require(try await test.reserve("mails").first)
            #expect((task.job, task.fireDate) == (job.id, TestScheduler.start))
            #expect(try await test.finish(task).state == .done)
            let measures = await test.loop.ask { [scheduler = test.scheduler] in
                scheduler.assumeIsolated { $0.measures() }
            }
            let fires = measures.counters.fires
            #expect((fires.task, fires.event, fires.command) == (1, 0, 0))
        }
    }

    @Test("The oldest task of a queue is told whatever its priority, and in the totals of all")
    func oldest() async throws {
        try await TestScheduler.with { test in
            for (priority, after) in [(-5, 0), (9, 10), (0, 20)] as [(Int, Int64)] {
                try await test.advance(by: .seconds(after))
                _ = try await test.add(ScheduleWords(in: "0s")) {
                    ($0.queue, $0.priority) = ("mails", priority)
                }
            }
            _ = try await test.add(ScheduleWords(in: "0s")) { $0.queue = "others" }
            let reserved = try #require(try await test.reserve("others").first)
            _ = try await test.fail(reserved)
            try await test.settle()
            let (oldest, standing) = try await test.store.reader.read { database in
                let queues = QueueStore(database)
                let key = QueueKey(owner: .root, name: "mails")
                return (try queues.oldest(key), try queues.standing())
            }
            let first = test.clock.now().elapsed - .seconds(30)
            #expect(oldest == first && standing.oldest == first)
            #expect((standing.ready, standing.dead, standing.reserved) == (3, 1, 0))
        }
    }

    @Test("A worker that waits gets the task that is ready with its job; a paused job has none")
    func atOnceForWaiting() async throws {
        try await TestScheduler.with { test in
            _ = try await test.add(ScheduleWords(in: "0s")) {
                ($0.queue, $0.paused) = ("mails", true)
            }
            async let waiting = test.reserve("mails", wait: .seconds(60))
            try await test.waits(1, for: "mails")
            let job = try await test.add(ScheduleWords(in: "0s")) { $0.queue = "mails" }
            #expect(try await waiting.map(\.job) == [job.id])
        }
    }

    @Test(
        "A failure costs a retry after the backoff; without retries left the task is dead until it is retried"
    )
    func failed() async throws {
        try await TestScheduler.with { test in
            _ = try await test.add(ScheduleWords(in: "1s")) {
                ($0.queue, $0.retries, $0.backoff) = ("mails", 1, "10s..10s")
            }
            try await test.advance(by: .seconds(2))
            let first = try #require(try await test.reserve("mails").first)
            let told = try await test.fail(first, "no route")
            #expect(told.state == .delayed)
            let backoff = Backoff(first: .seconds(10), max: .seconds(10))
            let delay = RetryDecision.delay(before: 2, of: first.fire, backoff)
            #expect(told.readyAt == test.clock.now().wall + delay)
            #expect(
                try await test.fail(first, "no route") == told,
                "said again, it is answered again"
            )
            #expect(await TestScheduler.isLeaseLost { try await test.finish(first) })
            try await test.advance(by: .seconds(11))
            let second = try #require(try await test.reserve("mails").first)
            #expect(second.attempt == 2)
            #expect(try await test.fail(second, "still none").state == .dead)
            #expect(try await test.tasks().map(\.reason) == ["still none"])
            try await test.advance(by: .seconds(3600))
            #expect(try await test.reserve("mails").isEmpty)
            let retried = try await test.scheduler.care(TestScheduler.root) {
                try $0.retry(.queue("mails", count: nil), TestScheduler.root)
            }
            #expect(retried == 1)
            let third = try #require(try await test.reserve("mails").first)
            #expect(third.attempt == 3)
            #expect(try await test.fail(third).state == .delayed, "it has all its retries again")
        }
    }

    @Test(
        "A lease that ends gives the task to another, and the first is refused; extended, it does not end"
    )
    func leases() async throws {
        try await TestScheduler.with { test in
            _ = try await test.add(ScheduleWords(in: "1s")) { $0.queue = "mails" }
            try await test.advance(by: .seconds(2))
            let first = try #require(
                try await test.reserve("mails", lease: .seconds(10)).first
            )
            try await test.advance(by: .seconds(9))
            let told = try await test.tell(first) {
                try $0.extend($1, lease: nil, TestScheduler.root)
            }
            #expect(told.leaseUntil == test.clock.now().wall + .seconds(10))
            try await test.advance(by: .seconds(9))
            #expect(try await test.reserve("mails").isEmpty)
            try await test.advance(by: .seconds(2))
            let second = try #require(try await test.reserve("mails").first)
            #expect((second.fire, second.attempt) == (first.fire, 2))
            #expect(await TestScheduler.isLeaseLost { try await test.finish(first) })
            #expect(await TestScheduler.isLeaseLost { try await test.fail(first) })
            #expect(try await test.finish(second).state == .done)
            #expect(await TestScheduler.isLeaseLost { try await test.finish(first) })
        }
    }

    @Test("A task that was lost ten times is dead")
    func lostTooOften() async throws {
        try await TestScheduler.with { test in
            _ = try await test.add(ScheduleWords(in: "1s")) { $0.queue = "mails" }
            try await test.advance(by: .seconds(2))
            for attempt in 1...10 {
                let task = try #require(
                    try await test.reserve("mails", lease: .seconds(1)).first
                )
                #expect(task.attempt == attempt)
                try await test.advance(by: .seconds(2))
            }
            #expect(try await test.tasks().map(\.state) == [.dead])
        }
    }

    @Test("A worker that waits gets the task as it is ready; one whose time is over gets none")
    func waiting() async throws {
        try await TestScheduler.with { test in
            let late = Task { try await test.reserve("mails", wait: .seconds(3)) }
            try await test.waits(1, for: "mails")
            try await test.advance(by: .seconds(4))
            #expect(try await late.value.isEmpty)
            let patient = Task { try await test.reserve("mails", wait: .seconds(60)) }
            try await test.waits(1, for: "mails")
            _ = try await test.add(ScheduleWords(in: "5s")) { $0.queue = "mails" }
            try await test.advance(by: .seconds(6))
            #expect(try await patient.value.count == 1)
        }
    }

    @Test("Workers that wait share what is ready, those first who came first")
    func shares() async throws {
        try await TestScheduler.with { test in
            let date = "2026-12-01T08:00:10Z"
            for _ in 0..<6 {
                _ = try await test.add(ScheduleWords(at: date)) {
                    ($0.queue, $0.paused) = ("mails", nil)
                }
            }
            _ = try await test.scheduler.care(TestScheduler.root) { transaction in
                var request = SetQueue(queue: "mails")
                request.paused = true
                return try transaction.set(request, TestScheduler.root)
            }
            let workers = (0..<3).map { _ in
                Task { try await test.reserve("mails", count: 10, wait: .seconds(60)) }
            }
            try await test.waits(3, for: "mails")
            try await test.advance(by: .seconds(11))
            try await test.waits(3, for: "mails")
            _ = try await test.scheduler.care(TestScheduler.root) { transaction in
                var request = SetQueue(queue: "mails")
                request.paused = false
                return try transaction.set(request, TestScheduler.root)
            }
            var counts: [Int] = []
            for worker in workers { counts.append(try await worker.value.count) }
            #expect(counts == [2, 2, 2])
        }
    }

    @Test("The higher priority goes first, then what is ready longest, over several queues")
    func priorities() async throws {
        try await TestScheduler.with { test in
            for (queue, priority) in [("a", 0), ("b", 5), ("a", -5), ("b", 0), ("a", 5)] {
                _ = try await test.add(ScheduleWords(in: "1s")) {
                    ($0.queue, $0.priority) = (queue, priority)
                }
                test.stall(.milliseconds(10))
            }
            try await test.advance(by: .seconds(2))
            let order = try await test.reserve("a", "b", count: 10)
            #expect(order.map(\.job.rawValue) == [2, 5, 1, 4, 3])
        }
    }

    @Test("maxReserved holds, and what ends makes room for who waits")
    func maxReserved() async throws {
        try await TestScheduler.with { test in
            for _ in 0..<3 {
                _ = try await test.add(ScheduleWords(in: "1s")) { $0.queue = "mails" }
            }
            _ = try await test.scheduler.care(TestScheduler.root) { transaction in
                var request = SetQueue(queue: "mails")
                request.maxReserved = 2
                return try transaction.set(request, TestScheduler.root)
            }
            try await test.advance(by: .seconds(2))
            let two = try await test.reserve("mails", count: 10)
            #expect(two.count == 2)
            let next = Task { try await test.reserve("mails", wait: .seconds(60)) }
            try await test.waits(1, for: "mails")
            _ = try await test.finish(two[0])
            #expect(try await next.value.count == 1)
        }
    }

    @Test(
        "maxRate: in no second are more handed out, and those who wait are served when their time comes"
    )
    func maxRate() async throws {
        try await TestScheduler.with { test in
            for _ in 0..<5 {
                _ = try await test.add(ScheduleWords(in: "1s")) { $0.queue = "mails" }
            }
            _ = try await test.scheduler.care(TestScheduler.root) { transaction in
                var request = SetQueue(queue: "mails")
                request.maxRate = "2/s"
                return try transaction.set(request, TestScheduler.root)
            }
            try await test.advance(by: .seconds(2))
            let given = Locked<[(Int64, Int)]>([])
            let worker = Task {
                for _ in 0..<5 {
                    let tasks = try await test.reserve("mails", count: 5, wait: .seconds(60))
                    // The lease begins as it is handed out; its worker may hear of that later.
                    let until = tasks.first?.leaseUntil ?? .distantPast
                    let date = (until - TestScheduler.start).microseconds / 1000
                    given.withLock { $0.append((date, tasks.count)) }
                }
            }
            while given.withLock({ $0.count }) < 5 {
                try await test.advance(by: .milliseconds(100))
            }
            try await worker.value
            let times = given.withLock { $0 }
            #expect(times.map(\.1) == [1, 1, 1, 1, 1])
            for (one, next) in zip(times, times.dropFirst(2)) { #expect(next.0 - one.0 >= 1000) }
        }
    }

    @Test("maxRate: to say it again forgets nothing of what was handed out")
    func rateSetAgain() async throws {
        try await TestScheduler.with { test in
            for _ in 0..<3 {
                _ = try await test.add(ScheduleWords(in: "1s")) { $0.queue = "mails" }
            }
            try await test.advance(by: .seconds(2))
            var given = 0
            for _ in 0..<3 {
                _ = try await test.scheduler.care(TestScheduler.root) { transaction in
                    var request = SetQueue(queue: "mails")
                    request.maxRate = "1/min"
                    return try transaction.set(request, TestScheduler.root)
                }
                given += try await test.reserve("mails", count: 3).count
            }
            #expect(given == 1)
        }
    }
}
