// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import LinuxSystem
@testable import SQLite
@testable import TimerD

/// One job with many tasks: what happens to one of them costs what one costs, and what happens to all goes in pieces.
@Suite("A job with many tasks", .timeLimit(.minutes(2))) struct ManyTasksTests {
    // MARK: - Dead ones

    /// Gives the job so many dead tasks, each with an attempt that has failed, of dates long ago.
    private static func addDead(_ count: Int, of job: JobID, _ test: TestScheduler) async throws {
        try await test.store.writer.write { database in
            try database.execute(
                """
                WITH n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < \(count))
                INSERT INTO fires
                    (id, job_id, owner_id, fire_date_us, wall_date_us, state, fired_at_us)
                SELECT 10000 + n, \(job.rawValue), 0, n, n, 'dead', n FROM n;
                INSERT INTO runs (id, job_id, fire_id, attempt, outcome, ended_at_us)
                SELECT id, job_id, id, 1, 'failed', wall_date_us FROM fires WHERE state = 'dead';
                INSERT INTO tasks
                    (fire_id, job_id, owner_id, queue, priority, state, ready_us, run_id, attempt)
                SELECT id, job_id, 0, 'mails', 0, 'ready', 0, id, 1 FROM fires
                WHERE state = 'dead';
                UPDATE tasks SET state = 'dead' WHERE fire_id > 10000;
                """
            )
        }
    }

    @Test(
        "The end of an attempt looks at a few of its job's dead tasks, and so does a fire that is skipped while one is not over"
    )
    func dead() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "1d")) { $0.queue = "mails" }
            try await Self.addDead(5000, of: job.id, test)
            /// How many operations of SQLite's machine a statement has taken since it was asked.
            func steps(_ sql: String) async throws -> Int32 {
                try await test.store.writer.write { try $0.prepare(sql).takeSteps() }
            }
            for _ in 1...3 {
                _ = try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
                let task = try #require(try await test.reserve("mails").first)
                // It is not over.
                await #expect(throws: ControlError.self) {
                    try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
                }
                let asked = try await steps(TaskStore.SQL.busyQueue)
                #expect(asked > 0 && asked < 100)
                _ = try await test.finish(task)
                let looked = try await steps(RunStore.SQL.oldestThrough)
                #expect(looked > 0 && looked < Int32(40 * RunStore.trimLimit))
            }
            #expect(try await test.queue("mails")?.dead == 5000)
        }
    }

    @Test("What a queue holds is told without a look at each of its priorities")
    func priorities() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "1d")) { $0.queue = "mails" }
            try await test.store.writer.write { database in
                try database.execute(
                    """
                    WITH n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 1000)
                    INSERT INTO fires
                        (id, job_id, owner_id, fire_date_us, wall_date_us, state, fired_at_us)
                    SELECT 10000 + n, \(job.id.rawValue), 0, n, n, 'queued', n FROM n;
                    INSERT INTO tasks (fire_id, job_id, owner_id, queue, priority, state, ready_us)
                    SELECT id, job_id, 0, 'mails', id - 10500, 'ready', 90000 - id FROM fires
                    WHERE state = 'queued';
                    """
                )
                let select = try database.prepare(QueueStore.SQL.oldest)
                _ = select.takeSteps()
                let standing = try QueueStore(database).standing()
                #expect(standing.ready == 1000)
                #expect(standing.oldest == Timestamp(microseconds: 79_000))
                let steps = select.takeSteps()
                #expect(steps > 0 && steps < 100)
            }
        }
    }

    // MARK: - Those that workers have

    /// What the write that takes them away leaves to those behind it.
    private static let left = 200 - JobTransaction.droppedAtOnce

    /// A job with 200 tasks that workers have, and these.
    private static func addHeld(_ test: TestScheduler) async throws -> (JobID, [QueuedTask]) {
        let job = try await test.add(ScheduleWords(every: "1d")) {
            ($0.queue, $0.overlap) = ("mails", .allow)
        }
        for _ in 1...200 {
            _ = try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
        }
        let held = try await test.reserve("mails", count: 200)
        #expect(held.count == 200)
        return (job.id, held)
    }

    /// Checks that each of these attempts was lost for that reason, and that this was told.
    private static func expectLost(
        _ held: [QueuedTask],
        of job: JobID,
        _ why: String,
        _ test: TestScheduler
    ) async throws {
        let runs = try await test.history(job).filter { $0.id != nil }
        #expect(Set(runs.compactMap(\.id)) == Set(held.compactMap(\.token)))
        #expect(runs.allSatisfy { $0.state == .done && $0.outcome == .lost && $0.error == why })
        #expect(runs.allSatisfy { $0.endedAt != nil && $0.failed == true })
        let told = test.sink.all(.runFinished).filter { $0.job == job && $0.reason == why }
        #expect(Set(told.compactMap(\.run)) == Set(runs.compactMap(\.id)))
        // As a calendar counts them.
        let succeeded = try await test.store.reader.read { database in
            try database.prepare(
                "SELECT count(*) FROM fires WHERE state = 'done' AND failed IS NULL"
            ).value(as: Int.self)
        }
        #expect(succeeded == 0)
    }

    /// Checks that no worker has any of these any more.
    private static func expectNoLease(_ held: [QueuedTask], _ test: TestScheduler) async throws {
        for task in [held.first, held.last].compactMap(\.self) {
            #expect(await TestScheduler.isLeaseLost { try await test.finish(task) })
            #expect(await TestScheduler.isLeaseLost { try await test.fail(task) })
        }
        #expect(try await test.queue("mails")?.reserved == 0)
    }

    @Test("They are lost in pieces where their job is invalidated with 'kill', each is told")
    func killed() async throws {
        try await TestScheduler.with(keeping: .all) { test in
            let (job, held) = try await Self.addHeld(test)
            _ = try await test.scheduler.change(
                .ids([job]),
                .invalidate,
                caller: TestScheduler.root,
                kill: true
            )
            try await Self.expectNoLease(held, test)
            try await Self.expectLost(held, of: job, "its job was ended", test)
        }
    }

    @Test(
        "Of these no worker finishes one between the pieces, a crash leaves none, nor does an undo",
        arguments: [false, true]
    )
    func killedAndCrash(isUndone: Bool) async throws {
        try await TestScheduler.with(keeping: .all) { test in
            let (job, held) = try await Self.addHeld(test)
            let now = test.clock.now()
            // As the first write leaves it.
            let open = try await test.store.writer.write { database in
                var writer = JobTransaction(database, at: now, horizon: .distantPast)
                _ = try writer.change(
                    .ids([job]),
                    .invalidate,
                    caller: TestScheduler.root,
                    kill: true
                )
                #expect(writer.outcome.left.map(\.fires.count) == [Self.left])
                if isUndone {
                    _ = try writer.restore(.ids([job]), limit: nil, caller: TestScheduler.root)
                }
                _ = try writer.finish()
                let sql = "SELECT count(*) FROM runs WHERE outcome IS NULL"
                return try database.prepare(sql).value(as: Int.self)
            }
            #expect(open == Self.left)
            try await Self.expectNoLease(held, test)
            let runs = try await test.history(job)
            #expect(runs.count == 200)
            #expect(runs.allSatisfy { $0.state == .done && $0.outcome == .lost })
            let listed = try await test.store.reader.read { database in
                var filter = RunFilter(job: job)
                filter.isOpen = true
                return try Queries(database)
                    .runs(filter, after: nil, limit: 1000, in: PageRoom(.max)).runs
            }
            #expect(listed.isEmpty, "none of them goes on")
            let after = try await test.crashed()
            try await Self.expectLost(held, of: job, "its job was ended", after)
            try await Self.expectNoLease(held, after)
            #expect(try await after.reserve("mails").isEmpty)
            #expect(try await after.job(job).state == (isUndone ? .scheduled : .invalidated))
            try await after.close()
        }
    }

    @Test("Of the tasks of many jobs that are killed together one write takes a piece, too")
    func killedTogether() async throws {
        try await TestScheduler.with(keeping: .all) { test in
            let (count, now) = (JobTransaction.revokedAtOnce + 100, test.clock.now())
            let new = try (0..<count).map { _ in
                var definition = JobDefinition(schedule: ScheduleWords(in: "0s"))
                (definition.queue, definition.tags) = ("mails", ["many"])
                return try NewJob(definition, owner: 0, at: now, zone: .utc)
            }
            _ = try await test.scheduler.add(new, replace: false, caller: TestScheduler.root)
            try await test.settle()
            var held: [QueuedTask] = []
            while held.count < count {
                let next = try await test.reserve("mails", count: 200)
                try #require(!next.isEmpty)
                held += next
            }
            let jobs = held.map(\.job)
            let open = try await test.store.writer.write { database in
                var writer = JobTransaction(database, at: now, horizon: .distantPast)
                _ = try writer.change(
                    .ids(jobs),
                    .invalidate,
                    caller: TestScheduler.root,
                    kill: true
                )
                #expect(writer.outcome.left.map(\.job) == Array(jobs.suffix(100)))
                _ = try writer.finish()
                let sql = "SELECT count(*) FROM runs WHERE outcome IS NULL"
                return try database.prepare(sql).value(as: Int.self)
            }
            #expect(open == 100)
            try await Self.expectNoLease(held, test)
            let after = try await test.crashed()
            try await after.settle()
            let told = after.sink.all(.runFinished).filter { $0.reason == "its job was ended" }
            #expect(Set(told.compactMap(\.run)) == Set(held.compactMap(\.token)))
            try await after.close()
        }
    }

    @Test(
        "A newer task takes the place of those that workers have and of those that wait, also after a crash"
    )
    func replaced() async throws {
        try await TestScheduler.with(keeping: .all) { test in
            let (id, held) = try await Self.addHeld(test)
            for _ in 1...100 {
                _ = try await test.scheduler.fire(.id(id), caller: TestScheduler.root)
            }
            try await NoticeSupport.change(test, test.job(id)) { $0.overlap = .replace }
            let now = test.clock.now()
            // As the first write leaves it.
            let fire = try await test.store.writer.write { database in
                var writer = JobTransaction(database, at: now, horizon: .distantPast)
                let fired = try writer.fireNow(id, caller: TestScheduler.root)
                let left = [Self.left, 100 - JobTransaction.droppedAtOnce]
                #expect(writer.outcome.left.map(\.fires.count) == left)
                _ = try writer.finish()
                return fired.fire
            }
            try await Self.expectNoLease(held, test)
            #expect(try await test.queue("mails")?.ready == 1)
            let after = try await test.crashed()
            let why = "a newer task of its job has taken its place"
            try await Self.expectLost(held, of: id, why, after)
            #expect(try await after.history(id).count { $0.state == .skipped } == 100)
            #expect(try await after.reserve("mails", count: 10).map(\.fire) == [fire])
            try await after.close()
        }
    }
}
