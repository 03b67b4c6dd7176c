// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import SQLite
@testable import TimerD

@Suite("The outbox", .timeLimit(.minutes(1))) struct OutboxTests {
    private static let start = Timestamp(microseconds: 1_800_000_000_000_000)
    private static let ann = Owner(uid: 1001)

    private static func withDatabase(_ body: (Database) throws -> Void) throws {
        let folder = try TemporaryFolder()
        let database = try Database(path: folder.file("timerd.db"), mode: .readWriteCreate)
        defer { database.close() }
        try Migrator(.released).migrate(database)
        try body(database)
    }

    private static func transaction(_ database: Database) -> JobTransaction {
        let moment = ClockReading(elapsed: start, wallOffset: .zero)
        return JobTransaction(database, at: moment, horizon: start)
    }

    /// Adds so many jobs in one write.
    private static func add(_ count: Int, _ database: Database) throws -> [OutboxEvent] {
        try database.begin()
        var transaction = transaction(database)
        let jobs = try (0..<count).map { _ in
            let definition = JobDefinition(schedule: ScheduleWords(in: "30d"))
            return try NewJob(definition, owner: ann, at: transaction.moment, zone: .utc)
        }
        _ = try transaction.add(jobs, replace: false, limit: nil)
        let events = try transaction.finish().outboxEvents
        try database.commit()
        return events
    }

    private static func move(_ events: ArraySlice<OutboxEvent>, _ database: Database) throws {
        try database.begin()
        try EventLog(database).move(
            events.enumerated().map { index, next in
                var next = next
                next.event.seq = Int64(events.startIndex + index + 1)
                return next
            }
        )
        try database.commit()
    }

    /// How many jobs and bytes are counted, and how many jobs there are.
    private static func expectTrue(_ database: Database) throws {
        let owners = Owners(database)
        let id = try owners.id(of: ann)
        let jobs: Int? = try database.prepare("SELECT count(*) FROM jobs").value()
        let bytes: Int64? = try database.prepare(
            "SELECT sum(1024 + length(definition)) FROM job_definitions"
        ).value()
        #expect(try owners.liveJobs(of: id) == jobs)
        #expect(try owners.bytes(of: id) == bytes ?? 0)
        #expect(try Queries(database).liveJobs().scheduled == jobs)
        #expect(try owners.others().map(\.id) == (jobs == 0 ? [] : [id]))
        #expect(try owners.full(beyond: (bytes ?? 0) - 1) == [id])
        #expect(try owners.full(beyond: bytes ?? 0).isEmpty)
        // As somebody reads it who remembers nothing.
        database.notes.outboxSums = nil
        #expect(try owners.liveJobs(of: id) == jobs)
    }

    @Test("Of events that were told in part the others are told again, and all are counted once")
    func pieces() throws {
        try Self.withDatabase { database in
            let events = try Self.add(150, database)
            func left() throws -> [JobID] { try Outbox(database).events().map(\.event.job) }
            let rows: Int? = try database.prepare("SELECT count(*) FROM outbox").value()
            #expect(rows == 3)
            #expect(events.count == 150)
            try Self.expectTrue(database)
            for (from, end) in [(0, 1), (1, 63), (63, 64), (64, 70), (70, 149), (149, 150)] {
                #expect(try left() == events[from...].map(\.event.job))
                #expect(try Outbox(database).events().allSatisfy { $0.event.redelivered == true })
                try Self.move(events[from..<end], database)
                try Self.expectTrue(database)
            }
            #expect(try left().isEmpty)
            #expect(
                try EventLog(database).events(after: 0, limit: 1000).map(\.job)
                    == events.map(\.event.job)
            )
        }
    }

    @Test("What is undone is not counted, whoever undoes it")
    func undone() throws {
        try Self.withDatabase { database in
            struct Refused: Error {}
            _ = try Self.add(3, database)
            try Self.expectTrue(database)
            try database.begin()
            #expect(throws: Refused.self) {
                try database.savepoint {
                    var transaction = Self.transaction(database)
                    let job = try #require(try transaction.job(JobID(rawValue: 2)))
                    var ended = job
                    try transaction.end(&ended, .invalidated, .invalidated)
                    try transaction.put(ended)
                    _ = try transaction.finish()
                    #expect(try Owners(database).liveJobs(of: job.ownerID) == 2)
                    throw Refused()
                }
            }
            try Self.expectTrue(database)
            database.rollback()
            var untold = try Outbox(database).events()
            for index in untold.indices { untold[index].event.seq = Int64(index + 1) }
            try database.begin()
            try EventLog(database).move(untold)
            database.rollback()
            try Self.expectTrue(database)
            // As SQLite does by itself where the disk is full.
            try database.begin()
            try EventLog(database).move(untold)
            try database.execute("ROLLBACK")
            try database.begin()
            try Self.expectTrue(database)
            try database.commit()
        }
    }

    @Test("An event comes out as it went in")
    func allValues() throws {
        try Self.withDatabase { database in
            let job = try #require(try Self.add(1, database).first)
            let owner = try #require(job.event.ownerID)
            try Self.move([job], database)
            var full = Event(seq: 0, type: .runFinished, at: Self.start, job: job.event.job)
            (full.owner, full.ownerID) = (Self.ann, owner)
            full.fireDate = Self.start - .seconds(3)
            full.fire = FireID(rawValue: .max)
            full.run = RunID(rawValue: 7)
            full.reason = "a \"word\" \\ of\nlines, é, \u{1} and \u{1F600}"
            (full.attempt, full.outcome, full.status, full.onFailure) = (2, .exited, 3, true)
            full.failed = true
            var skipped = Event(seq: 0, type: .fireSkipped, at: Self.start, job: job.event.job)
            (skipped.owner, skipped.ownerID) = (Self.ann, owner)
            (skipped.dates, skipped.through) = (5, Timestamp(microseconds: -1))
            skipped.by = "administrator"
            var fired = Event(seq: 0, type: .fireFired, at: Self.start, job: job.event.job)
            (fired.owner, fired.ownerID) = (Self.ann, owner)
            (fired.missed, fired.firedAt) = (4, Self.start + .seconds(1))
            let events = [full, skipped, fired]
            _ = try Outbox(database).insert(events, JobTally())
            let found = try Outbox(database).events().map { next in
                var event = next.event
                #expect(event.redelivered == true)
                event.redelivered = nil
                return event
            }
            #expect(found == events)
        }
    }

    @Test(
        "A row that cannot be read is given up alone: it is counted, told as lost, and the rest is told",
        arguments: ["[bad", #"["x"]"#, #"[["moon",5,1,1]]"#, "[[]]", #"{"a":1}"#, "5", "[]", "{}"]
    )
    func unreadable(text: String) throws {
        try Self.withDatabase { database in
            let events = try Self.add(70, database)
            let bad = events[0].outbox
            try database.execute("UPDATE outbox SET events = '\(text)' WHERE id = \(bad)")
            let outbox = Outbox(database)
            #expect(throws: DatabaseError.self) { try outbox.events() }
            var givenUp: [Int64] = []
            let left = try outbox.events { row, _ in
                try outbox.giveUp(row, last: 9)
                givenUp.append(row)
            }
            #expect(givenUp == [bad])
            #expect(left.map(\.event.job) == events[64...].map(\.event.job))
            try Self.expectTrue(database)
            let owner = try Owners(database).id(of: Self.ann)
            #expect(try EventLog(database).prunedThrough(of: owner) == 9)
            #expect(try EventLog(database).prunedThrough() == 9)
            #expect(try outbox.events().count == 6)
        }
    }

    @Test("A write that changes the numbers of two users counts for both")
    func twoOwners() throws {
        try Self.withDatabase { database in
            _ = try Self.add(2, database)
            try database.begin()
            var transaction = Self.transaction(database)
            let definition = JobDefinition(schedule: ScheduleWords(in: "30d"))
            let ben = Owner(uid: 1002)
            let new = try NewJob(definition, owner: ben, at: transaction.moment, zone: .utc)
            _ = try transaction.add([new], replace: false, limit: nil)
            let all = Caller(uid: 0, daemon: 0)
            let ids = [JobID(rawValue: 1), JobID(rawValue: 3)]
            _ = try transaction.change(.ids(ids), .invalidate, caller: all)
            _ = try transaction.finish()
            try database.commit()
            let owners = Owners(database)
            #expect(try owners.liveJobs(of: owners.id(of: Self.ann)) == 1)
            #expect(try owners.liveJobs(of: owners.id(of: ben)) == 0)
            #expect(try Queries(database).liveJobs().scheduled == 1)
        }
    }

    @Test("The reason of an event counts once for its user from its write on, however it is told")
    func reasons() throws {
        try Self.withDatabase { database in
            let owners = Owners(database)
            _ = try Self.add(1, database)
            let ann = try owners.id(of: Self.ann)
            try database.begin()
            var transaction = Self.transaction(database)
            let definition = JobDefinition(schedule: ScheduleWords(in: "30d"))
            let owner = Owner(uid: 1002)
            let new = try NewJob(definition, owner: owner, at: transaction.moment, zone: .utc)
            _ = try transaction.add([new], replace: false, limit: nil)
            _ = try transaction.finish()
            try database.commit()
            let ben = try owners.id(of: owner)
            let before = (ann: try owners.bytes(of: ann), ben: try owners.bytes(of: ben))
            let first = try #require(try transaction.job(JobID(rawValue: 1)))
            let second = try #require(try transaction.job(JobID(rawValue: 2)))

            try database.begin()
            transaction = Self.transaction(database)
            let text = String(repeating: "x", count: 100)
            for number in 0..<200 {
                let job = number < 100 || number.isMultiple(of: 2) ? first : second
                try transaction.enqueue(.runFinished, job, text)
                try transaction.enqueue(.runFinished, job, "few words")
            }
            func expectTrue(_ bytes: (OwnerID) throws -> Int64) throws {
                #expect(try bytes(ann) == before.ann + 150 * 100)
                #expect(try bytes(ben) == before.ben + 50 * 100)
            }
            let write = transaction
            try expectTrue { try write.bytes(of: $0) }
            let events = try transaction.finish().outboxEvents
            try database.commit()
            #expect(events.count == 400)
            for (from, end) in [(0, 1), (1, 30), (30, 70), (70, 201), (201, 399), (399, 400)] {
                try expectTrue { try owners.bytes(of: $0) }
                // As somebody reads it who remembers nothing.
                database.notes.outboxSums = nil
                try expectTrue { try owners.bytes(of: $0) }
                #expect(try owners.full(beyond: before.ann + 150 * 100 - 1) == [ann])
                #expect(try owners.full(beyond: before.ann + 150 * 100).isEmpty)
                try Self.move(events[from..<end], database)
            }
            try expectTrue { try owners.bytes(of: $0) }
        }
    }

    @Test("A copy's numbers go on from its last date where the clock was not set yet")
    func unsetClock() throws {
        try Self.withDatabase { database in
            let wall = Self.start.microseconds
            try database.execute(
                "UPDATE daemon_state SET copied_at_us = 0, shift_us = 9, elapsed_us = \(wall) - 9"
            )
            let state = try DaemonState.read(database, now: Timestamp(microseconds: 7))
            #expect(state.goesOnFrom == Self.start)
            #expect(state.eventSequenceEnd == Self.start.microseconds)
        }
    }

    @Test("The number of a job that was removed is not used again, nor that of its fire or run")
    func numbers() throws {
        try Self.withDatabase { database in
            func next(_ table: String) throws -> Int64? {
                try database.prepare("SELECT \(DaemonState.SQL.next(table))").value()
            }
            let first = try Self.add(3, database).map(\.event.job.rawValue)
            #expect(first == [1, 2, 3])
            let job = try #require(try JobStore(database).job(JobID(rawValue: 3)))
            let moment = ClockReading(elapsed: Self.start, wallOffset: .zero)
            let fire = try #require(
                try FireStore(database).insertByHand(Self.start, of: job, at: moment)
            )
            let run = try RunStore(database).insert(of: job.id, fire, attempt: 1, at: RunPlace())
            #expect((fire.rawValue, run.rawValue) == (1, 1))
            try database.begin()
            try JobStore(database).delete(job.id)
            try JobStore(database).delete(JobID(rawValue: 1))
            try database.commit()
            #expect(try [next("jobs"), next("fires"), next("runs")] == [4, 2, 2])
            // The removal was undone, as by a crash: so is what it had noted.
            try database.begin()
            try JobStore(database).delete(JobID(rawValue: 2))
            database.rollback()
            #expect(try Self.add(2, database).map(\.event.job.rawValue) == [4, 5])
            try DaemonState.leaveCopy(database, now: .earliestOfClocks + .seconds(100))
            #expect(try Self.add(1, database).map(\.event.job.rawValue) == [100_006])
        }
    }
}
