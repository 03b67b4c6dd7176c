// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Schedules
import Testing
import TimerControl

@testable import LinuxSystem
@testable import TimerD

/// What becomes of a task besides its worker's word: connections, crashes, its job.
@Suite("Scheduler, tasks and what happens to them", .timeLimit(.minutes(2)))
struct TaskLossTests {
    @Test(
        "A connection that ends gives its tasks back at once, and one that was tied anew does not"
    )
    func connections() async throws {
        try await TestScheduler.with { test in
            for _ in 0..<2 {
                _ = try await test.add(ScheduleWords(in: "1s")) { $0.queue = "mails" }
            }
            try await test.advance(by: .seconds(2))
            let (life, next) = (ConnectionLife(), ConnectionLife())
            let tasks = try await test.reserve("mails", count: 2, life: life)
            #expect(tasks.count == 2)
            await test.scheduler.tie([try #require(tasks[1].reference)], to: next)
            life.end()
            try await test.settle()
            let states = try await test.tasks().map(\.state)
            #expect(states == [.ready, .reserved])
            let again = try await test.reserve("mails")
            #expect(again.map(\.attempt) == [2])
            next.end()
            #expect(try await test.tasks().map(\.state) == [.reserved, .ready])
        }
    }

    @Test("A connection with many tasks gives them back in pieces; one may be tied anew meanwhile")
    func manyOfAConnection() async throws {
        try await TestScheduler.with { test in
            let count = Scheduler.longWrite + 20
            for _ in 0..<count {
                _ = try await test.add(ScheduleWords(in: "1s")) { $0.queue = "mails" }
            }
            try await test.advance(by: .seconds(2))
            let (life, next) = (ConnectionLife(), ConnectionLife())
            let tasks = try await test.reserve("mails", count: count, life: life)
            #expect(tasks.count == count)
            try await test.settle()
            let gate = DispatchSemaphore(value: 0)
            test.store.thread.perform { gate.wait() }
            life.end()
            // Behind the news of that end, and while its first piece waits to be stored.
            await test.scheduler.tie([try #require(tasks.last?.reference)], to: next)
            gate.signal()
            try await test.settle()
            let queue = try await test.queue("mails")
            #expect(queue?.ready == count - 1)
            next.end()
            let then = try await test.queue("mails")
            #expect(then?.ready == count)
        }
    }

    @Test("A reservation whose client went away is given back, and was no attempt")
    func goneWhileWaiting() async throws {
        try await TestScheduler.with { test in
            let gone = Task { try await test.reserve("mails", wait: .seconds(60)) }
            try await test.waits(1, for: "mails")
            gone.cancel()
            await #expect(throws: CancellationError.self) { try await gone.value }
            _ = try await test.add(ScheduleWords(in: "1s")) { $0.queue = "mails" }
            try await test.advance(by: .seconds(2))
            #expect(try await test.reserve("mails").map(\.attempt) == [1])
        }
    }

    @Test(
        "After a crash a task stays with its worker, whose lease is whole again, and is finished once"
    )
    func crash() async throws {
        try await TestScheduler.with { test in
            for _ in 0..<2 {
                _ = try await test.add(ScheduleWords(in: "1s")) { $0.queue = "mails" }
            }
            try await test.advance(by: .seconds(2))
            let task = try #require(
                try await test.reserve("mails", lease: .seconds(10)).first
            )
            let after = try await test.crashedAndDown(for: .seconds(60))
            #expect(try await after.tasks().map(\.state) == [.reserved, .ready])
            #expect(try await after.reserve("mails", count: 5).map(\.fire.rawValue) == [2])
            try await after.advance(by: .seconds(9))
            #expect(try await after.finish(task).state == .done)
            let last = try await after.crashed()
            #expect(try await last.finish(task).state == .done)
            #expect(try await last.tasks().count == 1)
            try await last.close()
            try await after.close()
        }
    }

    @Test(
        "A crash before the date's task is stored leaves the date to the misfire rule, and no task is lost"
    )
    func crashBefore() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(in: "5s")) { $0.queue = "mails" }
            let after = try await test.crashedAndDown(for: .seconds(600))
            try await after.advance(by: .seconds(1))
            #expect(try await after.reserve("mails").map(\.job) == [job.id])
            try await after.close()
        }
    }

