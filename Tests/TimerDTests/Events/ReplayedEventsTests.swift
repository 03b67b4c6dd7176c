// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

/// Who asks for events of the past is told what was told when they happened.
@Suite("Replayed events", .timeLimit(.minutes(2))) struct ReplayedEventsTests {
    private static func definition(
        _ schedule: ScheduleWords,
        userInfo: String?,
        _ change: (inout JobDefinition) -> Void = { _ in }
    ) -> JobDefinition {
        var definition = JobDefinition(schedule: schedule)
        definition.name = "tick"
        definition.userInfo = userInfo.flatMap(JSONText.init(stored:))
        change(&definition)
        return definition
    }

    private static func add(
        _ test: TestScheduler,
        _ definition: JobDefinition,
        replace: Bool = false,
        as uid: UInt32 = 0
    ) async throws -> JobID {
        let request = AddJobs(definition, replace: replace)
        let reply = try await test.handler().handle(.addJobs(request), from: uid).get()
        return try #require(reply as? JobReply).job.id
    }

    private static func change(_ test: TestScheduler, _ job: JobID, _ to: JobDefinition)
        async throws
    {
        let request = ApplyJobs(change: [JobRevision(id: job, definition: to)])
        _ = try await test.handler().handle(.applyJobs(request), from: 0).get()
    }

    /// Gives a job another name, which no request does yet.
    private static func rename(_ test: TestScheduler, _ job: JobID, to name: String) async throws {
        try await test.store.writer.write { database in
            let rename = """
                UPDATE job_definitions
                SET name = ?2, revision = revision + 1, definition = json_set(definition, '$.name', ?2) WHERE job_id = ?1
                """
            try database.prepare(rename).run(job, name)
        }
    }

    /// Removes a job that has ended, as whoever needs its room does.
    private static func remove(_ test: TestScheduler, _ job: JobID) async throws {
        try await test.settle()
        let moment = test.clock.now()
        try await test.store.writer.write { database in
            let writer = JobTransaction(database, at: moment, horizon: .distantPast)
            var budget = WorkBudget.unbounded
            let stored = try #require(try writer.job(job))
            #expect(try writer.remove(stored, &budget))
        }
    }

    private static func lines(_ events: [Event]) -> [String] {
        events.map { String(decoding: ReplyLine.event($0), as: UTF8.self) }
    }

    /// What a watcher is told that asks for all that is kept.
    private static func replay(_ test: TestScheduler) async throws -> [Event] {
        try await test.settle()
        let source = test.store.events(after: test.scheduler)
        var events: [Event] = []
        while true {
            let page = try await source(events.last?.seq ?? 0, nil, .init(events: 7))
            events += page.events
            if page.isLast { return events }
        }
    }

    private static func expectReplay(
        _ test: TestScheduler,
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        let replayed = try await replay(test)
        #expect(lines(replayed) == lines(test.sink.all), sourceLocation: location)
    }

    /// How many names and userInfo are kept apart from their jobs; and that they are counted.
    private static func words(
        _ test: TestScheduler,
        _ location: SourceLocation = #_sourceLocation
    ) async throws -> Int {
        try await test.settle()
        return try await test.store.reader.read { database in
            func sum(_ sql: String) throws -> Int {
                try database.prepare("SELECT coalesce((\(sql)), 0)").value() ?? 0
            }
            func octets(_ column: String) -> String {
                "coalesce(length(CAST(\(column) AS BLOB)), 0)"
            }
            let bytes =
                try sum(
                    "SELECT sum(1024 + \(octets("definition")) + \(octets("user_info"))) FROM job_definitions"
                )
                + sum(
                    "SELECT sum(100 + \(octets("name")) + \(octets("user_info"))) FROM event_words"
                )
                + sum("SELECT sum(length(bytes)) FROM run_output")
                + sum(
                    """
                    SELECT sum(\(octets("error"))) FROM runs
                    WHERE failed_owner_id IS NOT NULL AND \(octets("error")) > 32
                    """
                )
                + sum(
                    "SELECT sum(\(octets("reason"))) FROM events WHERE \(octets("reason")) > 32"
                )
            let counted = try sum("SELECT sum(bytes) + \(Outbox.SQL.sum("bytes")) FROM owners")
            #expect(counted == bytes, sourceLocation: location)
            return try sum("SELECT count(*) FROM event_words")
        }
    }

    @Test("They are those that were told, whatever userInfo the job has been given since")
    func changed() async throws {
        try await TestScheduler.with { test in
            let words = ScheduleWords(every: "1s")
            let large = #"{"b": 1.50, "a":"\#(String(repeating: "é", count: 30_000))"}"#
            let job = try await Self.add(test, Self.definition(words, userInfo: "[1, 2]"))
            for userInfo in [large, nil, "null", large] {
                try await test.advance(by: .seconds(3))
                _ = try await test.handler().handle(.fireJob(.id(job)), from: 0).get()
                // What fires next is what the change has left in the timers' hands.
                try await Self.change(test, job, Self.definition(words, userInfo: userInfo))
            }
            try await test.advance(by: .seconds(3))
            let told = Set(test.sink.all(.fireFired).map(\.userInfo?.text))
            #expect(told == ["[1, 2]", large, nil, "null"])
            try await Self.expectReplay(test)
            #expect(try await Self.words(test) == 4, "one for each change, not one for each event")

            // What leaves name and userInfo as they are keeps nothing apart.
            let same = Self.definition(words, userInfo: large) { $0.tags = ["new"] }
            try await Self.change(test, job, same)
            try await test.advance(by: .seconds(3))
            try await Self.expectReplay(test)
            #expect(try await Self.words(test) == 4)
        }
    }

    @Test("The end of a run that began before the change is told by the new name, also replayed")
    func runsInProgress() async throws {
        try await TestScheduler.with { test in
            let words = ScheduleWords(every: "10s")
            let old = Self.definition(words, userInfo: "1") {
                ($0.command, $0.overlap, $0.retries, $0.backoff) = (["x"], .queue, 1, "1s")
            }
            let job = try await Self.add(test, old)
            test.runner.isHolding = true
            try await test.advance(by: .seconds(25))
            var new = old
            new.userInfo = JSONText(stored: "2")
            try await Self.change(test, job, new)
            try await Self.rename(test, job, to: "tock")
            #expect(try await Self.words(test) == 2)
            test.runner.end(.exited(3))
            try await test.settle()
            test.runner.isHolding = false
            test.runner.end(.signalled(9))
            try await test.advance(by: .seconds(30))
            #expect(test.sink.all(.runFinished).first?.name == "tock")
            #expect(test.sink.all(.fireFired).contains { $0.userInfo?.text == "2" })
            try await Self.expectReplay(test)
        }
    }

    @Test(
        "A run that outlasts all that was told by its job's old name brings none of that back"
    )
    func lastOfName() async throws {
        var keeping = TestScheduler.Keeping()
        keeping.limits.eventsMaxAge = .seconds(3600)
        try await TestScheduler.with(keeping: keeping) { test in
            let words = ScheduleWords(every: "10min")
            let definition = Self.definition(words, userInfo: "1") { $0.command = ["x"] }
            let job = try await Self.add(test, definition)
            test.runner.isHolding = true
            try await test.advance(by: .seconds(605))
            try await Self.rename(test, job, to: "tock")
            #expect(try await Self.words(test) == 1)
            try await test.advance(by: .seconds(8000))
            #expect(try await Self.words(test) == 0, "no kept event tells it")
            test.runner.end()
            try await test.settle()
            #expect(test.sink.all.last?.type == .runFinished)
            #expect(test.sink.all.last?.name == "tock")
            #expect(try await Self.words(test) == 0)
            let replayed = try await Self.replay(test)
            #expect(replayed.count > 3)
            #expect(Self.lines(replayed) == Self.lines(test.sink.all.suffix(replayed.count)))
            try await test.advance(by: .seconds(8000))
            #expect(try await Self.words(test) == 0)
        }
    }

    @Test("A job's events stay as they were once it was made something else")
    func replaced() async throws {
        try await TestScheduler.with { test in
            for number in 1...3 {
                let definition = Self.definition(ScheduleWords(every: "1s"), userInfo: "\(number)")
                _ = try await Self.add(test, definition, replace: true)
                try await test.advance(by: .seconds(2))
            }
            #expect(Set(test.sink.all(.fireFired).map(\.userInfo?.text)) == ["1", "2", "3"])
            try await Self.expectReplay(test)
            #expect(try await Self.words(test) == 2, "what it was before, twice")
        }
    }

    @Test(
        "They stay as they were once their job is removed, and its words go with the last of them"
    )
    func removed() async throws {
        var keeping = TestScheduler.Keeping()
        keeping.limits.eventsMaxAge = .seconds(3600)
        keeping.limits.endedJobsMaxAge = .seconds(3600)
        try await TestScheduler.with(keeping: keeping) { test in
            let one = try await Self.add(
                test,
                Self.definition(ScheduleWords(in: "5s"), userInfo: #"{"n": 1}"#)
            )
            let other = try await Self.add(
                test,
                Self.definition(ScheduleWords(every: "1s"), userInfo: "2") { $0.name = "other" }
            )
            try await test.advance(by: .seconds(10))
            try await Self.remove(test, one)
            #expect(try await Self.words(test) == 1)
            try await test.change(other, .invalidate)
            try await test.settle()
            try await Self.expectReplay(test)
            let told = try await Self.replay(test).filter { $0.job == one }
            #expect(told.map(\.type) == [.jobAdded, .fireFired, .jobFinished])
            #expect(told.allSatisfy { $0.name == "tick" })
            #expect(told[1].userInfo?.text == #"{"n": 1}"#)

            try await test.advance(by: .seconds(8000))
            #expect(try await Self.replay(test).isEmpty)
            #expect(try await Self.words(test) == 0)
        }
    }

    @Test(
        "What a crash left untold is told as it was to be, whatever became of its job and its run"
    )
    func crashed() async throws {
        try await TestScheduler.with { test in
            let words = ScheduleWords(every: "1s")
            let job = try await Self.add(test, Self.definition(words, userInfo: #"{"n": 1}"#))
            let gone = try await Self.add(
                test,
                Self.definition(ScheduleWords(in: "1s"), userInfo: "7") { $0.name = "gone" }
            )
            try await test.advance(by: .milliseconds(4500))
            let moment = test.clock.now()
            // Stored, and told by nobody.
            let noted = try await test.store.writer.write { database in
                var writer = JobTransaction(database, at: moment, horizon: .distantPast)
                for id in [job, gone] {
                    let stored = try #require(try writer.job(id))
                    try writer.enqueueFired(
                        FireID(rawValue: 1),
                        of: stored,
                        fireDate: moment.wall + .seconds(5),
                        dueBy: moment.wall + .seconds(6),
                        missed: 3,
                        isByHand: true
                    )
                    try writer.enqueue(
                        .runFinished,
                        stored,
                        fire: FireID(rawValue: 999),
                        run: RunID(rawValue: 999)
                    ) {
                        ($0.fireDate, $0.attempt, $0.outcome) = (moment.wall, 2, .notStarted)
                        $0.reason = "no such file"
                    }
                }
                return try writer.finish().outboxEvents.map(\.event)
            }
            try await Self.change(test, job, Self.definition(words, userInfo: "2"))
            try await Self.remove(test, gone)
            let next = try await test.crashed()
            let told = next.sink.all.prefix(noted.count).map { event in
                var event = event
                (event.seq, event.redelivered) = (0, nil)
                return event
            }
            #expect(noted.count == 4)
            #expect(Self.lines(told) == Self.lines(noted))
            try await next.advance(by: .seconds(3))
            let replayed = try await Self.replay(next)
            #expect(
                Self.lines(replayed) == Self.lines(test.sink.all) + Self.lines(next.sink.all)
            )
            #expect(replayed.contains { $0.userInfo?.text == "2" })
            try await next.close()
        }
    }

    @Test(
        "Where there is no room for what old events tell, they are not told any more, and said to be lost"
    )
    func full() async throws {
        var keeping = TestScheduler.Keeping()
        keeping.limits.maxBytesPerUser = 200_000
        try await TestScheduler.with(keeping: keeping) { test in
            for number in 0..<40 {
                let text = String(repeating: "x", count: 20_000)
                let definition = Self.definition(
                    ScheduleWords(in: "1s"),
                    userInfo: #"[\#(number),"\#(text)"]"#
                )
                _ = try await Self.add(test, definition, as: 1001)
                try await test.advance(by: .seconds(2))
                _ = try await Self.words(test)
            }
            #expect(test.sink.all(.fireFired).count == 40)
            let kept = try await Self.replay(test)
            let page = try await test.store.events(after: test.scheduler)(
                0,
                Owner(uid: 1001),
                .init()
            )
            let expected = test.sink.all.filter { $0.seq > page.prunedThrough }
            #expect(Self.lines(kept) == Self.lines(expected))
            #expect(kept.count { $0.type == .fireFired } >= 7, "as much as there is room for")
            let bytes: Int64? = try await test.store.reader.read {
                try $0.prepare("SELECT max(bytes) FROM owners").value()
            }
            #expect(try #require(bytes) <= 200_000)
        }
    }
}
