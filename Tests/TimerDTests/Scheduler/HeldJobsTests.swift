// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

/// A job that cannot be read is one job.
@Suite("Held jobs", .timeLimit(.minutes(2))) struct HeldJobsTests {
    @Test(
        "A look at all jobs that is asked for while one is under way follows it; others need none"
    )
    func askedAgain() {
        var held = HeldJobs()
        let now = Timestamp(microseconds: 0)
        let first = (held.begin(all: false), held.begin(all: true))
        #expect(first == (true, false))
        let isAskedAgain = held.ended(isAnyHeld: false, now: now)
        #expect(isAskedAgain)
        let second = (held.begin(all: true), held.begin(all: false))
        #expect(second == (true, false))
        let isAskedOnceMore = held.ended(isAnyHeld: true, now: now)
        #expect(!isAskedOnceMore)
        #expect(held.isDue(now: now + HeldJobs.rhythm))
    }

    /// What may become of a job's row.
    struct Damage: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var sql: String
        /// What its reason says.
        var reason: String
        var repair: String?
    }

    static let definition = "UPDATE job_definitions SET definition = "
    static let damages = [
        Damage(
            testDescription: "a field of a newer version",
            sql: definition + "json_set(definition, '$.weather', 'dry') WHERE job_id = ?1",
            reason: "its field 'weather' is of a newer version",
            repair: definition + "json_remove(definition, '$.weather') WHERE job_id = ?1"
        ),
        Damage(
            testDescription: "a schedule of a newer version",
            sql: definition + "json_set(definition, '$.schedule.moon', 'new') WHERE job_id = ?1",
            reason: "moon",
            repair: definition + "json_remove(definition, '$.schedule.moon') WHERE job_id = ?1"
        ),
        Damage(
            testDescription: "a zone that is gone",
            sql: definition + "json_set(definition, '$.schedule.tz', 'Mars/Olympus') "
                + "WHERE job_id = ?1",
            reason: "zone 'Mars/Olympus' is unknown",
            repair: definition + "json_set(definition, '$.schedule.tz', 'UTC') WHERE job_id = ?1"
        ),
        Damage(
            testDescription: "a text that is no JSON",
            sql: definition + "'{\"schedule\":' || definition WHERE job_id = ?1",
            reason: "cannot be read",
            repair: definition + "substr(definition, 13) WHERE job_id = ?1"
        ),
        Damage(
            testDescription: "userInfo that is no JSON",
            sql: "UPDATE job_definitions SET user_info = '{' WHERE job_id = ?1",
            reason: "cannot be read",
            repair: "UPDATE job_definitions SET user_info = NULL WHERE job_id = ?1"
        ),
        Damage(
            testDescription: "an unknown state",
            sql: "UPDATE jobs SET state = 'dormant' WHERE id = ?1",
            reason: "state"
        ),
        Damage(
            testDescription: "a date that no calendar has",
            sql: "UPDATE job_definitions SET added_at_us = -2834073000000000000 WHERE job_id = ?1",
            reason: "a date that is out of range, -2834073000000000000 us"
        ),
        uncounted("fires"), uncounted("rows_since_trim"),
    ]

    private static func uncounted(_ column: String) -> Damage {
        Damage(
            testDescription: "a number that nobody has counted up to, \(column)",
            sql: "UPDATE jobs SET \(column) = 9223372036854775807 WHERE id = ?1",
            reason: "'9223372036854775807'"
        )
    }

    static func change(_ test: TestScheduler, _ sql: String, _ id: JobID) async throws {
        try await test.settle()
        try await test.store.writer.write { database in
            // As a newer version's schema would let it.
            try database.prepare("PRAGMA ignore_check_constraints = ON").run()
            try database.prepare(sql).run(id)
            try database.prepare("PRAGMA ignore_check_constraints = OFF").run()
        }
    }

    static func told(_ test: TestScheduler, _ id: JobID) async throws -> Job {
        try await test.settle()
        let answer = try await test.handler().handle(.getJob(.id(id)), from: .root).get()
        return try #require(answer as? JobReply).job
    }

    private static func listed(_ test: TestScheduler, _ order: ListJobs.Order) async throws
        -> [JobID]
    {
        var filter = ListJobs()
        filter.order = order
        let answer = try await test.handler().handle(.listJobs(filter), from: .root).get()
        return try #require(answer as? JobsReply).jobs.map(\.id)
    }

    /// A job by cron, whose next date is a minute away and waits in the store, and one beside it.
    private static func add(_ test: TestScheduler) async throws -> (bad: JobID, good: JobID) {
        let bad = try await test.add(ScheduleWords(cron: "* * * * *", tz: "UTC")) {
            $0.name = "bad"
            $0.tags = ["x"]
            $0.misfire = .skip
        }
        let good = try await test.add(ScheduleWords(every: "10s")) { $0.name = "good" }
        return (bad.id, good.id)
    }

    @Test("A job that cannot be read is held alone, and all others go on", arguments: damages)
    func alone(damage: Damage) async throws {
        try await TestScheduler.with { test in
            let (bad, good) = try await Self.add(test)
            try await Self.change(test, damage.sql, bad)
            try await test.advance(by: .seconds(130))
            #expect(test.fired(good) == (1...13).map { $0 * 10 })
            #expect(test.fired(bad).isEmpty)
            for test in [test, try await test.crashedAndDown(for: .seconds(5))] {
                let job = try await Self.told(test, bad)
                #expect(job.held?.contains(damage.reason) == true, "\(job.held ?? "")")
                #expect(job.definition.name == "bad")
                #expect(job.stored != nil)
                // What is told of it can be read by a client.
                let line = try JSONValue(encoding: job)
                let decoded = try line.decoded(as: Job.self)
                #expect(decoded == job)
                for order in [ListJobs.Order.id, .nextFire] {
                    let listed = try await Self.listed(test, order)
                    #expect(Set(listed) == [bad, good])
                }
                let before = test.fired(good).count
                try await test.advance(by: .seconds(20))
                #expect(test.fired(good).count == before + 2)
                #expect(test.fired(bad).isEmpty)
                #expect(try await Self.told(test, good).held == nil)
            }
        }
    }

    @Test(
        "It goes on by itself once it can be read, and what it missed says why",
        arguments: damages
    )
    func goesOn(damage: Damage) async throws {
        guard let repair = damage.repair else { return }
        try await TestScheduler.with { test in
            let (bad, _) = try await Self.add(test)
            try await Self.change(test, damage.sql, bad)
            try await test.advance(by: .seconds(190))
            #expect(test.sink.all(.jobHeld).map(\.job) == [bad])
            let held = try await test.store.reader.read { try Queries($0).liveJobs().held }
            #expect(held == 1)
            try await Self.change(test, repair, bad)
            while test.sink.all(.jobReleased).isEmpty { try await test.advance(by: .seconds(60)) }
            try await test.advance(by: .seconds(120))
            #expect(try await Self.told(test, bad).held == nil)
            let rest = try await test.store.reader.read { try Queries($0).liveJobs().held }
            #expect(rest == 0)
            let history = try await test.history(bad)
            #expect(history.first?.reason == .held, "\(history)")
            #expect(history.first?.fireDate == TestScheduler.start + .seconds(60))
            #expect(!test.fired(bad).isEmpty)
            // Each date has its row.
            let dates = history.reduce(0) { $0 + ($1.dates ?? 1) }
            let passed = (test.clock.now().wall - TestScheduler.start).microseconds / 60_000_000
            #expect(Int64(dates) >= passed && Int64(dates) <= passed + 1)
        }
    }

    @Test("It can be paused and ended, and is removed with what it has left", arguments: damages)
    func ended(damage: Damage) async throws {
        try await TestScheduler.with { test in
            let (bad, good) = try await Self.add(test)
            try await Self.change(test, damage.sql, bad)
            try await test.advance(by: .seconds(70))
            let handler = test.handler()
            for request: Request in [
                .fireJob(.id(bad)), .skipJobs(SkipJobs(jobs: .ids([bad]))),
                .setFireDate(SetFireDate(job: .id(bad), fireDate: "+1h")),
            ] {
                let answer = await handler.handle(request, from: .root)
                guard case .failure(let error) = answer else {
                    Issue.record("\(request) was carried out")
                    continue
                }
                #expect(error.message.contains("is held"), "\(error.message)")
            }
            _ = try await handler.handle(.pauseJobs(.ids([bad])), from: .root).get()
            _ = try await handler.handle(.resumeJobs(.ids([bad])), from: .root).get()
            let end = Request.invalidateJobs(InvalidateJobs(.name("bad")))
            _ = try await handler.handle(end, from: .root).get()
            let live = try await test.store.reader.read { try Queries($0).liveJobs() }
            #expect(live == (1, 0, 0))
            #expect(try await Self.told(test, bad).state == .invalidated)
            try await test.change(good, .pause)
            try await test.advance(by: .seconds(40 * 86_400))
            let answer = await handler.handle(.getJob(.id(bad)), from: .root)
            guard case .failure = answer else { return #expect(Bool(false), "it is still there") }
            #expect(try await Self.told(test, good).state == .paused)
            let tags = try await test.store.reader.read {
                try $0.prepare("SELECT count(*) FROM job_tags").value(as: Int.self)
            }
            #expect(tags == 0)
        }
    }

    @Test(
        "A job that a list finds unreadable is held from then on, wherever held jobs are told, and its row stays",
        arguments: [
            "state = 'dormant'", "fire_date_us = 9000000000000000000, due_us = 9000000000000000000",
        ]
    )
    func foundByList(damage: String) async throws {
        try await TestScheduler.with { test in
            let (bad, _) = try await Self.add(test)
            try await Self.change(test, "UPDATE jobs SET \(damage) WHERE id = ?1", bad)
            #expect(try await Self.listed(test, .id).contains(bad))
            try await test.settle()
            var held = ListJobs()
            held.held = true
            #expect(try await test.jobs(.listJobs(held)).map(\.id) == [bad])
            let live = try await test.store.reader.read { try Queries($0).liveJobs() }
            #expect(live.held == 1)
            #expect(test.sink.all(.jobHeld).map(\.job) == [bad])
            let left = try await test.store.reader.read { database in
                let isLeft = "\(damage.replacing(",", with: " AND")) AND id = \(bad)"
                return try database.prepare("SELECT count(*) FROM jobs WHERE \(isLeft)")
                    .value(as: Int.self)
            }
            #expect(left == 1)
        }
    }

    @Test("A job that has ended and left a fire open is not counted as held")
    func endedLeftOpen() async throws {
        try await TestScheduler.with { test in
            let damage = Self.damages[0]
            test.runner.isHolding = true
            let job = try await test.add(ScheduleWords(in: "1s"), command: ["x"])
            try await test.advance(by: .seconds(2))
            try await Self.change(test, damage.sql, job.id)
            let after = try await test.crashedAndDown(for: .seconds(5))
            func held() async throws -> Int {
                try await after.settle()
                return try await after.store.reader.read { try Queries($0).liveJobs().held }
            }
            #expect(try await held() == 0)
            #expect(after.sink.all(.jobHeld).map(\.job) == [job.id])
            try await Self.change(after, damage.repair ?? "", job.id)
            while after.sink.all(.jobReleased).isEmpty {
                try await after.advance(by: .seconds(60))
            }
            #expect(try await held() == 0)
            try await after.close()
            test.runner.end()
        }
    }

    @Test(
        "What ends with a job that cannot be read is told, as its row has it",
        arguments: [true, false]
    )
    func endedOpen(hasRun: Bool) async throws {
        try await TestScheduler.with { test in
            test.runner.isHolding = true
            let words = ScheduleWords(every: hasRun ? "1h" : "4s")
            let job = try await test.add(words, command: hasRun ? ["x"] : nil)
            if hasRun { try await test.advance(by: .seconds(3601)) }
            try await Self.change(test, Self.damages[0].sql, job.id)
            let after = try await test.crashedAndDown(for: .seconds(5))
            #expect(try await Self.told(after, job.id).held != nil)
            try await after.change(job.id, .invalidate)
            let rows = try await after.history(job.id)
            let (skipped, ended) = (after.sink.all(.fireSkipped), after.sink.all(.runFinished))
            #expect(skipped.map(\.fire) == rows.filter { $0.state == .skipped }.map(\.fire))
            #expect(skipped.allSatisfy { $0.reason == "held" && $0.job == job.id })
            #expect(ended.map(\.run) == rows.compactMap(\.id))
            #expect(ended.allSatisfy { $0.outcome == .interrupted })
            #expect(hasRun ? !ended.isEmpty : !skipped.isEmpty)
            try await after.close()
            test.runner.end()
        }
    }

    @Test("A run that a crash interrupted is settled once its job can be read")
    func leftOpen() async throws {
        try await TestScheduler.with { test in
            let damage = Self.damages[0]
            test.runner.isHolding = true
            let job = try await test.add(ScheduleWords(every: "1h"), command: ["x"])
            try await test.advance(by: .seconds(3601))
            #expect(try await test.history(job.id).last?.state == .running)
            try await Self.change(test, damage.sql, job.id)
            let after = try await test.crashedAndDown(for: .seconds(5))
            #expect(try await after.history(job.id).last?.outcome == nil)
            try await Self.change(after, damage.repair ?? "", job.id)
            while after.sink.all(.jobReleased).isEmpty {
                try await after.advance(by: .seconds(60))
            }
            try await after.settle()
            let history = try await after.history(job.id)
            #expect(history.first?.outcome == .interrupted, "\(history)")
            try await after.advance(by: .seconds(3600))
            #expect(!after.fired(job.id).isEmpty)
            try await after.close()
            test.runner.end()
        }
    }
}
