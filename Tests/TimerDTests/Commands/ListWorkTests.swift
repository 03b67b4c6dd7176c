// SPDX-License-Identifier: Apache-2.0

import JobModel
import Schedules
import TestRandom
import Testing
import TimerControl

@testable import SQLite
@testable import TimerD

/// What a page of jobs has, and what it looks at for that.
@Suite("Pages of jobs", .timeLimit(.minutes(2))) struct ListWorkTests {
    private static let users: [UInt32] = [0, 1001, 1002]

    private static func add(_ test: TestScheduler, _ definitions: [JobDefinition], by uid: UInt32)
        async throws
    {
        for part in stride(from: 0, to: definitions.count, by: 5000) {
            let jobs = Array(definitions.dropFirst(part).prefix(5000))
            _ = try await test.handler().handle(.addJobs(AddJobs(jobs)), from: uid).get()
        }
    }

    /// A job as its row has it, and what a filter looks at.
    private struct Known: Sendable {
        var job: StoredJob
        /// When it fires by the wall clock.
        var next: Timestamp?

        func matches(_ filter: ListJobs, _ owner: OwnerID?) -> Bool {
            let words = [job.definition.name, job.definition.command?.joined(separator: " ")]
            let isFound = { (text: String) in words.contains { $0?.contains(text) == true } }
            if let owner, job.ownerID != owner { return false }
            if let state = filter.state {
                if job.state != state { return false }
            } else if filter.all != true, !job.state.isLive {
                return false
            }
            if let name = filter.name, job.definition.name != name { return false }
            if let tag = filter.tag, job.definition.tags?.contains(tag) != true { return false }
            if filter.held == true, job.held == nil { return false }
            guard let text = filter.search else { return true }
            return isFound(text) || "\(job.id)" == text
        }
    }

    /// Jobs of three users on both clocks, claimed and waiting, paused, held and ended.
    private static func fill(_ test: TestScheduler, _ random: inout SplitMix) async throws {
        for uid in users {
            var jobs: [JobDefinition] = []
            for number in 0..<40 {
                let words = [
                    ScheduleWords(every: "3s"), ScheduleWords(every: "1h"),
                    ScheduleWords(in: "\(number % 7)m"), ScheduleWords(at: "2026-12-01T09:00:00Z"),
                    ScheduleWords(cron: "0 4 * * *"), ScheduleWords(cron: "@reboot"),
                ]
                var job = JobDefinition(schedule: words[Int.random(in: 0..<6, using: &random)])
                job.name = number % 3 == 0 ? "name \(number)" : nil
                job.command = number % 4 == 0 ? ["say", "word \(number % 5)"] : nil
                job.tags = [["x"], ["x", "y"], []][Int.random(in: 0..<3, using: &random)]
                job.paused = random.isTrue(0.2)
                jobs.append(job)
            }
            try await add(test, jobs, by: uid)
        }
        for id in 1...120 where random.isTrue(0.15) {
            let end = InvalidateJobs(.ids([JobID(rawValue: Int64(id))]))
            _ = try await test.handler().handle(.invalidateJobs(end), from: 0).get()
        }
        let held = (1...120).filter { _ in random.isTrue(0.1) }
        try await test.store.writer.write { database in
            let hold = try database.prepare("UPDATE jobs SET held = 'no such user' WHERE id = ?1")
            for id in held { try hold.run(id) }
        }
        try await test.advance(by: .seconds(2))
        try await test.settle()
    }

    @Test(
        "Pages have each job that matches, once and in order, whatever they hold and look at",
        .ofOneHost(),
        arguments: UInt64(1)...8
    )
    func model(seed: UInt64) async throws {
        var random = SplitMix(seed: seed)
        try await TestScheduler.with { test in
            try await Self.fill(test, &random)
            let moment = test.clock.now()
            let seed = random.next()
            let pages = try await test.store.reader.read { database in
                var random = SplitMix(seed: seed)
                var all = ListJobs()
                all.all = true
                let due = try database.prepare("SELECT id, due_us FROM jobs").all {
                    (try $0.get(0, as: JobID.self), try $0.get(1, as: Timestamp?.self))
                }
                let dates = Dictionary(uniqueKeysWithValues: due)
                let jobs = try Queries(database).jobsByNumber(all, owner: nil, limit: 1000).jobs
                #expect(jobs.count == 120)
                let known = jobs.map { job in
                    let fires = job.state == .scheduled && job.held == nil
                    let date = fires ? dates[job.id].flatMap(\.self) : nil
                    return Known(job: job, next: date.map { moment.wallDate($0, on: job.clock) })
                }
                var pages = 0
                for _ in 0..<300 {
                    pages += try Self.compare(database, known, at: moment, &random)
                }
                return pages
            }
            #expect(pages > 1000)
        }
    }

    /// Reads one list, page by page, and says how many there were.
    private static func compare(
        _ database: Database,
        _ known: [Known],
        at moment: ClockReading,
        _ random: inout SplitMix
    ) throws -> Int {
        var queries = Queries(database)
        queries.mostLookedAt = [1, 2, 7, 50, 10_000].randomElement(using: &random) ?? 1
        queries.mostSearched = [1, 300, 2000, 2 << 20].randomElement(using: &random) ?? 1
        let limit = [1, 2, 5, 200].randomElement(using: &random) ?? 1
        let owner = random.isTrue(0.4) ? nil : known.randomElement(using: &random)?.job.ownerID
        var filter = ListJobs()
        if random.isTrue(0.3) { filter.tag = ["x", "y", "z"].randomElement(using: &random) }
        if random.isTrue(0.2) {
            filter.name = ["name 3", "name 6", "no"].randomElement(using: &random)
        }
        if random.isTrue(0.3) {
            filter.search = ["word 3", "name 1", "7"].randomElement(using: &random)
        }
        if random.isTrue(0.3) { filter.state = Job.State.allCases.randomElement(using: &random) }
        if random.isTrue(0.3) { filter.all = true }
        if random.isTrue(0.2) { filter.held = true }
        let isByFire = random.isTrue(0.6) && filter.held != true
        filter.order = isByFire ? .nextFire : .id
        let wanted = known.filter { $0.matches(filter, owner) }.sorted { left, right in
            let (one, other) = isByFire ? (left.next, right.next) : (nil, nil)
            return (one ?? .distantFuture, left.job.id) < (other ?? .distantFuture, right.job.id)
        }
        var found: [JobID] = []
        var pages = 0
        repeat {
            let page =
                isByFire
                ? try queries.jobsByNextFire(filter, owner: owner, at: moment, limit: limit)
                : try queries.jobsByNumber(filter, owner: owner, limit: limit)
            #expect(page.jobs.count <= limit)
            found += page.jobs.map(\.id)
            pages += 1
            filter.cursor = page.cursor
        } while filter.cursor != nil && pages < 1000
        #expect(
            found == wanted.map(\.job.id),
            "\(filter) of \(String(describing: owner)), \(limit), looks at \(queries.mostLookedAt)"
        )
        return pages
    }

    /// How many operations of SQLite's machine a page takes, in all statements of lists.
    private static func steps(
        _ test: TestScheduler,
        of uid: UInt32?,
        _ filter: ListJobs
    ) async throws -> Int {
        try await test.settle()
        let moment = test.clock.now()
        return try await test.store.reader.read { database in
            let queries = Queries(database)
            let owner = try queries.id(of: uid.map { Caller(uid: $0, daemon: 0).owner })
            func takeSteps() throws -> Int {
                try AllStatements.jobLists.reduce(0) { sum, statement in
                    sum + Int(try database.prepare(statement.1).takeSteps())
                }
            }
            _ = try takeSteps()
            _ =
                filter.order == .nextFire
                ? try queries.jobsByNextFire(filter, owner: owner, at: moment, limit: 10)
                : try queries.jobsByNumber(filter, owner: owner, limit: 10)
            return try takeSteps()
        }
    }

    @Test(
        "A page's work does not grow with the jobs of its user, live or ended, nor with those of others"
    )
    func growth() async throws {
        try await TestScheduler.with { test in
            let ann = Self.users[1]
            func jobs(_ count: Int, _ schedule: ScheduleWords) -> [JobDefinition] {
                (0..<count).map { _ in JobDefinition(schedule: schedule) }
            }
            var soonest = ListJobs()
            soonest.order = .nextFire
            var paused = soonest
            paused.state = .paused
            try await Self.add(test, jobs(50, ScheduleWords(every: "1h")), by: ann)
            let lists: [(uid: UInt32?, filter: ListJobs)] = [
                (ann, soonest), (ann, paused), (nil, soonest), (nil, paused),
            ]
            var few: [Int] = []
            for list in lists { few.append(try await Self.steps(test, of: list.uid, list.filter)) }
            // What is due in a second is claimed, and over when it has come.
            for uid in Self.users {
                try await Self.add(test, jobs(2000, ScheduleWords(in: "1s")), by: uid)
                try await test.advance(by: .seconds(2))
                try await Self.add(test, jobs(2000, ScheduleWords(every: "2h")), by: uid)
            }
            for (list, few) in zip(lists, few) {
                let many = try await Self.steps(test, of: list.uid, list.filter)
                #expect(many <= few + 50, "\(list)")
            }
        }
    }

    @Test("What others have claimed takes no work of one's own list")
    func claimed() async throws {
        try await TestScheduler.with { test in
            let (ann, ben) = (Self.users[1], Self.users[2])
            var soonest = ListJobs()
            soonest.order = .nextFire
            try await Self.add(test, [JobDefinition(schedule: ScheduleWords(every: "3s"))], by: ann)
            let before = try await Self.steps(test, of: ann, soonest)
            let jobs = (0..<500).map { _ in JobDefinition(schedule: ScheduleWords(every: "3s")) }
            try await Self.add(test, jobs, by: ben)
            #expect(try await Self.steps(test, of: ann, soonest) <= before + 10)
        }
    }
}
