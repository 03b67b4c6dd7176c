// SPDX-License-Identifier: Apache-2.0

import Locks
import Schedules
import Testing
import TimerControl

@testable import SQLite
@testable import TimerD

@Suite("The numbers of live jobs", .timeLimit(.minutes(1))) struct JobTallyTests {
    private static func jobs(_ test: TestScheduler, _ count: Int) throws -> [NewJob] {
        try (0..<count).map { number in
            var definition = JobDefinition(schedule: ScheduleWords(in: "30d"))
            (definition.name, definition.tags) = ("n\(number)", ["t"])
            return try NewJob(definition, owner: 1001, at: test.clock.now(), zone: .utc)
        }
    }

    private static let ann = Caller(uid: 1001, daemon: 0)

    /// What is kept of the numbers, beside what there is.
    private static func expectTrue(_ test: TestScheduler) async throws {
        try await test.store.writer.write { database in
            func count(_ sql: String) throws -> Int { try database.prepare(sql).value() ?? -1 }
            for state in ["scheduled", "paused"] {
                let kept = try count("SELECT \(Outbox.SQL.sum(state)) + \(state) FROM daemon_state")
                let found = try count("SELECT count(*) FROM jobs WHERE state = '\(state)'")
                #expect(kept == found)
            }
            let owners = Owners(database)
            let ann = try owners.id(of: Owner(uid: 1001))
            let kept = try owners.liveJobs(of: ann)
            // What is remembered of the outbox is what is there.
            let stored = try count(
                "SELECT live + \(Outbox.SQL.sumOfOwner("live")) FROM owners WHERE uid = 1001"
            )
            #expect(kept == stored)
            let found = try count(
                "SELECT count(*) FROM jobs WHERE state IN ('scheduled', 'paused')"
            )
            #expect(kept == found)
        }
    }

    @Test("They are true after each change of many jobs, and written once for all of them")
    func counts() async throws {
        try await TestScheduler.with { test in
            /// How many operations of SQLite's machine the counting took since it was asked.
            func steps() async throws -> Int32 {
                try await test.store.writer.write { database in
                    try [JobStore.SQL.count, Owners.SQL.count, Outbox.SQL.insert]
                        .map { try database.prepare($0).takeSteps() }.reduce(0, +)
                }
            }
            let ann = Self.ann
            _ = try await test.scheduler.add(Self.jobs(test, 1), replace: false, caller: ann)
            _ = try await steps()
            _ = try await test.scheduler.change(.tag("t"), .pause, caller: ann)
            let one = try await steps()
            #expect(one > 0)
            _ = try await test.scheduler.add(Self.jobs(test, 60), replace: true, caller: ann)
            try await Self.expectTrue(test)
            _ = try await steps()
            for change in [JobChange.pause, .resume, .pause] {
                _ = try await test.scheduler.change(.tag("t"), change, caller: ann)
                #expect(try await steps() == one, "as for one job")
                try await Self.expectTrue(test)
            }
            _ = try await test.scheduler.add(Self.jobs(test, 50), replace: true, caller: ann)
            try await Self.expectTrue(test)
            _ = try await test.scheduler.change(.tag("t"), .invalidate, caller: ann)
            try await Self.expectTrue(test)
        }
    }

    @Test("A change that is refused half way leaves them as they were")
    func refused() async throws {
        try await TestScheduler.with { test in
            let ann = Self.ann
            let added = try await test.scheduler.add(
                Self.jobs(test, 10),
                replace: false,
                caller: ann
            )
            let unknown = JobID(rawValue: 99_999)
            await #expect(throws: ControlError.self) {
                try await test.scheduler.change(
                    .ids(added.map(\.id) + [unknown]),
                    .invalidate,
                    caller: ann
                )
            }
            await #expect(throws: ControlError.self) {
                try await test.scheduler.add(Self.jobs(test, 20), replace: false, caller: ann)
            }
            try await Self.expectTrue(test)
            // What comes next counts as ever.
            _ = try await test.scheduler.change(.ids([added[0].id]), .invalidate, caller: ann)
            try await Self.expectTrue(test)
        }
    }

    @Test("A write sees what those before it in its group of records have counted")
    func group() async throws {
        try await TestScheduler.with { test in
            let ann = Self.ann
            let new = try Self.jobs(test, 3)
            _ = try await test.scheduler.add(new, replace: false, caller: ann)
            let begin = test.scheduler.terms.transactionMaker()
            let seen = Locked<[JobTally.Share]>([])
            test.store.writer.record { database in
                seen.withLock { $0 = [] }
                let id = try Owners(database).id(of: Owner(uid: 1001))
                for change in [-1, 1, 0] {
                    var write = try begin(database)
                    let live = try write.liveJobs(of: id)
                    let share = JobTally.Share(live: live, bytes: try write.bytes(of: id))
                    seen.withLock { $0.append(share) }
                    write.countLive(change, of: id)
                    write.tally.owners[id]?.bytes = Int64(100 * change)
                    _ = try write.finish()
                }
            }
            try await test.store.writer.barrier()
            let shares = seen.withLock { $0 }
            #expect(shares.map(\.live) == [3, 2, 3])
            let bytes = try #require(shares.first?.bytes)
            #expect(shares.map(\.bytes) == [bytes, bytes - 100, bytes])
            try await Self.expectTrue(test)
        }
    }
}
