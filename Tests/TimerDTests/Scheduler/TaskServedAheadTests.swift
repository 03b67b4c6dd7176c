// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Schedules
import Testing
import TimerControl

@testable import TimerD

/// Workers that the store is asked for before it has stored the task.
@Suite("Scheduler, tasks handed out as they are made", .timeLimit(.minutes(2)))
struct TaskServedAheadTests {
    @Test(
        "A worker that waits is given the task by the write that makes it, not by one that follows"
    )
    func inOneCommit() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(in: "5s")) { $0.queue = "mails" }
            async let waiting = test.reserve("mails", wait: .seconds(60))
            try await test.waits(1, for: "mails")
            let isOver = DispatchSemaphore(value: 0)
            test.store.thread.perform { isOver.wait() }
            await test.advanceWithoutStore(by: .seconds(5))
            let isAsked = await test.loop.ask { [scheduler = test.scheduler] in
                scheduler.assumeIsolated { $0.taskWaits.waiters.values.map(\.isAsking) }
            }
            isOver.signal()
            #expect(isAsked == [true], "the store has both before it takes up either")
            #expect(try await waiting.map(\.job) == [job.id])
        }
    }

    @Test("The task and who has it are one commit, however quick the store is", .ofOneHost())
    func oneCommit() async throws {
        try await TestScheduler.with { test in
            for number in 1...10 {
                let queue = "mails-\(number)"
                let job = try await test.add(ScheduleWords(in: "5s")) { $0.queue = queue }
                async let waiting = test.reserve(queue, wait: .seconds(60))
                try await test.waits(1, for: queue)
                let before = test.store.writer.statistics.commits
                await test.advanceWithoutStore(by: .seconds(5))
                #expect(try await waiting.map(\.job) == [job.id])
                #expect(test.store.writer.statistics.commits == before + 1)
            }
        }
    }

    @Test("A worker goes on waiting while the disk takes nothing, and gets what came due then")
    func whileTheDiskTakesNothing() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(in: "5s")) { $0.queue = "mails" }
            async let waiting = test.reserve("mails", wait: .seconds(60))
            try await test.waits(1, for: "mails")
            Self.set(queryOnly: true, test.store)
            await test.advanceWithoutStore(by: .seconds(5))
            while test.store.writer.statistics.trouble == nil { await Task.yield() }
            let scheduler = test.scheduler
            while await test.loop.ask({
                scheduler.assumeIsolated { $0.taskWaits.waiters.values.first?.isAsking } == true
            }) { await Task.yield() }
            Self.set(queryOnly: false, test.store)
            #expect(try await waiting.map(\.job) == [job.id])
        }
    }

    /// Has the store refuse every write, or no more.
    static func set(queryOnly: Bool, _ store: Store) {
        store.thread.perform {
            store.writer.assumeIsolated { writer in
                do {
                    try writer.database.prepare("PRAGMA query_only = \(queryOnly)").run()
                } catch {
                    Issue.record(error)
                }
            }
        }
    }
}
