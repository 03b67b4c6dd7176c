// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Schedules
import Testing
import TimerControl

@testable import JobModel
@testable import SQLite
@testable import TimerD

/// Values of another type than their columns', which SQLite lets nobody write over one by one.
@Suite("Damaged types", .timeLimit(.minutes(2))) struct DamagedTypesTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// A job of ann's, by name a row of each table that has one.
    private func makeDatabase(_ name: String) throws -> String {
        let path = folder.file(name)
        let database = try Database(path: path, mode: .readWriteCreate)
        defer { database.close() }
        try Migrator(.released).migrate(database)
        try database.execute(
            """
            INSERT INTO owners (id, uid, name, live) VALUES (1, 1000, 'ann', 1);
            INSERT INTO jobs (id, owner_id, state, clock) VALUES (1, 1, 'scheduled', 'elapsed');
            INSERT INTO job_definitions (job_id, added_at_us, definition, owner_id)
                VALUES (1, 1800000000000000, '{"schedule":{"every":"1h"}}', 1);
            INSERT INTO fires (id, job_id, owner_id, fire_date_us, wall_date_us, state)
                VALUES (1, 1, 1, 5, 5, 'reserved');
            INSERT INTO tasks (fire_id, job_id, owner_id, queue, priority, state, ready_us, due_us)
                VALUES (1, 1, 1, 'q', 0, 'reserved', 1, 2);
            INSERT INTO notices (owner_id, job_id, reason, place, added_at_us, not_before_us, until_us, document)
                VALUES (1, 1, 'failed', 'mail', 1, 1, 1, '{}');
            INSERT INTO outbox (live, bytes, reasons, scheduled, paused, events) VALUES (0, 0, 0, 0, 0, '[]');
            """
        )
        return path
    }

    private func columns(of table: String, in path: String) throws -> [String] {
        let database = try Database(path: path, mode: .readOnly)
        defer { database.close() }
        return try database.prepare("SELECT name FROM pragma_table_info(?1) WHERE pk = 0").all(
            table
        ) { try $0.get(0) }
    }

    @Test(
        "A start mends each column of the tables that all users' work goes through",
        arguments: ["outbox", "owners", "queues", "notices"]
    )
    func mended(table: String) throws {
        let path = try makeDatabase("timerd.db")
        for column in try columns(of: table, in: path) {
            try UnruledDatabase.execute("UPDATE \(table) SET \(column) = x'ff'", on: path)
            let database = try Database(path: path, mode: .readWriteCreate)
            defer { database.close() }
            #expect(try !database.problems().isEmpty, "\(column)")
            let mended = try DamagedRows(database).mend()
            #expect(Set(mended.map(\.table)) == [table], "\(column)")
            #expect(try database.problems() == [], "\(column)")
            #expect(try DamagedRows(database).mend().isEmpty)
        }
    }

    @Test("Whoever comes upon a damaged task has each column mended")
    func mendedTasks() throws {
        let path = try makeDatabase("timerd.db")
        for column in try columns(of: "tasks", in: path) {
            try UnruledDatabase.execute("UPDATE tasks SET \(column) = x'ff'", on: path)
            let database = try Database(path: path, mode: .readWriteCreate)
            defer { database.close() }
            #expect(try !database.problems().isEmpty, "\(column)")
            try TaskStore(database).putOff(FireID(rawValue: 1), until: .distantFuture)
            #expect(try database.problems() == [], "\(column)")
            #expect(try DamagedRows(database).mendTasks().isEmpty)
        }
    }

    @Test(
        "Whatever reads or writes tasks has a damaged one mended",
        arguments: ["x'ff'", "NULL"],
        ["ready", "reserved", "dead"]
    )
    func mendedByEach(value: String, state: String) throws {
        let path = try makeDatabase("timerd.db")
        let (fire, job) = (FireID(rawValue: 1), JobID(rawValue: 1))
        let key = QueueKey(owner: OwnerID(rawValue: 1), name: "q")
        var definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
        definition.queue = "p"
        let queue = try #require(try QueuePolicy(definition))
        var calls: [(TaskStore) throws -> Void] = [
            { _ = try $0.task(fire) }, { try $0.putOff(fire, until: .distantFuture) },
        ]
        switch state {
        case "ready":
            calls.append { _ = try $0.ready(key, limit: 1, at: .distantPast) }
            // SQLite writes a row in which NULL stands where it may not.
            if value != "NULL" {
                calls.append { _ = try $0.setEnd(Timestamp(microseconds: 7), ofReadyOf: job) }
                calls.append { _ = try $0.move(of: job, nil, to: queue) }
            }
        case "reserved" where value != "NULL":
            calls.append { try $0.renewLeases(at: .distantPast) }
        case "reserved": break
        default: calls.append { _ = try $0.resting(key, .dead, limit: 1) }
        }
        for call in calls {
            try UnruledDatabase.execute(
                "UPDATE tasks SET queue = 'q', state = '\(state)', lease_us = \(value)",
                on: path
            )
            let database = try Database(path: path, mode: .readWriteCreate)
            defer { database.close() }
            try call(TaskStore(database))
            #expect(try DamagedRows(database).mendTasks().isEmpty)
        }
    }

    @Test("A lease that is not there has ended, and is not without end")
    func noLease() throws {
        let path = try makeDatabase("timerd.db")
        try UnruledDatabase.execute("UPDATE tasks SET lease_us = NULL", on: path)
        let database = try Database(path: path, mode: .readWriteCreate)
        defer { database.close() }
        let now = Timestamp(microseconds: 7)
        try TaskStore(database).renewLeases(at: now)
        #expect(try TaskStore(database).nextDue() == now)
    }

    @Test("What a write has mended that was undone is not told, and is mended by the next")
    func undoneMend() throws {
        let path = try makeDatabase("timerd.db")
        try UnruledDatabase.execute("UPDATE tasks SET lease_us = x'ff'", on: path)
        let database = try Database(path: path, mode: .readWriteCreate)
        defer { database.close() }
        func mend() throws -> JobTransaction {
            let moment = ClockReading(elapsed: .distantPast, wallOffset: .zero)
            let write = JobTransaction(database, at: moment, horizon: .distantPast)
            _ = try write.tasks.task(FireID(rawValue: 1))
            // As by a row that nothing mends.
            let error = DatabaseError(code: SQLITE_MISMATCH, message: "", sql: nil, path: path)
            #expect(throws: DatabaseError.self) {
                try write.tasks.mending { () throws -> Void in throw error }
            }
            return write
        }
        try database.begin()
        _ = try mend()
        database.rollback()
        try database.begin()
        var write = try mend()
        let told = try write.finish().tasks.mended
        try database.commit()
        #expect(told == ["1"])
    }

    @Test("A task of which nobody knows where it stands is dead, and so handed to no worker")
    func unknownTask() throws {
        let path = try makeDatabase("timerd.db")
        try UnruledDatabase.execute("UPDATE tasks SET state = x'00', job_id = 1.5", on: path)
        let database = try Database(path: path, mode: .readWriteCreate)
        defer { database.close() }
        _ = try DamagedRows(database).mendTasks()
        let task = try #require(try TaskStore(database).task(FireID(rawValue: 1)))
        #expect(task.state == .dead && task.job == JobID(rawValue: 1))
        // Nor is it dropped by itself.
        #expect(try TaskStore(database).nextDue() == nil)
    }

    @Test("An owner whose name has got another row since keeps no daemon from starting")
    func secondOwner() throws {
        let path = try makeDatabase("timerd.db")
        let add = "INSERT INTO owners (id, uid, name, live) VALUES"
        try UnruledDatabase.execute(
            """
            UPDATE owners SET name = CAST(name AS BLOB) WHERE id = 1;
            \(add) (2, 1000, 'ann', 0), (3, 1000, NULL, 0), (4, 1000, NULL, 0), (5, 1001, x'626f62', 0)
            """,
            on: path
        )
        let database = try Database(path: path, mode: .readWriteCreate)
        defer { database.close() }
        #expect(try DamagedRows(database).mend().map(\.row).sorted() == ["1", "3", "4", "5"])
        let names = try database.prepare("SELECT name FROM owners WHERE id > 0 ORDER BY id").all {
            try $0.get(0, as: String.self)
        }
        #expect(names == ["ann#1", "ann", "#3", "#4", "bob"])
    }

    @Test(
        "A task whose fire does not say whose it is is nobody's",
        arguments: ["'root'", "NULL", "gone"]
    )
    func nobodysTask(owner: String) throws {
        let path = try makeDatabase("timerd.db")
        let change =
            owner == "gone"
            ? "DELETE FROM fires" : "UPDATE fires SET owner_id = \(owner), job_id = \(owner)"
        try UnruledDatabase.execute(
            "\(change); UPDATE tasks SET owner_id = x'ff', job_id = x'ff'",
            on: path
        )
        let database = try Database(path: path, mode: .readWriteCreate)
        defer { database.close() }
        #expect(try DamagedRows(database).mendTasks() == ["1"])
        let found = try database.prepare("SELECT owner_id, job_id FROM tasks").all {
            [try $0.get(0, as: Int.self), try $0.get(1, as: Int.self)]
        }
        #expect(found == [[-1, -1]])
    }

    @Test(
        "A notice of which nobody knows whose it is is nobody's, and so not root's",
        arguments: ["UPDATE jobs SET owner_id = 'root'", "DELETE FROM jobs"]
    )
    func nobodysNotice(change: String) throws {
        let path = try makeDatabase("timerd.db")
        try UnruledDatabase.execute("\(change); UPDATE notices SET owner_id = x'ff'", on: path)
        let database = try Database(path: path, mode: .readWriteCreate)
        defer { database.close() }
        #expect(try DamagedRows(database).mend().map(\.table) == ["notices"])
        #expect(try NoticeStore(database).owner(after: .nobody) == nil)
    }

    /// Columns of a job by which it goes on, and that nothing else says.
    private static let unknowable: Set = [
        "state", "clock", "anchor_us", "fire_date_us", "moved_from_us", "fires", "rows_since_trim",
        "ended_at_us", "end_reason",
    ]

    @Test("A job can be held whichever column is damaged, and cannot be read where nobody knows it")
    func held() throws {
        let path = try makeDatabase("columns.db")
        for column in try columns(of: "jobs", in: path) {
            let path = try makeDatabase("\(column).db")
            try UnruledDatabase.execute("UPDATE jobs SET \(column) = x'ff'", on: path)
            let database = try Database(path: path, mode: .readWriteCreate)
            defer { database.close() }
            let (jobs, id) = (JobStore(database), JobID(rawValue: 1))
            try jobs.setHeld(id, "a reason")
            #expect(try database.problems() == [], "\(column)")
            let job = try #require(try jobs.job(id))
            #expect(job.held == "a reason", "\(column)")
            #expect((job.unread != nil) == Self.unknowable.contains(column), "\(column)")
            #expect(job.owner.uid == 1000, "\(column)")
        }
    }

    @Test(
        "A number that no other follows, of a damaged row, does not end those of new rows",
        arguments: ["jobs", "fires", "runs", "notices"]
    )
    func lastNumber(table: String) throws {
        let path = try makeDatabase("timerd.db")
        let key = "UPDATE \(table) SET id = \(Int64.max) WHERE id = 1"
        try UnruledDatabase.execute(
            "INSERT INTO runs (id, job_id, fire_id, attempt) VALUES (1, 1, 1, 1); \(key)",
            on: path
        )
        let database = try Database(path: path, mode: .readWriteCreate)
        defer { database.close() }
        let next = try database.prepare("SELECT \(DaemonState.SQL.next(table))").value(
            as: Int64.self
        )
        #expect(next == 1)
    }

    @Test("A date of being due that is no number keeps no other job from its window")
    func dueDate() throws {
        let path = try makeDatabase("timerd.db")
        for value in ["1.5", "'soon'", "x'00'"] {
            try UnruledDatabase.execute(
                """
                DELETE FROM jobs WHERE id = 2;
                INSERT INTO jobs (id, owner_id, state, clock, due_us) VALUES (2, 1, 'scheduled', 'elapsed', 9);
                UPDATE jobs SET due_us = \(value) WHERE id = 1
                """,
                on: path
            )
            let database = try Database(path: path, mode: .readWriteCreate)
            defer { database.close() }
            let jobs = JobStore(database)
            for owner in [nil, OwnerID(rawValue: 1)] {
                let due = try jobs.due(on: .elapsed, before: .distantFuture, of: owner, limit: 9)
                #expect(due.last?.id == JobID(rawValue: 2), "\(value)")
                #expect(try jobs.nextDue(on: .elapsed, of: owner) != nil)
            }
        }
    }
}
