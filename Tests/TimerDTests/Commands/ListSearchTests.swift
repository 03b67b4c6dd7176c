// SPDX-License-Identifier: Apache-2.0

import JobModel
import Schedules
import Testing
import TimerControl

@testable import TimerD

@Suite("Lists of what is looked for", .timeLimit(.minutes(1)))
struct ListSearchTests {
    private let ann: UInt32 = 1001

    private func add(
        _ test: TestScheduler,
        _ name: String?,
        _ command: [String]? = nil,
        _ change: (inout JobDefinition) -> Void = { _ in }
    ) async throws {
        var definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
        definition.name = name
        definition.command = command
        change(&definition)
        _ = try await test.handler().handle(.addJobs(AddJobs(definition)), from: ann).get()
    }

    /// The numbers of all jobs that are listed, a page of one job after the other.
    private func list(
        _ test: TestScheduler,
        _ order: ListJobs.Order?,
        _ change: (inout ListJobs) -> Void
    ) async throws -> [Int64] {
        var filter = ListJobs()
        filter.order = order
        filter.limit = 1
        change(&filter)
        var found: [Int64] = []
        repeat {
            let answer = try await test.handler().handle(.listJobs(filter), from: 0).get()
            let page = try #require(answer as? JobsReply)
            found += page.jobs.map(\.id.rawValue)
            filter.cursor = page.cursor
        } while filter.cursor != nil
        return found
    }

    private static let searches: [(String, [Int64])] = [
        // A name, whatever its letters' size; but of ASCII alone.
        ("backup", [1, 3]), ("BACKUP", [1, 3]), ("öl", [4]), ("Öl", []), ("%", []), ("_", []),
        // A command, also over the border of two words, with what JSON writes otherwise.
        ("rsync -a", [1]), ("a /Home", [1]), ("say \"hi\"", [2]), ("\\n", [2]), ("\",\"", []),
        ("[", []), ("]", []), ("command", []), ("every", []), ("1h", []),
        // A number, which may stand in words as well.
        ("3", [3]), ("1", [1, 2]), ("99", []),
        // What other columns have is not looked at.
        ("secret", []), ("x-tag", []),
    ]

