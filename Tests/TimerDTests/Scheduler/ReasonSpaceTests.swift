// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import SQLite
@testable import TimerD

/// What workers say of failed tasks counts for what their user may have stored, and makes room once it is more.
@Suite("Reasons beyond maxBytesPerUser", .timeLimit(.minutes(2))) struct ReasonSpaceTests {
    private static let most: Int64 = 100_000
    private static let ann = Owner(uid: 1001, name: "ann")
    private static let caller = Caller(ann, isAdministrator: false)

    private static func with(_ body: (TestScheduler) async throws -> Void) async throws {
        let limits = RetentionLimits(maxBytesPerUser: most)
        try await TestScheduler.with(keeping: TestScheduler.Keeping(limits: limits), body)
    }

    private static func add(_ count: Int, to test: TestScheduler) async throws -> [JobID] {
        let jobs = try (0..<count).map { _ in
            var definition = JobDefinition(schedule: ScheduleWords(in: "0s"))
            (definition.queue, definition.retries, definition.backoff) = ("mails", 1000, "1s..1s")
            return try NewJob(definition, owner: ann, at: test.clock.now(), zone: .utc)
        }
        return try await test.scheduler.add(jobs, replace: false, caller: caller).map(\.id)
    }

    /// Has so many tasks fail in one request.
    private static func fail(_ count: Int, _ reason: String, _ test: TestScheduler) async throws
        -> [TaskOutcome]
    {
        let order = ReserveOrder(owner: ann, queues: ["mails"], count: count, lease: .seconds(60))
        let tasks = try await test.scheduler.reserve(order, wait: .zero, life: nil, isTied: false)
        let failed = tasks.compactMap(\.reference).map { FailedTask($0, reason: reason) }
        try #require(failed.count == count)
        return try await test.scheduler.tell(
            failed,
            isList: true,
            fire: \.reference.fire,
            caller: caller
        ) { try $0.fail($1, caller) }
    }

    /// The bytes that are counted of the user, and those that runs and events have of reasons that count.
    private static func bytes(_ test: TestScheduler) async throws -> (
        counted: Int64, errors: Int64, texts: Int64
    ) {
        try await test.settle()
        return try await test.store.reader.read { database in
            func number(_ sql: String) throws -> Int64 {
                try database.prepare(sql).value(as: Int64.self) ?? 0
            }
            return (
                try number("SELECT max(bytes) FROM owners"),
                try number(Self.sum("error", of: "runs")),
                try number(Self.sum("reason", of: "events"))
            )
        }
    }

    private static func sum(_ column: String, of table: String) -> String {
        let octets = "length(CAST(\(column) AS BLOB))"
        return "SELECT coalesce(sum(\(octets)), 0) FROM \(table) WHERE \(octets) > 32"
    }

    @Test("The oldest go from runs and events, the newest stay, and no end of a task is refused")
    func oldest() async throws {
        try await Self.with { test in
            let job = try #require(try await Self.add(1, to: test).first)
            let before = try await Self.bytes(test).counted
            for number in 1...60 {
                try await test.advance(by: .seconds(2))
                let reason = "\(number) " + String(repeating: "x", count: 4000)
                let told = try await Self.fail(1, reason, test)
                #expect(told.map(\.state) == [.delayed])
            }
            try await test.advance(by: .seconds(120))
            let bytes = try await Self.bytes(test)
            #expect(bytes.counted == before + bytes.errors + bytes.texts)
            // The last event is moved to the others once the room for its run was made.
            #expect(bytes.counted <= Self.most + 4100)
            let errors = try await test.history(job).map { $0.error?.split(separator: " ").first }
            #expect(errors.count == 60)
            #expect(errors.prefix(40).allSatisfy { $0 == nil })
            #expect(errors.suffix(8).map { $0 ?? "" } == (53...60).map { "\($0)" })
            #expect(try await test.tasks().first?.reason?.hasPrefix("60 ") == true)
            let page = try await test.store.events(after: test.scheduler)(0, Self.ann, .init())
            #expect(page.prunedThrough > 0)
            let last = page.events.last { $0.type == .runFinished }
            #expect(last?.reason?.hasPrefix("60 ") == true)
        }
    }

    @Test("A few words do not count and stay; a long text counts whole, a NUL in it or not")
    func bound() async throws {
        try await Self.with { test in
            let job = try #require(try await Self.add(1, to: test).first)
            let before = try await Self.bytes(test).counted
            for number in 1...20 {
                try await test.advance(by: .seconds(2))
                let isFew = number.isMultiple(of: 2)
                let few = String(repeating: "y", count: 32)
                let long = "\u{0}" + String(repeating: "x", count: 4000 + number)
                _ = try await Self.fail(1, isFew ? few : long, test)
                if number == 2 {
                    try await test.advance(by: .seconds(120))
                    let bytes = try await Self.bytes(test)
                    #expect(bytes.errors == 4002 && bytes.texts == 4002)
                    #expect(bytes.counted == before + 2 * 4002)
                }
            }
            for _ in 1...20 {
                try await test.advance(by: .seconds(2))
                _ = try await Self.fail(1, "\u{0}" + String(repeating: "x", count: 4000), test)
            }
            try await test.advance(by: .seconds(120))
            let bytes = try await Self.bytes(test)
            #expect(bytes.counted == before + bytes.errors + bytes.texts)
            #expect(bytes.counted <= Self.most + 4100)
            let errors = try await test.history(job).prefix(20).map(\.error?.utf8.count)
            #expect(errors == (1...20).map { $0.isMultiple(of: 2) ? 32 : nil })
        }
    }

    @Test("One request with more of them than there is room for has only those stored that fit")
    func burst() async throws {
        try await Self.with { test in
            let jobs = try await Self.add(60, to: test)
            let told = try await Self.fail(60, String(repeating: "x", count: 4000), test)
            #expect(told.allSatisfy { $0.state == .delayed })
            let errors = try await Self.bytes(test).errors
            #expect(errors <= Self.most + 4000)
            var kept = 0
            for job in jobs {
                let last = try #require(try await test.history(job).last)
                #expect(last.outcome == .failed)
                if last.error != nil { kept += 1 }
            }
            #expect(kept < 20, "60 jobs take 60 KiB of it")
        }
    }

    @Test("Failures that are told in lists leave the user the eighth, and cost him no ended job")
    func lists() async throws {
        try await Self.with { test in
            let paid = try await Self.add(1, to: test)
            _ = try await test.scheduler.change(.ids(paid), .invalidate, caller: Self.caller)
            _ = try await Self.add(20, to: test)
            for _ in 1...3 {
                _ = try await Self.fail(20, String(repeating: "x", count: 4000), test)
                try await test.advance(by: .seconds(120))
                let bytes = try await Self.bytes(test)
                #expect(bytes.texts > 0 && bytes.errors == bytes.texts)
                #expect(bytes.counted <= Self.most / 8 * 7)
            }
            _ = try await Self.add(1, to: test)
            let ended = try await test.store.reader.read { database in
                try database.prepare("SELECT count(*) FROM jobs WHERE state = 'invalidated'")
                    .value(as: Int.self)
            }
            #expect(ended == 1)
        }
    }

    @Test("What counted for a task's reason is counted no more once its job is removed")
    func removed() async throws {
        try await Self.with { test in
            let job = try #require(try await Self.add(1, to: test).first)
            _ = try await Self.fail(1, String(repeating: "é", count: 1000), test)
            #expect(try await Self.bytes(test).counted > 4000)
            try await test.settle()
            try await test.store.writer.write { database in
                try database.prepare("DELETE FROM jobs WHERE id = ?1").run(job)
                try database.prepare("DELETE FROM events WHERE job_id = ?1").run(job)
            }
            #expect(try await Self.bytes(test).counted == 0)
        }
    }
}
