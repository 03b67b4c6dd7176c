// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import SQLite
@testable import TimerD

/// How long an answer takes says nothing of what belongs to others.
@Suite("Time tells nothing", .timeLimit(.minutes(1))) struct TimeTellsNothingTests {
    static let ann = Caller(uid: 1001, daemon: 0)
    static let ben = Caller(uid: 1002, daemon: 0)

    private static func add(_ test: TestScheduler, as caller: Caller, tag: String) async throws
        -> StoredJob
    {
        var definition = JobDefinition(schedule: ScheduleWords(every: "10s"))
        definition.tags = [tag]
        definition.command = ["x"]
        definition.userInfo = JSONText(.string(String(repeating: "x", count: 50_000)))
        let job = try NewJob(definition, owner: caller.uid, at: test.clock.now(), zone: .utc)
        return try await test.scheduler.add([job], replace: false, caller: caller)[0]
    }

    /// How many operations of SQLite's machine `body` takes in the statement of `sql`.
    private static func steps(
        _ test: TestScheduler,
        _ sql: String,
        _ body: @escaping @Sendable (Queries) throws -> Void
    ) async throws -> Int32 {
        try await test.settle()
        return try await test.store.reader.read { database in
            let statement = try database.prepare(sql)
            _ = statement.takeSteps()
            try body(Queries(database))
            return statement.takeSteps()
        }
    }

    @Test("A job of somebody else is looked for with as much work as one that does not exist")
    func job() async throws {
        try await TestScheduler.with { test in
            _ = try await Self.add(test, as: Self.ann, tag: "x")
            let his = try await Self.add(test, as: Self.ben, tag: "x")
            let look = { @Sendable (queries: Queries) throws -> Void in
                let found = try queries.job(his.id, for: Self.ann)
                #expect(found?.id == nil)
            }
            let sql = JobStore.SQL.byIDAndOwner
            let there = try await Self.steps(test, sql, look)
            #expect(there > 0)
            try await test.store.writer.write { database in
                try database.prepare("DELETE FROM jobs WHERE id = ?1").run(his.id)
            }
            #expect(try await Self.steps(test, sql, look) == there)
        }
    }

    @Test("Of a run of somebody else it is read whose it is, and no more")
    func run() async throws {
        try await TestScheduler.with { test in
            let his = try await Self.add(test, as: Self.ben, tag: "x")
            try await test.advance(by: .seconds(11))
            try await test.settle()
            let run = try #require(try await test.history(his.id).first?.id)
            let sql = Queries.SQL.runOfOwner
            let there = try await Self.steps(test, sql) {
                let found = try $0.run(run, for: Self.ann)
                #expect(found == nil)
            }
            let absent = try await Self.steps(test, sql) {
                let found = try $0.run(RunID(rawValue: 4711), for: Self.ann)
                #expect(found == nil)
            }
            #expect(there - absent <= 4)
            let own = try await test.store.reader.read { try Queries($0).run(run, for: Self.ben) }
            #expect(own?.job == his.id)
        }
    }

    @Test(
        "A tag of others is listed with as much work as one that nobody has",
        arguments: [true, false]
    )
    func tag(byFire: Bool) async throws {
        try await TestScheduler.with { test in
            _ = try await Self.add(test, as: Self.ann, tag: "own")
            let moment = test.clock.now()
            let list = { @Sendable (queries: Queries) throws -> Void in
                var filter = ListJobs()
                filter.tag = "his"
                let owner = try queries.id(of: Self.ann.onlyOwner)
                let found =
                    try byFire
                    ? queries.jobsByNextFire(filter, owner: owner, at: moment, limit: 10).jobs.count
                    : queries.jobsByNumber(filter, owner: owner, limit: 10).jobs.count
                #expect(found == 0)
            }
            let sql =
                byFire
                ? Queries.SQL.dueJobs(.tagged, hasOwner: true)
                : Queries.SQL.jobs(.taggedOfOwner, hasUserInfo: true)
            let none = try await Self.steps(test, sql, list)
            for _ in 0..<20 { _ = try await Self.add(test, as: Self.ben, tag: "his") }
            #expect(try await Self.steps(test, sql, list) - none <= 1)
        }
    }
}