    @Test(
        "A search finds names, commands and numbers, in both orders and with each other filter",
        .ofOneHost(),
        arguments: searches,
        [ListJobs.Order.id, .nextFire]
    )
    func search(search: (text: String, found: [Int64]), order: ListJobs.Order) async throws {
        try await TestScheduler.with { test in
            try await add(test, "Backup of home", ["rsync", "-a", "/home", "host1:"])
            try await add(test, nil, ["sh", "-c", #"say "hi"; printf '1\n'"#])
            try await add(test, "no backup") {
                $0.userInfo = JSONText(.string("secret"))
                $0.tags = ["x-tag"]
            }
            try await add(test, "öl") { $0.paused = true }
            #expect(try await list(test, order) { $0.search = search.text } == search.found)
            let tagged = try await list(test, order) {
                ($0.search, $0.tag, $0.owner) = (search.text, "x-tag", "1001")
            }
            #expect(tagged == search.found.filter { $0 == 3 })
        }
    }

    @Test(
        "A page ends where many jobs were looked at, however few matched; the next one goes on",
        arguments: [ListJobs.Order.id, .nextFire]
    )
    func bounded(order: ListJobs.Order) async throws {
        try await TestScheduler.with { test in
            let definitions = (1...10_001).map { number in
                var definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
                definition.name = "job \(number)"
                definition.tags = ["x"]
                return definition
            }
            for part in [definitions.prefix(5000), definitions.dropFirst(5000)] {
                let add = Request.addJobs(AddJobs(Array(part)))
                _ = try await test.handler().handle(add, from: 0).get()
            }
            /// The number of jobs on each page, and what the first one ends with.
            func pages(_ change: (inout ListJobs) -> Void) async throws -> ([Int], JobCursor?) {
                var filter = ListJobs()
                filter.order = order
                change(&filter)
                var pages: [JobsReply] = []
                repeat {
                    let answer = await test.handler().handle(.listJobs(filter), from: 0)
                    pages.append(try #require(answer.get() as? JobsReply))
                    filter.cursor = pages.last?.cursor
                } while filter.cursor != nil
                return (pages.map(\.jobs.count), pages[0].cursor)
            }
            let last = JobID(rawValue: 10_000)
            for (owner, tag) in [(nil, nil), ("0", nil), (nil, "x"), ("0", "x")] {
                let (jobs, cursor) = try await pages {
                    ($0.search, $0.owner, $0.tag) = ("job 10001", owner, tag)
                }
                #expect(jobs == [0, 1])
                switch cursor {
                case .id(last): #expect(order == .id)
                case .fire(_, last): #expect(order == .nextFire)
                default: Issue.record("the page ends with \(String(describing: cursor))")
                }
                // A live job of a name is found by it, and what is paused or held by that.
                #expect(
                    try await pages { ($0.name, $0.owner, $0.tag) = ("job 10001", owner, tag) }.0
                        == [1]
                )
            }
            #expect(try await pages { $0.state = .paused }.0 == [0])
            #expect(try await pages { $0.state = .finished }.0 == [0, 0])
        }
    }

    @Test(
        "A page ends where much was searched, though in few jobs; the pages have them all",
        arguments: [ListJobs.Order.id, .nextFire]
    )
    func boundedBytes(order: ListJobs.Order) async throws {
        try await TestScheduler.with { test in
            for number in 1...40 {
                let word = String(repeating: "a", count: 120_000)
                try await add(test, "job \(number)", [word]) { $0.tags = ["x"] }
            }
            for (owner, tag) in [(nil, nil), ("1001", nil), (nil, "x"), ("1001", "x")] {
                var filter = ListJobs()
                (filter.order, filter.owner, filter.tag) = (order, owner, tag)
                filter.search = "job 4"
                var (found, pages): ([JobID], Int) = ([], 0)
                repeat {
                    let answer = await test.handler().handle(.listJobs(filter), from: 0)
                    let page = try #require(answer.get() as? JobsReply)
                    found += page.jobs.map(\.id)
                    filter.cursor = page.cursor
                    pages += 1
                } while filter.cursor != nil && pages < 100
                #expect(found == [4, 40].map(JobID.init(rawValue:)))
                // 2 MiB have 17 of them. In the order of next fires those without one are looked for behind them.
                let expected = order == .id ? 3...3 : 3...6
                #expect(expected.contains(pages), "\(owner ?? "all"), \(tag ?? "no tag")")
            }
        }
    }

    @Test("A definition that is no JSON is found by its name and its number, and hides no other")
    func damaged() async throws {
        try await TestScheduler.with { test in
            try await add(test, "one", ["rsync"])
            try await add(test, "two", ["rsync"])
            try await test.store.writer.write { database in
                try database.prepare("UPDATE job_definitions SET definition = ?1 WHERE job_id = 1")
                    .run("{")
            }
            #expect(try await list(test, nil) { $0.search = "rsync" } == [2])
            #expect(try await list(test, nil) { $0.search = "one" } == [1])
            #expect(try await list(test, nil) { $0.search = "1" } == [1])
        }
    }

    @Test(
        "Held jobs come page by page whatever order is asked for, and other filters count",
        .ofOneHost(),
        arguments: [nil, .id, .nextFire] as [ListJobs.Order?]
    )
    func held(order: ListJobs.Order?) async throws {
        try await TestScheduler.with { test in
            for number in 1...6 {
                try await add(test, "job \(number)", ["true"]) {
                    $0.tags = number % 2 == 0 ? ["even"] : []
                    $0.paused = number == 4
                }
            }
            try await test.store.writer.write { database in
                try database.prepare("UPDATE jobs SET held = 'no such user' WHERE id > ?1").run(2)
            }
            func held(_ change: (inout ListJobs) -> Void = { _ in }) async throws -> [Int64] {
                try await list(test, order) {
                    $0.held = true
                    change(&$0)
                }
            }
            #expect(try await held() == [3, 4, 5, 6])
            #expect(try await held { $0.tag = "even" } == [4, 6])
            #expect(try await held { ($0.tag, $0.owner) = ("even", "1001") } == [4, 6])
            #expect(try await held { $0.owner = "0" } == [])
            #expect(try await held { $0.name = "job 5" } == [5])
            #expect(try await held { $0.state = .paused } == [4])
            #expect(try await held { $0.search = "job 6" } == [6])
            #expect(try await held { $0.search = "1" } == [])
        }
    }
}
