// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

@Suite("run.list", .timeLimit(.minutes(2))) struct ListRunsTests {
    /// Retries, commands of onFailure, fires by hand, ranges of dates that did not fire, many fires on one
    /// date, dates that come in another order than the numbers of their fires, and two users.
    private func makeHistory(_ test: TestScheduler) async throws {
        test.runner.outcome = .exited(3)
        for number in 1...2 {
            try await test.add(ScheduleWords(cron: "*/10 * * * * *"), command: ["x"]) {
                $0.name = "backup-\(number)"
                ($0.retries, $0.backoff, $0.onFailure) = (2, "1s..2s", ["notify"])
            }
        }
        let tick = try await test.add(ScheduleWords(every: "10s"))
        try await test.add(Array(repeating: ScheduleWords(every: "20s"), count: 3), of: 1001)
        try await test.advance(by: .seconds(25))
        try await test.change(tick.id, .pause)
        for id in [JobID(rawValue: 1), JobID(rawValue: 2)] {
            _ = try await test.handler().handle(.fireJob(.id(id)), from: 0).get()
        }
        try await test.advance(by: .seconds(30))
        try await test.change(tick.id, .resume)
        // What lies ahead of a clock that was set back has the lower numbers.
        test.clock.step(by: .seconds(-20))
        _ = await test.scheduler.clockStepped()
        try await test.advance(by: .seconds(45))
        test.runner.isHolding = true
        try await test.advance(by: .seconds(12))
    }

    private func list(
        _ test: TestScheduler,
        _ request: ListRuns,
        from uid: UInt32
    ) async throws -> RunsReply {
        try #require(
            try await test.handler().handle(.listRuns(request), from: uid).get() as? RunsReply
        )
    }

    @Test("A fire that waits for a place says which limit keeps it from one, in each list")
    func limits() async throws {
        try await TestScheduler.with(keeping: TestScheduler.Keeping(maxRuns: 1)) { test in
            test.runner.isHolding = true
            for _ in 0..<2 { try await test.add(ScheduleWords(in: "1s"), command: ["x"]) }
            try await test.advance(by: .seconds(2))
            let limit = Run.PlaceLimit(.maxRuns, 1)
            let runs = try await list(test, ListRuns(), from: 0).runs
            #expect(Set(runs.map(\.limit)) == [nil, limit])
            var all = ListJobs()
            (all.all, all.last) = (true, true)
            let jobs = try #require(
                try await test.handler().handle(.listJobs(all), from: 0).get() as? JobsReply
            )
            #expect(Set(jobs.jobs.map { $0.last?.limit }) == [nil, limit])
            test.runner.isHolding = false
            test.runner.end()
            try await test.settle()
        }
    }

    @Test("What runs is listed alone, the newest first: each user's own, of all for administrators")
    func running() async throws {
        let accounts = Accounts(find: { uid throws(StartRefusal) in
            Account(uid: uid, gid: uid, groups: [uid], name: "\(uid)", home: "/", shell: "/bin/sh")
        })
        let keeping = TestScheduler.Keeping(maxRuns: 3)
        try await TestScheduler.with(keeping: keeping, accounts: accounts) { test in
            test.runner.isHolding = true
            for uid: UInt32 in [1001, 0, 1001] {
                var definition = JobDefinition(schedule: ScheduleWords(in: "1s"))
                (definition.command, definition.name) = (["x"], uid == 0 ? "roots" : nil)
                _ = try await test.handler().handle(.addJobs(AddJobs(definition)), from: uid).get()
                try await test.advance(by: .seconds(2))
            }
            // These wait for places.
            for _ in 0..<3 { try await test.add(ScheduleWords(in: "1s"), command: ["x"]) }
            try await test.advance(by: .seconds(2))
            var request = ListRuns()
            request.running = true
            let ids = try await list(test, request, from: 0).runs.map(\.id?.rawValue)
            #expect(ids == [3, 2, 1])
            let own = try await list(test, request, from: 1001)
            #expect(own.runs.map(\.id?.rawValue) == [3, 1] && own.cursor == nil)
            #expect(try await list(test, request, from: 1002).runs.isEmpty)
            request.owner = "0"
            let roots = try await list(test, request, from: 0).runs
            #expect(roots.map(\.name) == ["roots"])
            await #expect(throws: ControlError.self) {
                _ = try await list(test, request, from: 1001)
            }
            (request.owner, request.limit) = (nil, 1)
            let newest = try await list(test, request, from: 0).runs
            #expect(newest.map(\.id?.rawValue) == [3] && newest.map(\.state) == [.running])
            test.runner.isHolding = false
            test.runner.end()
            try await test.settle()
            #expect(try await list(test, request, from: 0).runs.isEmpty)
        }
    }

    @Test("Root's own are listed among any number of others', a page at a time")
    func rootsOwn() async throws {
        try await TestScheduler.with { test in
            try await test.add(ScheduleWords(every: "10s"))
            for _ in 1...3 { try await test.add([ScheduleWords(every: "1s")], of: 1001) }
            try await test.advance(by: .seconds(60))
            try await test.settle()
            var request = ListRuns()
            (request.owner, request.limit) = ("0", 2)
            var found: [Run] = []
            repeat {
                let page = try await list(test, request, from: 0)
                found += page.runs
                request.cursor = page.cursor
            } while request.cursor != nil
            #expect(found.count == 6 && found.allSatisfy { $0.job == JobID(rawValue: 1) })
        }
    }

    /// What stands before what in a list: of a job a range of dates stands at its first one, elsewhere at its last.
    private func place(_ run: Run, ofJob: Bool) -> (Timestamp, Int64, Int64) {
        let date = ofJob ? run.fireDate : run.through ?? run.fireDate
        return (date, run.fire.rawValue, run.id?.rawValue ?? 0)
    }

    @Test(
        "Pages of any size are the whole, newest first by date, and no attempt is lost or comes twice"
    )
    func pages() async throws {
        try await TestScheduler.with { test in
            try await makeHistory(test)
            var (byJob, byName, open) = (ListRuns(), ListRuns(), ListRuns())
            byJob.job = JobID(rawValue: 1)
            byName.name = "backup-2"
            open.open = true
            for (request, uid, least) in [
                (byJob, 0, 20), (byName, 0, 20), (ListRuns(), 0, 60), (ListRuns(), 1001, 10),
                (open, 0, 2),
            ] as [(ListRuns, UInt32, Int)] {
                var request = request
                request.limit = 1000
                let whole = try await list(test, request, from: uid)
                #expect(whole.cursor == nil)
                #expect(whole.runs.count >= least)
                let isOfJob = request.job != nil || request.name != nil
                for (run, next) in zip(whole.runs, whole.runs.dropFirst()) {
                    #expect(place(run, ofJob: isOfJob) > place(next, ofJob: isOfJob))
                }
                for size in 1...whole.runs.count {
                    var runs: [Run] = []
                    var pages = 0
                    request.cursor = nil
                    request.limit = size
                    repeat {
                        let page = try await list(test, request, from: uid)
                        #expect(page.runs.count == size || page.cursor == nil)
                        runs += page.runs
                        request.cursor = page.cursor
                        pages += 1
                    } while request.cursor != nil && pages <= whole.runs.count
                    #expect(runs == whole.runs, "in pages of \(size)")
                }
            }
            // Of all there is something of each kind, or the above would say little.
            let all = try await test.store.reader.read {
                try Queries($0).runs(RunFilter(), after: nil, limit: 1000).runs
            }
            let attempts = Dictionary(grouping: all, by: \.fire).values.map(\.count)
            #expect(attempts.contains(4), "three attempts and onFailure")
            #expect(all.contains { $0.reason == .manual && $0.id != nil })
            #expect(all.contains { $0.through != nil })
            #expect(all.map(\.fire) != all.map(\.fire).sorted(by: >))
        }
    }

    @Test("Of one fire its own rows are listed, in pages of any size, and no row of another")
    func oneFire() async throws {
        try await TestScheduler.with { test in
            try await makeHistory(test)
            let all = try await test.store.reader.read {
                try Queries($0).runs(RunFilter(), after: nil, limit: 1000).runs
            }
            for (fire, rows) in Dictionary(grouping: all, by: \.fire) {
                for size in 1...rows.count {
                    var request = ListRuns()
                    (request.fire, request.limit) = (fire, size)
                    var runs: [Run] = []
                    repeat {
                        let page = try await list(test, request, from: 0)
                        runs += page.runs
                        request.cursor = page.cursor
                    } while request.cursor != nil && runs.count < rows.count
                    #expect(request.cursor == nil)
                    #expect(runs == rows, "fire \(fire) in pages of \(size)")
                }
            }
        }
    }

    @Test("A fire that is ahead is listed by its number alone, as claimed")
    func claimed() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "10s"))
            try await test.advance(by: .seconds(29))
            let fire = try #require(try await test.job(job.id).claim?.fire)
            var request = ListRuns()
            request.fire = fire
            #expect(try await list(test, request, from: 0).runs.map(\.state) == [.claimed])
            request = ListRuns()
            request.job = job.id
            #expect(try await !list(test, request, from: 0).runs.map(\.fire).contains(fire))
        }
    }

    @Test("Dates that did not fire are listed since any of them", arguments: [0, 1001] as [UInt32])
    func sinceWithinRange(uid: UInt32) async throws {
        try await TestScheduler.with { test in
            let job = try await test.add([ScheduleWords(every: "10s")], of: uid)[0]
            try await test.advance(by: .seconds(25))
            try await test.change(job.id, .pause)
            try await test.advance(by: .seconds(60))
            try await test.change(job.id, .resume)
            for ofJob in [true, false] {
                var request = ListRuns()
                request.job = ofJob ? job.id : nil
                request.since = test.clock.now().wall - .seconds(20)
                let runs = try await list(test, request, from: uid).runs
                #expect(runs.map(\.reason) == [.paused])
                request.since = test.clock.now().wall
                #expect(try await list(test, request, from: uid).runs.isEmpty)
            }
        }
    }

    @Test("A page that is full of bytes goes on where it ended, between two attempts as well")
    func bytes() async throws {
        try await TestScheduler.with { test in
            test.runner.outcome = .notStarted(String(repeating: "x", count: 30_000))
            let job = try await test.add(ScheduleWords(every: "1m"), command: ["x"]) {
                ($0.retries, $0.backoff) = (3, "1s..2s")
            }
            try await test.advance(by: .seconds(330))
            let whole = try await test.history(job.id)
            #expect(whole.count == 20)
            var request = ListRuns()
            (request.job, request.limit) = (job.id, 1000)
            var (runs, sizes): ([Run], [Int]) = ([], [])
            repeat {
                let page = try await list(test, request, from: 0)
                runs += page.runs
                sizes.append(page.runs.count)
                request.cursor = page.cursor
            } while request.cursor != nil
            #expect(runs == whole.reversed())
            #expect(sizes == [8, 8, 4], "of 30 KB each, 256 KiB have eight")
        }
    }

    @Test(
        "What is asked for more is read from where it stands, past all that is newer",
        arguments: RunOrder.allCases
    )
    func plans(order: RunOrder) async throws {
        let index = [
            RunOrder.fire: "fires USING INTEGER PRIMARY KEY (rowid=?",
            .job: "fires USING INDEX sqlite_autoindex_fires_1 (job_id=? AND fire_date_us",
            .openOfJob: "fires USING INDEX sqlite_autoindex_fires_1 (job_id=? AND fire_date_us",
            .owner: "fires USING INDEX fires_by_owner (owner_id=? AND <expr>",
            .openOfOwner: "fires USING INDEX fires_open_by_owner (owner_id=? AND wall_date_us",
            .open: "fires USING INDEX fires_open (wall_date_us",
            .all: "fires USING INDEX fires_by_date (<expr>",
            .failedOfJob: "runs USING INDEX runs_by_job (job_id=?",
            .failedOfOwner:
                "runs USING INDEX runs_failed_by_owner (failed_owner_id=? AND ended_at_us",
            .failed: "runs USING INDEX runs_failed (ended_at_us",
        ]
        let found = try #require(index[order])
        try await TestScheduler.with { test in
            for part in RunOrder.Part.allCases {
                let sql = Queries.SQL.runs(order, part).replacing(/\?\d+/, with: "1")
                let plan = try await test.store.reader.read { database in
                    try database.prepare("EXPLAIN QUERY PLAN " + sql)
                        .all { try $0.get(3, as: String.self) }
                }
                let first = try #require(plan.first)
                #expect(first.hasPrefix("SEARCH \(found)"), "\(plan)")
                #expect(!plan.contains { $0.hasPrefix("SCAN") }, "\(plan)")
                // The runs of a job are few, as many as are kept.
                let isSorted = plan.contains { $0.contains("TEMP") }
                #expect(isSorted == (order == .failedOfJob && part == .before), "\(plan)")
            }
        }
    }
}
