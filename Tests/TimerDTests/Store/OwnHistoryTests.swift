// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

/// What is past for one user is found without a look at what is past for others.
@Suite("A user's own history", .timeLimit(.minutes(1))) struct OwnHistoryTests {
    @Test(
        "It is read by an index",
        arguments: [
            (
                Queries.SQL.runs(.owner, .before),
                """
                SEARCH fires USING INDEX fires_by_owner (owner_id=? AND <expr>>? AND <expr><?)
                """
            ),
            (
                Queries.SQL.runs(.owner, .onDate),
                "SEARCH fires USING INDEX fires_by_owner (owner_id=? AND <expr>=? AND rowid<?)"
            ),
            (
                EventLog.SQL.afterOfOwner,
                "SEARCH e USING INDEX events_by_owner (owner_id=? AND seq>? AND seq<?)"
            ),
        ]
    )
    func plan(sql: String, first: String) async throws {
        try await TestScheduler.with { test in
            let plan = try await test.store.reader.read { database in
                try database.prepare("EXPLAIN QUERY PLAN " + sql.replacing(/\?\d+/, with: "1"))
                    .all { try $0.get(3, as: String.self) }
            }
            #expect(plan.first == first)
            #expect(!plan.contains { $0.hasPrefix("SCAN") }, "\(plan)")
        }
    }

    @Test("Pages of events and of fires hold one's own, in order and without a gap")
    func pages() async throws {
        try await TestScheduler.with { test in
            let handler = test.handler()
            for number in 0..<60 {
                let words = AddJobs(JobDefinition(schedule: ScheduleWords(in: "\(number + 1)s")))
                _ = try await handler.handle(.addJobs(words), from: UInt32(number % 3)).get()
            }
            try await test.advance(by: .seconds(61))
            try await test.settle()
            let all = try await test.store.reader.read {
                try EventLog($0).events(after: 0, limit: 1000)
            }
            let fires = try await test.store.reader.read {
                try Queries($0).runs(RunFilter(), after: nil, limit: 1000).runs
            }
            #expect(fires.count == 60)
            for owner in [UInt32(1), 2] {
                var events: [Event] = []
                repeat {
                    let (after, count) = (events.last?.seq ?? 0, events.count)
                    events += try await test.store.reader.read {
                        let id = try Owners($0).id(of: Owner(uid: owner))
                        return try EventLog($0).events(after: after, owner: id, limit: 7)
                    }
                    if events.count < count + 7 { break }
                } while true
                #expect(events == all.filter { $0.owner?.uid == owner })

                var runs: [Run] = []
                var cursor: RunCursor?
                repeat {
                    let page = try await test.store.reader.read { [cursor] in
                        let filter = RunFilter(owner: try Owners($0).id(of: Owner(uid: owner)))
                        let page = try Queries($0).runs(filter, after: cursor, limit: 7)
                        return (runs: page.runs, cursor: page.cursor)
                    }
                    runs += page.runs
                    cursor = page.cursor
                } while cursor != nil
                let own = fires.filter { $0.job.rawValue % 3 == Int64(owner + 1) % 3 }
                #expect(runs == own)
            }
        }
    }
}
