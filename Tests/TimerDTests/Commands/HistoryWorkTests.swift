// SPDX-License-Identifier: Apache-2.0

import JobModel
import Schedules
import Testing
import TimerControl

@testable import SQLite
@testable import TimerD

/// What a page of the past looks at, beside what it is asked for.
@Suite("Pages of the past", .timeLimit(.minutes(1))) struct HistoryWorkTests {
    private static let (ann, ben): (UInt32, UInt32) = (1001, 1002)
    private static let start = TestScheduler.start

    /// Gives a job so many rows, a second apart from a date on; `values` are those of the other columns.
    private static func addRows(
        _ count: Int,
        of job: StoredJob,
        from date: Timestamp,
        _ columns: String,
        _ values: String,
        in database: Database
    ) throws {
        try database.execute(
            """
            WITH n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < \(count - 1))
            INSERT INTO fires (job_id, owner_id, fire_date_us, wall_date_us, \(columns))
            SELECT \(job.id.rawValue), \(job.ownerID.rawValue), date, date, \(values)
            FROM (SELECT \(date.microseconds) + n * 1000000 AS date FROM n)
            """
        )
    }

    /// How many operations of SQLite's machine `statements` take for `work`.
    private static func steps<T>(
        of statements: [(String, String)],
        in database: Database,
        _ work: () throws -> T
    ) throws -> (T, steps: Int) {
        func takeSteps() throws -> Int {
            try statements.reduce(0) { $0 + Int(try database.prepare($1.1).takeSteps()) }
        }
        _ = try takeSteps()
        let found = try work()
        return (found, try takeSteps())
    }

    /// A page of the counts of the hour after the start.
    private static func page(of owner: OwnerID?, in database: Database) throws
        -> (CalendarPart<[DueCounts], CalendarCursor>, steps: Int)
    {
        let buckets = try #require(
            CalendarBuckets(hoursFrom: start, before: start + .seconds(3600), atMost: 1)
        )
        return try steps(of: AllStatements.calendars, in: database) {
            try Queries(database)
                .countsOfFires(in: buckets, tag: nil, owner: owner, after: nil, limit: 100)
        }
    }

    @Test("A calendar of the past looks at nothing before it, nor at what others have skipped")
    func calendar() async throws {
        try await TestScheduler.with { test in
            let ann = try await test.add([ScheduleWords(every: "100d")], of: Self.ann)[0]
            let ben = try await test.add([ScheduleWords(every: "100d")], of: Self.ben)[0]
            try await test.settle()
            try await test.store.writer.write { database in
                let before = Self.start - .seconds(10_000)
                for job in [ann, ben] {
                    try Self.addRows(5000, of: job, from: before, "state", "'fired'", in: database)
                }
                try Self.addRows(7, of: ann, from: Self.start, "state", "'fired'", in: database)
                try Self.addRows(
                    3000,
                    of: ben,
                    from: Self.start,
                    "state, reason, dates, last_date_us",
                    "'skipped', 'misfire', 2, date + 1",
                    in: database
                )
                let own = try Self.page(of: ann.ownerID, in: database)
                #expect(own.0.found.map(\.succeeded) == [7] && own.0.cursor == nil)
                #expect(own.steps < 2000)
                // Of all users, and of root, whose fires have no index of their own, a page ends where so many rows were looked at.
                for owner in [nil, OwnerID.root] {
                    let page = try Self.page(of: owner, in: database)
                    #expect(page.0.cursor != nil)
                    #expect(page.steps < 10_000)
                }
            }
        }
    }

    @Test("What is open of one job is listed without a look at what is open of others")
    func open() async throws {
        try await TestScheduler.with { test in
            let ann = try await test.add([ScheduleWords(every: "100d")], of: Self.ann)[0]
            let ben = try await test.add([ScheduleWords(every: "100d")], of: Self.ben)[0]
            try await test.settle()
            try await test.store.writer.write { database in
                for (job, count) in [(ann, 3), (ben, 5000)] {
                    try Self.addRows(
                        count,
                        of: job,
                        from: Self.start - .seconds(10_000),
                        "state, waits_for",
                        "'waiting', 'place'",
                        in: database
                    )
                }
                var filter = RunFilter(job: ann.id)
                filter.isOpen = true
                for owner in [nil, OwnerID.root, ann.ownerID] {
                    filter.owner = owner
                    let (page, steps) = try Self.steps(of: AllStatements.runLists, in: database) {
                        try Queries(database).runs(filter, after: nil, limit: 10)
                    }
                    #expect(page.runs.count == (owner == .root ? 0 : 3))
                    #expect(steps < 2000)
                }
            }
        }
    }
}
