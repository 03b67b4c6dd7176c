// SPDX-License-Identifier: Apache-2.0

import Dispatch
import JobModel
import Schedules
import Testing
import TimerControl

@testable import LinuxSystem
@testable import TimerD

/// Reservations that are undone, as nobody has heard of them.
extension TaskLossTests {
    @Test(
        "Many tasks that nobody has heard of go back in pieces, and none counts as an attempt of the connection that ends"
    )
    func manyUnheard() async throws {
        try await TestScheduler.with { test in
            let count = Scheduler.longWrite + 20
            for _ in 0..<count {
                _ = try await test.add(ScheduleWords(in: "1s")) { $0.queue = "mails" }
            }
            try await test.advance(by: .seconds(2))
            let life = ConnectionLife()
            let tasks = try await test.reserve("mails", count: count, life: life)
            #expect(tasks.count == count)
            try await test.settle()
            let gate = DispatchSemaphore(value: 0)
            test.store.thread.perform { gate.wait() }
            await test.scheduler.takeBack(tasks.compactMap(\.reference))
            life.end()
            let job = try #require(tasks.first?.job)
            let between = await test.scheduler.submitWrite { writer -> Int in
                guard let owner = try writer.job(job)?.ownerID else { return -1 }
                return try writer.queues.queue(QueueKey(owner: owner, name: "mails"))?.ready ?? -1
            }
            gate.signal()
            let ready = try await between.value()
            #expect(ready == Scheduler.longWrite, "another's write comes between the pieces")
            try await test.settle()
            let again = try await test.reserve("mails", count: count)
            #expect(again.count == count)
            let attempts = Set(again.map(\.attempt))
            #expect(attempts == [1])
        }
    }

    @Test(
        "As the daemon stops a task goes back, and that of an ended job stays until its lease ends"
    )
    func unheardAtTheStop() async throws {
        try await TestScheduler.with { test in
            var jobs: [JobID] = []
            for _ in 0..<2 {
                jobs.append(try await test.add(ScheduleWords(in: "0s")) { $0.queue = "mails" }.id)
            }
            let tasks = try await test.reserve("mails", count: 2, lease: .seconds(10))
            try await test.change(jobs[0], .invalidate)
            let references = tasks.compactMap(\.reference)
            try await test.scheduler.write { try $0.takeBack(references[...], isStopping: true) }
            let states = try await test.tasks().map(\.state)
            #expect(states == [.reserved, .ready])
            #expect(test.sink.all(.fireSkipped).isEmpty)
            try await test.advance(by: .seconds(11))
            let left = try await test.tasks().map(\.job)
            #expect(left == [jobs[1]])
        }
    }
}
