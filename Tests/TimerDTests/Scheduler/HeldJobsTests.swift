// SPDX-License-Identifier: Apache-2.0

import Locks
import Schedules
import Testing
import TimerControl

@testable import TimerD

/// A job that cannot be read is one job.
@Suite("Held jobs", .timeLimit(.minutes(2))) struct HeldJobsTests {
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
    ]

    private static func change(_ test: TestScheduler, _ sql: String, _ id: JobID) async throws {
        try await test.settle()
        try await test.store.writer.write { database in
            // As a newer version's schema would let it.
            try database.prepare("PRAGMA ignore_check_constraints = ON").run()
            try database.prepare(sql).run(id)
            try database.prepare("PRAGMA ignore_check_constraints = OFF").run()
        }
    }

    private static func told(_ test: TestScheduler, _ id: JobID) async throws -> Job {
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

    // MARK: - Owners

    /// A user database that a test writes.
    final class Names: Sendable {
        private let state = Locked((names: [UInt32: String](), asked: 0))

        init(_ names: [UInt32: String]) { state.withLock { $0.names = names } }

        subscript(uid: UInt32) -> String? {
            get { state.withLock { $0.names[uid] } }
            set { state.withLock { $0.names[uid] = newValue } }
        }

        var accounts: Accounts {
            Accounts(
                find: { uid throws(StartRefusal) in
                    guard let name = self[uid] else { throw .noUser(uid) }
                    return Account(
                        uid: uid,
                        gid: uid,
                        groups: [uid],
                        name: name,
                        home: "/",
                        shell: "/bin/sh"
                    )
                },
                // No answer is young enough to be used twice.
                now: {
                    self.state.withLock { state in
                        state.asked += 1
                        return .now + .seconds(60 * state.asked)
                    }
                }
            )
        }
    }

    private static let ann = Owner(uid: 1001, name: "ann")
    private static let bob = Owner(uid: 1001, name: "bob")

    private static func add(
        _ test: TestScheduler,
        as owner: Owner,
        command: [String]? = nil
    ) async throws -> JobID {
        var definition = JobDefinition(schedule: ScheduleWords(every: "60s"))
        definition.command = command
        let job = try NewJob(definition, owner: owner, at: test.clock.now(), zone: .utc)
        let caller = Caller(owner, daemon: 0)
        return try await test.scheduler.add([job], replace: false, caller: caller)[0].id
    }

    @Test("Jobs of a user who is gone are held, and go on when the user is back")
    func owner() async throws {
        let names = Names([1001: "ann"])
        try await TestScheduler.with(accounts: names.accounts) { test in
            let event = try await Self.add(test, as: Self.ann)
            let command = try await Self.add(test, as: Self.ann, command: ["x"])
            let other = try await test.add(ScheduleWords(every: "60s")).id
            try await test.advance(by: .seconds(58))
            names[1001] = "bob"
            await test.scheduler.lookAtHeld(all: true)
            while test.sink.all(.jobHeld).count < 2 { await Task.yield() }
            try await test.advance(by: .seconds(120))
            #expect(test.fired(event).isEmpty && test.fired(command).isEmpty)
            #expect(test.fired(other) == [60, 120])
            #expect(test.runner.requests.isEmpty)
            let reason = "'ann' (uid 1001), who is gone: uid 1001 is 'bob' now"
            #expect(try await Self.told(test, event).held == reason)
            let stranger = await test.handler().handle(.getJob(.id(event)), from: Self.bob)
            guard case .failure(let error) = stranger else { return #expect(Bool(false)) }
            #expect(error.reason == .notFound)
            let after = try await test.crashedAndDown(for: .seconds(30))
            try await after.advance(by: .seconds(60))
            #expect(after.fired(event).isEmpty && after.runner.requests.isEmpty)
            names[1001] = "ann"
            await after.scheduler.lookAtHeld(all: true)
            while after.sink.all(.jobReleased).count < 2 {
                await after.scheduler.lookAtHeld(all: true)
                await Task.yield()
            }
            try await after.advance(by: .seconds(60))
            #expect(after.fired(event).count >= 1 && after.runner.requests.count >= 1)
            #expect(try await after.history(event).contains { $0.reason == .held })
            try await after.close()
        }
    }

    @Test("A command that finds its owner gone is not started, and holds all jobs of that owner")
    func atStart() async throws {
        let names = Names([1001: "ann"])
        try await TestScheduler.with(accounts: names.accounts) { test in
            let command = try await Self.add(test, as: Self.ann, command: ["x"])
            let event = try await Self.add(test, as: Self.ann)
            names[1001] = nil
            try await test.advance(by: .seconds(61))
            while test.sink.all(.jobHeld).count < 2 { await Task.yield() }
            #expect(test.runner.requests.isEmpty)
            let run = try #require(try await test.history(command).first)
            #expect(run.outcome == .notStarted)
            #expect(
                run.error
                    == "job \(command) belongs to 'ann' (uid 1001), who is gone: uid 1001 is nobody's now"
            )
            #expect(try await Self.told(test, event).held != nil)
        }
    }

    @Test("Root lists, pauses and ends the jobs of one user; others none but their own")
    func selection() async throws {
        try await TestScheduler.with { test in
            let handler = test.handler()
            let hers = try await Self.add(test, as: Self.ann)
            let his = try await Self.add(test, as: Owner(uid: 1002, name: "ben"))
            var filter = ListJobs()
            filter.owner = "ann"
            let listed = try await handler.handle(.listJobs(filter), from: .root).get()
            #expect((listed as? JobsReply)?.jobs.map(\.id) == [hers])
            _ = try await handler.handle(.pauseJobs(.owner("1001")), from: .root).get()
            #expect(try await test.job(hers).state == .paused)
            #expect(try await test.job(his).state == .scheduled)
            for request: Request in [
                .resumeJobs(.owner("ann")), .invalidateJobs(InvalidateJobs(.owner("ann"))),
                .listJobs(filter),
            ] {
                let answer = await handler.handle(request, from: Owner(uid: 1002, name: "ben"))
                guard case .failure(let error) = answer else { return #expect(Bool(false)) }
                #expect(error.reason == .notPermitted)
            }
            _ = try await handler.handle(.resumeJobs(.owner("ann")), from: Self.ann).get()
            #expect(try await test.job(hers).state == .scheduled)
            let end = Request.invalidateJobs(InvalidateJobs(.owner("ann"), kill: true))
            _ = try await handler.handle(end, from: .root).get()
            #expect(try await test.job(hers).state == .invalidated)
            #expect(try await test.job(his).state == .scheduled)
        }
    }
}