    @Test("until: a task that nobody has taken by then is skipped, with the reason")
    func expires() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(in: "1s")) {
                ($0.queue, $0.until) = ("mails", "2026-12-01T08:00:30Z")
            }
            try await test.advance(by: .seconds(29))
            #expect(try await test.tasks().map(\.state) == [.ready])
            try await test.advance(by: .seconds(2))
            #expect(try await test.tasks().isEmpty)
            #expect(try await test.history(job.id).map(\.reason) == [.expired])
        }
    }

    @Test(
        "until: a task waits until the one that its job has by now, and by what the wall clock says",
        arguments: [true, false]
    )
    func endsEarlier(isChanged: Bool) async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "10s")) {
                ($0.queue, $0.overlap) = ("mails", .allow)
                $0.until = "2026-12-01T08:10:00Z"
            }
            try await test.advance(by: .seconds(11))
            #expect(try await test.tasks().map(\.state) == [.ready])
            if isChanged {
                var definition = try await test.job(job.id).definition
                definition.until = "2026-12-01T08:00:25Z"
                let revision = JobRevision(id: job.id, definition: definition)
                try await test.jobs(.applyJobs(ApplyJobs(change: [revision])))
                try await test.advance(by: .seconds(15))
            } else {
                try await ClockStepTests.step(test, by: .seconds(600))
            }
            #expect(try await test.reserve("mails", count: 5).isEmpty)
            #expect(try await test.tasks().isEmpty)
            #expect(try await test.history(job.id).first?.reason == .expired)
        }
    }

    @Test("overlap: a date is skipped while a task is not over, takes its place, or goes beside it")
    func overlap() async throws {
        try await TestScheduler.with { test in
            var jobs: [StoredJob] = []
            for overlap in [JobDefinition.Overlap.skip, .replace, .allow] {
                let job = try await test.add(ScheduleWords(every: "10s")) {
                    ($0.queue, $0.overlap, $0.count) = (overlap.rawValue, overlap, 3)
                }
                jobs.append(job)
            }
            try await test.advance(by: .seconds(11))
            let taken = try #require(try await test.reserve("replace", lease: .seconds(300)).first)
            try await test.advance(by: .seconds(30))
            let skipped = try await test.history(jobs[0].id)
            #expect(skipped.prefix(3).map(\.state) == [.queued, .skipped, .skipped])
            #expect(skipped[1].reason == .overlap)
            let replaced = try await test.history(jobs[1].id)
            #expect(replaced.map(\.state) == [.done, .skipped, .queued])
            #expect(replaced.map(\.outcome) == [.lost, nil, nil])
            #expect(replaced[1].reason == .replaced)
            #expect(await TestScheduler.isLeaseLost { try await test.finish(taken) })
            #expect(try await test.history(jobs[2].id).map(\.state) == [.queued, .queued, .queued])
        }
    }

    @Test("An invalidation drops what waits; a worker goes on, unless its tasks are taken away")
    func invalidated() async throws {
        try await TestScheduler.with { test in
            var jobs: [StoredJob] = []
            for _ in 0..<3 {
                jobs.append(try await test.add(ScheduleWords(in: "1s")) { $0.queue = "mails" })
            }
            try await test.advance(by: .seconds(2))
            let two = try await test.reserve("mails", count: 2)
            for (job, kill) in zip(jobs, [false, true, false]) {
                _ = try await test.scheduler.change(
                    .ids([job.id]),
                    .invalidate,
                    caller: TestScheduler.root,
                    kill: kill
                )
            }
            #expect(try await test.tasks().map(\.state) == [.reserved])
            #expect(try await test.history(jobs[2].id).map(\.reason) == [.invalidated])
            #expect(await TestScheduler.isLeaseLost { try await test.finish(two[1]) })
            #expect(try await test.fail(two[0]).state == .done, "nothing of it begins any more")
            #expect(try await test.reserve("mails").isEmpty)
        }
    }

    @Test("A task that nobody has heard of is not handed out again once its job was invalidated")
    func takenBackOfEnded() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(in: "0s")) { $0.queue = "mails" }
            let task = try #require(try await test.reserve("mails").first)
            try await test.change(job.id, .invalidate)
            let reference = try #require(task.reference)
            try await test.scheduler.write { try $0.takeBack([reference]) }
            #expect(try await test.tasks().isEmpty)
            #expect(try await test.reserve("mails").isEmpty)
            #expect(try await test.history(job.id).map(\.reason) == [.invalidated])
        }
    }

    @Test(
        "A task that is given back once its job was invalidated is dropped, as what waited was",
        arguments: [nil, "1h"] as [String?]
    )
    func releasedOfEnded(delay: String?) async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(in: "0s")) { $0.queue = "mails" }
            let task = try #require(try await test.reserve("mails").first)
            try await test.change(job.id, .invalidate)
            // Said again it is answered again.
            for _ in 0..<2 {
                let outcome = try await test.tell(task) {
                    try $0.release(ReleasedTask($1, delay: delay), TestScheduler.root)
                }
                #expect(outcome.state == .done)
            }
            #expect(try await test.tasks().isEmpty)
            #expect(try await test.reserve("mails").isEmpty)
            let row = try #require(try await test.history(job.id).first)
            #expect((row.outcome, row.state) == (.released, .skipped), "nobody has done it")
            #expect(row.reason == .invalidated)
            #expect(test.sink.all(.fireSkipped).map(\.reason) == ["invalidated"])
        }
    }

    @Test("A task that nobody has heard of stands where it stood before")
    func takenBack() async throws {
        try await TestScheduler.with { test in
            var jobs: [JobID] = []
            for _ in 0..<2 {
                jobs.append(try await test.add(ScheduleWords(in: "0s")) { $0.queue = "mails" }.id)
                try await test.advance(by: .seconds(1))
            }
            let ready = try await test.tasks().map(\.readyAt)
            let task = try #require(try await test.reserve("mails").first)
            let reference = try #require(task.reference)
            try await test.scheduler.write { try $0.takeBack([reference]) }
            #expect(try await test.tasks().map(\.readyAt) == ready)
            let again = try #require(try await test.reserve("mails").first)
            #expect((again.job, again.attempt) == (jobs[0], 1))
        }
    }

    @Test("By name and by tag, too, an invalidation drops the task of a job that has finished")
    func invalidatedByWords() async throws {
        try await TestScheduler.with { test in
            for name in ["a", "b"] {
                _ = try await test.add(ScheduleWords(in: "1s")) {
                    ($0.queue, $0.name, $0.tags) = ("mails", name, ["spring"])
                }
            }
            _ = try await test.add(ScheduleWords(in: "1s")) { $0.queue = "mails" }
            try await test.advance(by: .seconds(2))
            for selection in [JobSelection.name("a"), .tag("spring")] {
                let changed = try await test.scheduler.change(
                    selection,
                    .invalidate,
                    caller: TestScheduler.root
                )
                #expect(changed.jobs.count == 1)
            }
            #expect(try await test.tasks().map(\.job.rawValue) == [3])
            #expect(try await test.reserve("mails", count: 5).count == 1)
        }
    }

    @Test("A job that is fired by hand is a task at once, and waits with its name")
    func byHand() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "1h")) {
                ($0.queue, $0.name) = ("mails", "digest")
            }
            let (_, fire) = try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
            try await test.settle()
            let task = try #require(try await test.reserve("mails").first)
            #expect((task.fire, task.name) == (fire, "digest"))
            #expect(test.sink.all(.fireFired).map(\.reason) == ["manual"])
            await #expect(throws: ControlError.self) {
                _ = try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
            }
        }
    }

    @Test("A key stands for one job, until keyKept after its end")
    func keys() async throws {
        try await TestScheduler.with { test in
            func add() async throws -> StoredJob {
                try await test.add(ScheduleWords(in: "5s")) {
                    ($0.queue, $0.key, $0.keyKept) = ("mails", "order-7", "1min")
                }
            }
            let first = try await add()
            let again = try await add()
            #expect((again.id, again.isExisting) == (first.id, true))
            try await test.advance(by: .seconds(3600))
            #expect(try await add().id == first.id, "its task is not over")
            let task = try #require(try await test.reserve("mails").first)
            _ = try await test.finish(task)
            let new = try await add()
            #expect(new.id != first.id, "its end is an hour ago")
            #expect(try await add().id == new.id)
            _ = try await test.scheduler.change(
                .ids([new.id]),
                .invalidate,
                caller: TestScheduler.root
            )
            #expect(try await add().id == new.id, "it has ended less than a minute ago")
            try await test.advance(by: .seconds(61))
            #expect(try await add().id != new.id)
        }
    }
}
