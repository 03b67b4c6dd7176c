// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import SQLite
@testable import TimerD

@Suite("Lists for who looks on", .timeLimit(.minutes(2)))
struct ListOrderTests {
    private let ann: UInt32 = 1001
    private let ben: UInt32 = 1002

    /// All pages of a list, and how many there were.
    private func list(
        _ test: TestScheduler,
        from uid: UInt32 = 0,
        _ change: (inout ListJobs) -> Void = { _ in }
    ) async throws -> (jobs: [Job], pages: Int) {
        var filter = ListJobs()
        filter.order = .nextFire
        change(&filter)
        var jobs: [Job] = []
        var pages = 0
        repeat {
            let answer = try await test.handler().handle(.listJobs(filter), from: uid).get()
            let page = try #require(answer as? JobsReply)
            jobs += page.jobs
            filter.cursor = page.cursor
            pages += 1
        } while filter.cursor != nil
        return (jobs, pages)
    }

    private func add(
        _ test: TestScheduler,
        _ uid: UInt32,
        _ name: String,
        _ words: ScheduleWords,
        _ change: (inout JobDefinition) -> Void = { _ in }
    ) async throws {
        var definition = JobDefinition(schedule: words)
        definition.name = name
        change(&definition)
        _ = try await test.handler().handle(.addJobs(AddJobs(definition)), from: uid).get()
    }

    /// Jobs on both clocks, in the window and beyond it, on one date, and without any.
    private func fill(_ test: TestScheduler) async throws {
        try await add(test, ann, "hour", ScheduleWords(every: "1h"))
        try await add(test, ben, "noon", ScheduleWords(at: "2026-12-01T12:00:00Z"))
        try await add(test, ann, "soon", ScheduleWords(every: "3s"))
        try await add(test, ann, "paused", ScheduleWords(every: "1s")) { $0.paused = true }
        try await add(test, ben, "boot", ScheduleWords(cron: "@reboot"))
        try await add(test, ben, "minute", ScheduleWords(in: "1m")) { $0.tags = ["x"] }
        try await add(test, ann, "second", ScheduleWords(at: "2026-12-01T08:00:01Z"))
        for number in 1...3 {
            try await add(test, ann, "nine \(number)", ScheduleWords(at: "2026-12-01T09:00:00Z")) {
                $0.tags = ["x"]
            }
        }
    }

    private static let all = [
        "second", "soon", "minute", "hour", "nine 1", "nine 2", "nine 3", "noon", "paused", "boot",
    ]

    @Test("Jobs are listed by their numbers, ended ones too, each once, and no other user's")
    func numbers() async throws {
        try await TestScheduler.with { test in
            try await fill(test)
            let gone = JobID(rawValue: 99)
            let ids = [3, 2, 6, 3, 1].map { JobID(rawValue: $0) }
            let ended = JobSelection.ids([JobID(rawValue: 3)])
            let end = Request.invalidateJobs(InvalidateJobs(ended))
            _ = try await test.handler().handle(end, from: 0).get()
            func listed(from uid: UInt32, limit: Int) async throws -> (ids: [Int64], pages: Int) {
                let found = try await list(test, from: uid) {
                    ($0.order, $0.ids, $0.limit) = (nil, ids + [gone], limit)
                }
                return (found.jobs.map(\.id.rawValue), found.pages)
            }
            let all = try await listed(from: 0, limit: 1000)
            #expect(all.ids == [1, 2, 3, 6] && all.pages == 1)
            let few = try await listed(from: 0, limit: 3)
            #expect(few.ids == [1, 2, 3, 6] && few.pages == 2)
            #expect(try await listed(from: ann, limit: 1000).ids == [1, 3])
            #expect(try await listed(from: ben, limit: 1).ids == [2, 6])
        }
    }

