// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

@Suite("FireLocks") struct FireLocksTests {
    static let ann = Caller(uid: 1001, isAdministrator: false)
    static let ben = Caller(uid: 1002, isAdministrator: false)
    static let root = Caller(uid: 0, isAdministrator: true)

    /// Whether a change of `selection` by `caller` holds ann's job 1, `backup` with the tag `night`.
    struct Row: Sendable {
        var selection: JobSelection
        var caller: Caller
        var covers: Bool
    }

    static let rows = [
        Row(selection: .ids([JobID(rawValue: 1)]), caller: ann, covers: true),
        Row(selection: .ids([JobID(rawValue: 1)]), caller: root, covers: true),
        Row(selection: .ids([JobID(rawValue: 1)]), caller: ben, covers: false),
        Row(selection: .ids([JobID(rawValue: 2)]), caller: ann, covers: false),
        Row(selection: .name("backup"), caller: ann, covers: true),
        Row(selection: .name("backup"), caller: ben, covers: false),
        // By name, root has its own jobs alone.
        Row(selection: .name("backup"), caller: root, covers: false),
        Row(selection: .name("night"), caller: ann, covers: false),
        Row(selection: .tag("night"), caller: ann, covers: true),
        Row(selection: .tag("night"), caller: ben, covers: false),
        Row(selection: .tag("backup"), caller: ann, covers: false),
        Row(selection: .owner("1001"), caller: root, covers: true),
        Row(selection: .owner("1001"), caller: ann, covers: true),
        Row(selection: .owner("1001"), caller: ben, covers: false),
        Row(selection: .owner("1002"), caller: root, covers: false),
        Row(selection: .owner("1002"), caller: ann, covers: false),
    ]

    private static func job() throws -> StoredJob {
        try .sample(of: 1001) {
            $0.name = "backup"
            $0.tags = ["night"]
        }
    }

    @Test("A change holds what its caller may mean by its words, until it is over", arguments: rows)
    func selections(row: Row) throws {
        let job = try Self.job()
        var fireLocks = FireLocks()
        fireLocks.hold(row.selection, caller: row.caller)
        #expect(fireLocks.covers(job) == row.covers)
        fireLocks.release(row.selection, caller: row.caller)
        #expect(!fireLocks.covers(job))
    }

    @Test("Of two changes of one job, the second goes on holding it")
    func twice() throws {
        let job = try Self.job()
        var fireLocks = FireLocks()
        fireLocks.hold(.name("backup"), caller: Self.ann)
        fireLocks.hold(.name("backup"), caller: Self.ann)
        fireLocks.release(.name("backup"), caller: Self.ann)
        #expect(fireLocks.covers(job))
        fireLocks.release(.name("backup"), caller: Self.ann)
        #expect(!fireLocks.covers(job))
    }

    @Test(
        "An administrator names a user's jobs by the user's name or uid",
        arguments: [("ann", true), ("1001", true), ("ben", false), ("1002", false)]
    )
    func user(words: String, covers: Bool) throws {
        var job = try Self.job()
        job.owner = Owner(uid: 1001, name: "ann")
        var fireLocks = FireLocks()
        fireLocks.hold(.owner(words), caller: Self.root)
        #expect(fireLocks.covers(job) == covers)
    }

    @Test("All jobs of an owner are held, by uid and name")
    func owner() throws {
        let job = try Self.job()
        var fireLocks = FireLocks()
        fireLocks.hold(Owner(uid: 1001, name: "another"))
        #expect(!fireLocks.covers(job), "a uid that is somebody else's by now")
        fireLocks.hold(job.owner)
        #expect(fireLocks.covers(job))
        fireLocks.release(job.owner)
        #expect(!fireLocks.covers(job))
    }

    @Test("No job by rules that are over begins to fire, and any other one does")
    func overRules() throws {
        var job = try Self.job()
        var fireLocks = FireLocks()
        fireLocks.rules = [ZoneRulesID(rawValue: 1)]
        #expect(!fireLocks.covers(job))
        job.rules = ZoneRulesID(rawValue: 2)
        #expect(!fireLocks.covers(job))
        job.rules = ZoneRulesID(rawValue: 1)
        #expect(fireLocks.covers(job))
    }

    @Test("No wall job begins to fire while the store has it follow a clock that was set back")
    func wallJobs() throws {
        let wall = try StoredJob.sample(ScheduleWords(cron: "*/5 * * * * *"))
        let elapsed = try StoredJob.sample(ScheduleWords(every: "5s"))
        var fireLocks = FireLocks()
        fireLocks.holdWallJobs()
        fireLocks.holdWallJobs()
        #expect(fireLocks.covers(wall))
        #expect(!fireLocks.covers(elapsed))
        fireLocks.releaseWallJobs()
        #expect(fireLocks.covers(wall), "the clock was set back once more meanwhile")
        fireLocks.releaseWallJobs()
        #expect(!fireLocks.covers(wall))
    }

    @Test("What a change of its job holds back goes on with the end of that, and of no other")
    func lockedFires() async throws {
        try await TestScheduler.with { test in
            let (loop, scheduler) = (test.loop, test.scheduler)
            let job = try await test.add(ScheduleWords(every: "1d"), command: ["x"]) {
                $0.overlap = .allow
            }
            let other = try await test.add(ScheduleWords(every: "1d"), command: ["y"])
            let own = JobSelection.ids([job.id])
            func lockedFires() async -> Int {
                await loop.ask { scheduler.assumeIsolated { $0.lockedFires[job.id]?.count ?? 0 } }
            }
            await loop.ask {
                scheduler.assumeIsolated { $0.fireLocks.hold(own, caller: TestScheduler.root) }
            }
            for _ in 1...3 { _ = try await scheduler.fire(.id(job.id), caller: TestScheduler.root) }
            _ = try await scheduler.fire(.id(other.id), caller: TestScheduler.root)
            try await test.settle()
            #expect(test.runner.requests.map(\.argv) == [["y"]])
            #expect(await lockedFires() == 3)
            await loop.ask {
                scheduler.assumeIsolated { $0.letGo([own], caller: TestScheduler.root) }
            }
            try await test.settle()
            #expect(test.runner.requests.map(\.argv) == [["y"], ["x"], ["x"], ["x"]])
            #expect(await lockedFires() == 0)
        }
    }
}
