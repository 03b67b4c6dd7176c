// SPDX-License-Identifier: Apache-2.0

import Logging
import SQLite
import Schedules
import Testing
import TimerControl

@testable import TimerD

/// Rows that a bad disk has taken away from those that belong to them, and what was counted of damaged ones.
@Suite("Damaged numbers", .timeLimit(.minutes(2))) struct DamagedNumbersTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// A job of ann's with a claimed fire, a run, a notice and a task in the queue 'q'; after that `damage`, past all rules.
    private func database(damagedBy damage: String) throws -> Database {
        let path = folder.file("timerd.db")
        do {
            let database = try Database(path: path, mode: .readWriteCreate)
            defer { database.close() }
            try Migrator(.released).migrate(database)
            try database.execute(
                """
                INSERT INTO owners (id, uid, name, live) VALUES (1, 1000, 'ann', 1);
                INSERT INTO jobs (id, owner_id, state, clock, fire_date_us, due_us, claim_id)
                    VALUES (1, 1, 'scheduled', 'elapsed', 5, 5, 1);
                INSERT INTO job_definitions (job_id, added_at_us, definition, owner_id)
                    VALUES (1, 1800000000000000, '{"schedule":{"every":"1h"}}', 1);
                INSERT INTO fires (id, job_id, owner_id, fire_date_us, wall_date_us, state)
                    VALUES (1, 1, 1, 5, 5, 'claimed'), (2, 1, 1, 4, 4, 'reserved');
                INSERT INTO runs (id, job_id, fire_id, attempt) VALUES (1, 1, 2, 1);
                INSERT INTO tasks (fire_id, job_id, owner_id, queue, priority, state, ready_us, run_id)
                    VALUES (2, 1, 1, 'q', 0, 'reserved', 1, 1);
                INSERT INTO notices (owner_id, job_id, reason, place, added_at_us, not_before_us, until_us, document)
                    VALUES (1, 1, 'failed', 'mail', 1, 1, 1, '{}');
                """
            )
        }
        try UnruledDatabase.execute(damage, on: path)
        return try Database(path: path, mode: .readWriteCreate)
    }

    /// The same, as a start mends it.
    private func mended(damagedBy damage: String) async throws -> Store {
        try database(damagedBy: damage).close()
        let log = Logger(label: "test")
        let store = try Store(folder.file("timerd.db"), log: log, now: TestScheduler.start)
        try await store.mendRows(log: log)
        return store
    }

    private func renumber(_ database: Database) throws -> [String] {
        try database.begin()
        let rows = try DamagedRows(database).renumber().map { "\($0.table) \($0.row)" }
        try database.commit()
        return rows
    }

    @Test(
        "A row with a number up to which nobody counts gets its own again, and none is numbered behind it",
        arguments: ["jobs 1", "fires 1", "fires 2", "runs 1", "notices 1"],
        [1 << 62, Int64.max]
    )
    func renumbered(row: String, number: Int64) throws {
        let words = row.split(separator: " ")
        let (table, id) = (words[0], words[1])
        let database = try database(
            damagedBy: "UPDATE \(table) SET id = \(number) WHERE id = \(id)"
        )
        defer { database.close() }
        #expect(try renumber(database) == ["\(table) \(number)"])
        #expect(try database.problems() == [])
        #expect(try renumber(database) == [])
        #expect(
            try database.prepare("SELECT count(*) FROM \(table) WHERE id = \(id)").value() == 1
        )
        try database.execute("DELETE FROM \(table)")
        let now = Timestamp(microseconds: 7)
        #expect(try DaemonState.read(database, now: now).eventSequenceEnd == 1)
    }

    @Test("One that is damaged elsewhere, too, hides none behind it")
    func behind() throws {
        let (first, last) = (Int64(1) << 62, Int64.max)
        let database = try database(
            damagedBy: """
                UPDATE fires SET id = \(first), missed = x'ff' WHERE id = 1;
                UPDATE fires SET id = \(last) WHERE id = 2
                """
        )
        defer { database.close() }
        #expect(try renumber(database) == ["fires \(last)"])
    }

    @Test(
        "A job to which other rows refer by such a number keeps that",
        arguments: [
            "UPDATE fires SET job_id = ?1", "UPDATE runs SET job_id = ?1",
            "INSERT INTO boot_jobs VALUES (?1)",
        ]
    )
    func referredTo(row: String) throws {
        let sql = "DELETE FROM job_definitions; UPDATE jobs SET id = ?1; \(row)"
        let database = try database(damagedBy: sql.replacing("?1", with: "\(Int64.max)"))
        defer { database.close() }
        #expect(try renumber(database) == [])
    }

    @Test("Where there is no number left, the mending ends")
    func noneLeft() throws {
        let database = try database(
            damagedBy: """
                UPDATE daemon_state SET notices_through = \((1 << 62) - 1);
                UPDATE notices SET id = \(Int64.max)
                """
        )
        defer { database.close() }
        #expect(try renumber(database) == ["notices \(Int64.max)"])
    }

    @Test("What has gone on under such a number since follows to the new one")
    func followed() throws {
        let number = Int64.max
        let database = try database(
            damagedBy: """
                UPDATE fires SET id = \(number) WHERE id = 2;
                UPDATE runs SET id = \(number), fire_id = \(number);
                UPDATE tasks SET fire_id = \(number), run_id = \(number);
                UPDATE jobs SET claim_id = \(number)
                """
        )
        defer { database.close() }
        #expect(try renumber(database) == ["fires \(number)", "runs \(number)"])
        #expect(try database.problems() == [])
        let found = try database.prepare(
            """
            SELECT claim_id, fire_id, tasks.run_id FROM jobs
            JOIN tasks ON tasks.job_id = jobs.id JOIN runs USING (fire_id)
            """
        ).all { row in
            [
                try row.get(0, as: Int.self), try row.get(1, as: Int.self),
                try row.get(2, as: Int.self),
            ]
        }
        #expect(found == [[2, 2, 1]])
    }

    @Test(
        "A fire that is not over and does not say whose it is is found by its job's claim, or its run",
        arguments: ["x'ff'", "NULL", "'1.5'"],
        ["", "UPDATE jobs SET claim_id = NULL; UPDATE runs SET fire_id = 1;"]
    )
    func found(value: String, claim: String) throws {
        let database = try database(
            damagedBy: "\(claim) UPDATE fires SET job_id = \(value) WHERE id = 1"
        )
        defer { database.close() }
        #expect(try DamagedRows(database).findJobs().map(\.row) == ["1"])
        #expect(try database.problems() == [])
        #expect(try FireStore(database).job(of: FireID(rawValue: 1)) == JobID(rawValue: 1))
    }

    @Test(
        "One that belongs to no job, or is damaged elsewhere, too, stays as it is and keeps no daemon from starting",
        arguments: ["claim_id = NULL", "claim_id = 1; UPDATE fires SET missed = x'ff'"]
    )
    func stray(change: String) throws {
        let database = try database(
            damagedBy: "UPDATE fires SET job_id = x'ff' WHERE id = 1; UPDATE jobs SET \(change)"
        )
        defer { database.close() }
        #expect(try DamagedRows(database).findJobs().isEmpty)
    }

    @Test(
        "Once tasks are mended, queues count those that are there",
        arguments: [
            "state = x'00'", "state = NULL", "queue = x'ff'", "owner_id = x'ff', job_id = x'ff'",
            "lease_us = x'ff'",
        ]
    )
    func counted(damage: String) throws {
        let database = try database(damagedBy: "UPDATE tasks SET \(damage)")
        defer { database.close() }
        #expect(try DamagedRows(database).mendTasks() == ["2"])
        let queue = try #require(
            try QueueStore(database).queue(QueueKey(owner: OwnerID(rawValue: 1), name: "q"))
        )
        let there = try database.prepare(
            """
            SELECT coalesce(sum(state = 'reserved'), 0), coalesce(sum(state = 'dead'), 0)
            FROM tasks WHERE owner_id = 1 AND queue = 'q'
            """
        ).all { [try $0.get(0, as: Int.self), try $0.get(1, as: Int.self)] }
        #expect([[queue.reserved, queue.dead]] == there)
        #expect(queue.ready == 0 && queue.delayed == 0)
    }

    @Test("A queue of which nobody can read the key keeps no task from being mended")
    func damagedQueue() throws {
        let database = try database(
            damagedBy: """
                INSERT INTO queues (owner_id, name, ready) VALUES (x'ff', 'q', 3), (1, x'ff', 3);
                UPDATE tasks SET state = x'00'
                """
        )
        defer { database.close() }
        #expect(try DamagedRows(database).mendTasks() == ["2"])
        let key = QueueKey(owner: OwnerID(rawValue: 1), name: "q")
        #expect(try QueueStore(database).queue(key)?.dead == 1)
    }

    @Test("A task of which nobody knows since when it is ready does not hide since when others are")
    func oldest() throws {
        let database = try database(
            damagedBy: """
                UPDATE tasks SET state = 'ready', ready_us = NULL;
                INSERT INTO tasks (fire_id, job_id, owner_id, queue, priority, state, ready_us)
                    VALUES (1, 1, 1, 'q', 0, 'ready', 7)
                """
        )
        defer { database.close() }
        let key = QueueKey(owner: OwnerID(rawValue: 1), name: "q")
        #expect(try QueueStore(database).oldest(key) == Timestamp(microseconds: 7))
    }

    @Test(
        "A notice that is nobody's is given up, and waits no more",
        arguments: ["owner_id = x'ff'", "owner_id = -1", "owner_id = NULL, held = x'ff'"]
    )
    func givenUp(damage: String) throws {
        let database = try database(
            damagedBy: "UPDATE jobs SET owner_id = 'root'; UPDATE notices SET \(damage)"
        )
        defer { database.close() }
        let rows = DamagedRows(database)
        _ = try rows.mend()
        #expect(try rows.giveUpNotices() == ["1"])
        let standing = try NoticeStore(database).standing()
        #expect(standing.waiting == 0 && standing.held == 0 && standing.oldest == nil)
    }

    @Test("A notice that is nobody's and has such a number leaves none behind as it is given up")
    func givenUpNumber() async throws {
        let store = try await mended(
            damagedBy: """
                UPDATE jobs SET owner_id = 'root';
                UPDATE notices SET id = \(Int64.max), owner_id = x'ff'
                """
        )
        try await store.writer.write { database in
            #expect(try database.prepare("SELECT count(*) FROM notices").value() == 0)
            _ = try DaemonState.read(database, now: TestScheduler.start)
        }
        try await store.close()
    }

    @Test("A notice has its owner by its job's number, and its own, where all three are damaged")
    func ownedNumber() async throws {
        let store = try await mended(
            damagedBy: """
                UPDATE jobs SET id = \(Int64.max);
                UPDATE notices SET id = \(Int64.max), owner_id = x'ff'
                """
        )
        try await store.writer.write { database in
            let owners = try database.prepare("SELECT owner_id FROM notices WHERE id < 9").all {
                try $0.get(0, as: Int.self)
            }
            #expect(owners == [1])
        }
        try await store.close()
    }

    @Test("Notices that are mended count as what they are")
    func noticeCounts() throws {
        let database = try database(
            damagedBy: """
                UPDATE daemon_state SET notices_waiting = 0, notices_held = 1;
                UPDATE notices SET held = x'ff'
                """
        )
        defer { database.close() }
        _ = try DamagedRows(database).mend()
        let standing = try NoticeStore(database).standing()
        #expect(standing.waiting == 1 && standing.held == 0)
    }
}