    @Test(
        "Jobs come by when they fire next, whatever a page holds",
        .ofOneHost(),
        arguments: [1, 2, 3, 7, 1000]
    )
    func order(limit: Int) async throws {
        try await TestScheduler.with { test in
            try await fill(test)
            func names(_ uid: UInt32, tag: String? = nil) async throws -> [String?] {
                let (jobs, pages) = try await list(test, from: uid) {
                    $0.limit = limit
                    $0.tag = tag
                }
                #expect(pages == max(1, (jobs.count + limit - 1) / limit))
                return jobs.map(\.definition.name)
            }
            #expect(try await names(0) == Self.all)
            #expect(
                try await names(ann)
                    == ["second", "soon", "hour", "nine 1", "nine 2", "nine 3", "paused"]
            )
            #expect(try await names(ben) == ["minute", "noon", "boot"])
            #expect(try await names(0, tag: "x") == ["minute", "nine 1", "nine 2", "nine 3"])
            #expect(try await names(ann, tag: "x") == ["nine 1", "nine 2", "nine 3"])
        }
    }

    @Test("A step of the wall clock moves what lives on it among what does not", .ofOneHost())
    func clockStep() async throws {
        try await TestScheduler.with { test in
            try await fill(test)
            test.clock.step(by: .seconds(-1800))
            _ = await test.scheduler.clockStepped()
            try await test.settle()
            let names = try await list(test).jobs.map(\.definition.name)
            #expect(names.prefix(4) == ["soon", "minute", "second", "hour"])
            #expect(Set(names) == Set(Self.all))
            #expect(try await list(test, from: ann).jobs.first?.definition.name == "soon")
        }
    }

    @Test("A state narrows the order to it", .ofOneHost())
    func states() async throws {
        try await TestScheduler.with { test in
            try await fill(test)
            let paused = try await list(test) { $0.state = .paused }.jobs
            #expect(paused.map(\.definition.name) == ["paused"])
            let scheduled = try await list(test) { $0.state = .scheduled }.jobs
            #expect(scheduled.map(\.definition.name) == Self.all.filter { $0 != "paused" })
            try await test.advance(by: .seconds(2))
            let all = try await list(test) { $0.all = true }.jobs
            #expect(all.last?.state == .finished)
        }
    }

    @Test("With 'last' each job has what became of its newest date, and else none has")
    func last() async throws {
        try await TestScheduler.with { test in
            let command = try await test.add(ScheduleWords(every: "5s"), command: ["true"])
            let event = try await test.add(ScheduleWords(every: "7s"))
            _ = try await test.add(ScheduleWords(every: "1h"))
            test.runner.outcome = .exited(3)
            try await test.advance(by: .seconds(8))
            try await test.change(event.id, .skip(2))
            let jobs = try await list(test) { $0.last = true }.jobs
            let last = Dictionary(uniqueKeysWithValues: jobs.map { ($0.id, $0.last) })
            #expect(last[command.id]??.state == .done)
            #expect(last[command.id]??.status == 3)
            #expect(last[event.id]??.state == .fired, "what was dropped is still to come")
            #expect(jobs.contains { $0.last == nil })
            #expect(try await list(test).jobs.allSatisfy { $0.last == nil })
        }
    }

    @Test("A cursor of another order is refused")
    func wrongCursor() throws {
        for line in [
            #"{"order":"nextFire","cursor":5}"#, #"{"cursor":{"id":5}}"#, #"{"cursor":"x"}"#,
            #"{"order":"name"}"#,
        ] {
            let request = #"{"jsonrpc":"2.0","id":1,"method":"job.list","params":\#(line)}"#
            guard case .single(let envelope) = try RequestLine(parsing: Array(request.utf8)),
                case .failure(let error) = envelope.request
            else {
                Issue.record("\(line) was accepted")
                continue
            }
            #expect(error.reason == .invalidParams)
        }
    }

    @Test("Open runs are those that run or wait, each user's own")
    func open() async throws {
        try await TestScheduler.with(accounts: Accounts()) { test in
            // A user whom every system has: a run needs its account.
            let nobody: UInt32 = 65_534
            try await add(test, nobody, "a", ScheduleWords(every: "5s")) { $0.command = ["sleep"] }
            try await add(test, ben, "b", ScheduleWords(every: "1h")) { $0.command = ["sleep"] }
            test.runner.isHolding = true
            try await test.advance(by: .seconds(6))
            func open(_ uid: UInt32) async throws -> [Run] {
                var filter = ListRuns()
                filter.open = true
                let answer = try await test.handler().handle(.listRuns(filter), from: uid).get()
                return try #require(answer as? RunsReply).runs
            }
            #expect(try await open(0).map(\.state) == [.running])
            #expect(try await open(nobody).count == 1)
            #expect(try await open(ben).isEmpty)
            test.runner.end()
            try await test.settle()
            #expect(try await open(0).isEmpty)
        }
    }
}
