// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

/// What becomes of the tasks of a job that is given another queue, or none.
@Suite("Scheduler, tasks of a job that is given another queue", .timeLimit(.minutes(2)))
struct TaskMovesTests {
    @discardableResult
    private func change(
        _ job: StoredJob,
        _ test: TestScheduler,
        isDryRun: Bool = false,
        _ change: (inout JobDefinition) -> Void
    ) async throws -> ApplyReply {
        var definition = job.definition
        change(&definition)
        let revision = JobRevision(id: job.id, definition: definition)
        let request = ApplyJobs(change: [revision], dryRun: isDryRun)
        return try #require(
            try await test.handler().handle(.applyJobs(request), from: 0).get() as? ApplyReply
        )
    }

    private func release(_ task: QueuedTask, _ delay: String, _ test: TestScheduler) async throws
        -> TaskOutcome
    {
        try await test.tell(task) {
            try $0.release(ReleasedTask($1, delay: delay), TestScheduler.root)
        }
    }

    /// How many tasks of a queue are ready, delayed, reserved and dead.
    private func counts(_ name: String, _ test: TestScheduler) async throws -> [Int] {
        let queue = try #require(try await test.queue(name))
        return [queue.ready, queue.delayed, queue.reserved, queue.dead]
    }

    @Test(
        "A task that waits goes to the worker that waits for the new queue, and the next date is a task again",
        arguments: [false, true]
    )
    func woken(isReplaced: Bool) async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "1h")) {
                ($0.name, $0.queue) = ("digest", "old")
            }
            try await test.advance(by: .seconds(3601))
            let waiting = Task { try await test.reserve("new", wait: .seconds(60)) }
            try await test.waits(1, for: "new")
            if isReplaced {
                var definition = job.definition
                definition.queue = "new"
                let new = try NewJob(definition, owner: 0, at: test.clock.now(), zone: .utc)
                _ = try await test.scheduler.add([new], replace: true, caller: TestScheduler.root)
            } else {
                let reply = try await change(job, test) { $0.queue = "new" }
                #expect(reply.notes == nil)
            }
            let task = try #require(try await waiting.value.first)
            #expect((task.job, task.queue, task.attempt) == (job.id, "new", 1))
            #expect(try await test.finish(task).state == .done)
            try await test.advance(by: .seconds(3601))
            #expect(try await test.reserve("new").map(\.job) == [job.id])
            let reasons = try await test.history(job.id).compactMap(\.reason)
            #expect(reasons.isEmpty)
        }
    }

    @Test("What is ready, delayed or dead goes along, counts there, and has its job's new priority")
    func states() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "1h")) {
                ($0.queue, $0.overlap) = ("old", .allow)
            }
            for _ in 0..<4 {
                _ = try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
            }
            let tasks = try await test.reserve("old", count: 3)
            try #require(tasks.count == 3)
            _ = try await release(tasks[0], "30m", test)
            #expect(try await test.fail(tasks[1]).state == .dead)
            try await change(job, test) { ($0.queue, $0.priority) = ("new", 5) }
            #expect(try await counts("old", test) == [0, 0, 1, 0])
            #expect(try await counts("new", test) == [1, 1, 0, 1])
            #expect(try await release(tasks[2], "0s", test).state == .ready)
            #expect(try await counts("old", test) == [0, 0, 0, 0])
            #expect(try await counts("new", test) == [2, 1, 0, 1])
            let retried = try await test.scheduler.care(TestScheduler.root) {
                try $0.retry(.queue("new", count: nil), TestScheduler.root)
            }
            #expect(retried == 1)
            #expect(try await test.reserve("new", count: 9).map(\.priority) == [5, 5, 5])
            #expect(try await counts("new", test) == [0, 1, 3, 0])
        }
    }

    @Test("A task that its worker gives back has the priority that its job has by then")
    func givenBack() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "1h")) { $0.queue = "old" }
            _ = try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
            let task = try #require(try await test.reserve("old").first)
            try await change(job, test) { $0.priority = 5 }
            #expect(try await release(task, "0s", test).state == .ready)
            #expect(try await test.reserve("old").map(\.priority) == [5])
        }
    }

    @Test(
        "A task that its worker has lost, or failed at, comes back into the queue that its job has by then"
    )
    func comesBack() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "1h")) {
                ($0.queue, $0.overlap) = ("old", .allow)
                ($0.retries, $0.backoff) = (1, "10s..10s")
            }
            for _ in 0..<2 {
                _ = try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
            }
            let failing = try #require(try await test.reserve("old").first)
            _ = try #require(try await test.reserve("old", lease: .seconds(10)).first)
            try await change(job, test) { $0.queue = "new" }
            #expect(try await test.fail(failing).state == .delayed)
            #expect(try await counts("new", test) == [0, 1, 0, 0])
            try await test.advance(by: .seconds(11))
            #expect(try await counts("old", test) == [0, 0, 0, 0])
            #expect(try await test.reserve("new", count: 9).map(\.attempt) == [2, 2])
        }
    }

    @Test(
        "A job that is of its queue again gives the tasks that it left there its new priority",
        arguments: [false, true]
    )
    func back(hasOtherDates: Bool) async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "1h")) { $0.queue = "old" }
            _ = try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
            try await change(job, test) { $0.queue = nil }
            #expect(try await counts("old", test) == [1, 0, 0, 0])
            try await change(job, test) {
                $0.priority = 5
                if hasOtherDates { $0.schedule = ScheduleWords(every: "2h") }
            }
            // What stays as it is there is counted once.
            try await change(job, test) { ($0.priority, $0.name) = (5, "digest") }
            #expect(try await counts("old", test) == [1, 0, 0, 0])
            #expect(try await test.reserve("old", count: 9).map(\.priority) == [5])
        }
    }

    @Test(
        "A job that is of no queue any more leaves its task to the workers of that, and the answer says so",
        arguments: [false, true]
    )
    func left(isCommand: Bool) async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "1h")) { $0.queue = "old" }
            let (_, fire) = try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
            let note =
                "queue 'old' keeps 1 task of job \(job.id), which is of no queue any more; "
                + "'timerctl queue tasks old' shows it"
            let tried = try await change(job, test, isDryRun: true) {
                ($0.queue, $0.command) = (nil, isCommand ? ["true"] : nil)
            }
            #expect(tried.notes == [note])
            let reply = try await change(job, test) {
                ($0.queue, $0.command) = (nil, isCommand ? ["true"] : nil)
            }
            #expect(reply.notes == [note])
            let task = try #require(try await test.reserve("old").first)
            #expect(task.fire == fire)
            #expect(try await release(task, "0s", test).state == .ready)
            let again = try #require(try await test.reserve("old").first)
            #expect(try await test.finish(again).state == .done)
            let next = try await change(job, test) {
                ($0.queue, $0.command, $0.name) = (nil, isCommand ? ["true"] : nil, "digest")
            }
            #expect(next.notes == nil)
        }
    }

    @Test("Of many queues ten are named, and the answer says how many others there are")
    func manyQueues() {
        var applied = AppliedChanges()
        #expect(applied.notes == nil)
        let jobs = [JobID(rawValue: 1), JobID(rawValue: 2)]
        for number in 10..<22 {
            let key = QueueKey(owner: OwnerID(rawValue: 1), name: "q\(number)")
            applied.leftTasks[key] = AppliedChanges.LeftTasks(count: 3, jobs: jobs)
        }
        #expect(applied.notes?.count == 11)
        #expect(
            applied.notes?.first
                == "queue 'q10' keeps 3 tasks of 2 jobs that are of no queue any more; "
                + "'timerctl queue tasks q10' shows them"
        )
        #expect(
            applied.notes?.last
                == "2 more queues keep such tasks; 'timerctl queue list' shows them"
        )
    }
}
