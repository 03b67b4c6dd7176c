// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Cluster
import Foundation
import Locks
import Logging
import Postgres
import Schedules
import TestPostgres
import Testing
import TimerControl

@testable import SQLite
@testable import TimerD

/// A node's copy of the jobs, and what PostgreSQL has of it.
@Suite("Jobs in PostgreSQL", .enabled(if: PostgresServer.isInstalled))
struct SharedStoreTests {
    /// All rows of all tables of a database, each as its columns in words.
    func rows(of database: Database) throws -> [String: Set<String>] {
        var rows: [String: Set<String>] = [:]
        for table in try SharedTable.all(of: database) {
            let columns = table.columns.map { "quote(\"\($0.name)\")" }
            let text = "SELECT \(columns.joined(separator: " || ',' || ")) FROM \"\(table.name)\""
            rows[table.name] = try Set(
                database.prepare(text).all { try $0.get(0, as: String.self) }
            )
        }
        return rows
    }

    /// What PostgreSQL has of a folder, as another node would find it.
    func stored(_ folder: String) throws -> [String: Set<String>] {
        let other = try SharedTestStore.current().database(in: folder, name: "other.db")
        defer { other.close() }
        return try rows(of: other)
    }

    @Test("What is stored is there, row by row, after additions, changes, fires and ends")
    func mirror() async throws {
        let folder = try TemporaryFolder()
        let test = try await TestScheduler(folder: folder.path, isShared: true)
        var added: [JobID] = []
        for number in 0..<20 {
            let job = try await test.add(ScheduleWords(every: "5s")) {
                $0.name = "job \(number)"
                $0.tags = ["a", "b\(number % 3)"]
                $0.userInfo = JSONText(stored: "{\"text\": \"\(number) \\u0000 é\"}")
            }
            added.append(job.id)
        }
        try await test.advance(by: .seconds(30))
        try await test.change(added[3], .pause)
        try await test.advance(by: .seconds(7))
        let mine = try await test.store.writer.write { try self.rows(of: $0) }
        try await test.close()
        // The last writes of the stop are in both as well.
        #expect(mine["jobs"]?.count == 20)
        let reader = try Database(path: folder.path + "/timerd.db", mode: .readOnly)
        let closed = try rows(of: reader)
        reader.close()
        #expect(try stored(folder.path) == closed)
    }

    @Test("A node that leads no more stores nothing, and says so")
    func superseded() async throws {
        let folder = try TemporaryFolder()
        let lost = Locked<String?>(nil)
        let first = try Store(
            SharedTestStore.current().database(in: folder.path),
            log: Logger(label: "test"),
            now: TestScheduler.start,
            onLost: { error in lost.withLock { $0 = error.sentence } }
        )
        try await first.writer.write { try $0.execute("UPDATE daemon_state SET paused = 1") }
        let second = try SharedTestStore.current().database(in: folder.path, name: "other.db")
        await #expect(throws: DatabaseError.self) {
            try await first.writer.write { try $0.execute("UPDATE daemon_state SET paused = 2") }
        }
        // It is told behind the commit's answer.
        try? await first.close()
        #expect(lost.withLock { $0 }?.contains("another node leads") == true)
        #expect(try second.prepare("SELECT paused FROM daemon_state").value(as: Int.self) == 1)
        second.close()
    }

    @Test("Tables that come from a dump count as a copy, until a daemon has skipped numbers")
    func restored() async throws {
        let folder = try TemporaryFolder()
        func isCopy(
            _ name: String,
            writing body: ((Database) throws -> Void)? = nil
        ) throws -> Bool {
            let database = try SharedTestStore.current().database(in: folder.path, name: name)
            defer { database.close() }
            let state = try DaemonState.read(database, now: TestScheduler.start)
            if let body {
                try database.begin()
                try body(database)
                try database.commit()
            }
            return state.goesOnFrom != nil
        }
        #expect(try !isCopy("first.db"))
        #expect(try !isCopy("second.db"))
        let other = try PostgresConnection(
            SharedTestStore.current().address(of: folder.path),
            application: "test",
            within: .seconds(30)
        )
        // What a dump has is the number of the table that it was made of.
        _ = try other.execute("UPDATE timerd.store SET table_id = 1", within: .seconds(30))
        // A node that ends right after it has read them, and one that has written something else before that.
        #expect(try isCopy("third.db"))
        #expect(
            try isCopy("fourth.db") { try $0.execute("UPDATE daemon_state SET paused = paused") }
        )
        #expect(try isCopy("fifth.db") { try DaemonState.write(eventSequenceEnd: 99, to: $0) })
        #expect(
            try isCopy("sixth.db") { try DaemonState.leaveCopy($0, now: TestScheduler.start) }
        )
        #expect(try !isCopy("seventh.db"))
    }

    /// Who waits for a lock.
    private static let waiting = """
        SELECT 1 FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'
        """

    @Test(
        "A connection that is lost is opened again, and the write that met that is stored once",
        .timeLimit(.minutes(1))
    )
    func lostConnection() async throws {
        let folder = try TemporaryFolder()
        let store = try Store.test(folder.path, isShared: true, now: TestScheduler.start)
        let other = try PostgresConnection(
            SharedTestStore.current().address(of: folder.path),
            application: "test",
            within: .seconds(30)
        )
        func endConnections() throws {
            _ = try other.execute(
                """
                SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
                WHERE datname = current_database() AND application_name = 'timerd'
                """,
                within: .seconds(30)
            )
        }
        try await store.writer.write { try $0.execute("UPDATE daemon_state SET paused = 1") }
        try endConnections()
        // It was idle: nobody is refused for that.
        try await store.writer.write { try $0.execute("UPDATE daemon_state SET paused = 2") }
        // Two whose answer is lost: they wait for the row with the number, which somebody else has, and lose their connection
        // there. One finds the number as if it had gone up by it, the other as it was, and is done again.
        let blocker = try PostgresConnection(
            SharedTestStore.current().address(of: folder.path),
            application: "blocker",
            within: .seconds(30)
        )
        for (paused, step) in [(3, 1), (4, 0)] {
            _ = try blocker.execute("BEGIN", within: .seconds(30))
            _ = try blocker.execute(
                "UPDATE timerd.store SET number = number + \(step)",
                within: .seconds(30)
            )
            async let stored: Void = store.writer.write {
                try $0.execute("UPDATE daemon_state SET paused = \(paused)")
            }
            while try other.execute(Self.waiting, within: .seconds(30)).count == 0 {
                try await Task.sleep(for: .milliseconds(5))
            }
            try endConnections()
            _ = try blocker.execute("COMMIT", within: .seconds(30))
            try await stored
        }
        let rows = try other.execute("SELECT paused FROM timerd.daemon_state", within: .seconds(30))
        #expect(rows.integer(0, 0) == 4)
        try await store.close()
    }

    @Test("A write whose answer is lost counts where it is stored all the same")
    func lostAnswer() async throws {
        let folder = try TemporaryFolder()
        // A server of its own: a commit that is to be synchronous waits for a standby that never comes, and is on the
        // server's own disk by then.
        let shared = try SharedTestStore(
            settings: ["synchronous_standby_names": "nobody", "synchronous_commit": "local"]
        )
        let store = try Store(
            shared.database(in: folder.path),
            log: Logger(label: "test"),
            now: TestScheduler.start,
            onLost: { _ in }
        )
        let other = try PostgresConnection(
            shared.address(of: folder.path),
            application: "test",
            within: .seconds(30)
        )
        func endConnections(nextCommit: String) throws {
            try other.script(
                """
                DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = \(nextCommit)',
                    current_database()); END $$
                """,
                within: .seconds(30)
            )
            // For the next connection, which may be there as soon as one has ended.
            try other.script(
                """
                SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid()
                """,
                within: .seconds(30)
            )
        }
        try endConnections(nextCommit: "on")
        async let written: Void = store.writer.write {
            try $0.execute("UPDATE daemon_state SET paused = 3")
        }
        let waits = Limit.wait(seconds: 30) {
            let rows = try? other.execute(
                """
                SELECT pid FROM pg_stat_activity
                WHERE datname = current_database() AND wait_event = 'SyncRep'
                """,
                within: .seconds(30)
            )
            return rows?.isEmpty == false
        }
        try #require(waits)
        try endConnections(nextCommit: "local")
        try await written
        try await store.writer.write {
            try $0.execute("UPDATE daemon_state SET paused = paused + 1")
        }
        try await store.close()
        let rows = try other.execute("SELECT paused FROM timerd.daemon_state", within: .seconds(30))
        #expect(rows.integer(0, 0) == 4)
    }

    @Test("On another host owners keep their names and get its uids; nobody becomes root by a name")
    func owners() async throws {
        let folder = try TemporaryFolder()
        let store = try Store.test(folder.path, isShared: false, now: TestScheduler.start)
        let before = ["ann": 1000, "bob": 1001, "carol": 1002, "eve": 1003] as [String: UInt32]
        try await store.writer.write { database in
            for (name, uid) in before {
                _ = try Owners(database).row(of: Owner(uid: uid, name: name))
            }
        }
        // Two have each other's, one is not there, and root is called like one.
        let here = ["ann": 1001, "bob": 1000, "eve": 0] as [String: UInt32]
        try await store.adoptOwners { here[$0] }
        let owners = try await store.writer.write { try Owners($0).all().map(\.owner) }
        let uids = Dictionary(uniqueKeysWithValues: owners.map { ($0.name, $0.uid) })
        #expect(uids == ["ann": 1001, "bob": 1000, "carol": 1002, "eve": 1003])
        try await store.close()
    }

    @Test("A record is kept, and tried until it is stored")
    func keptRecord() async throws {
        let folder = try TemporaryFolder()
        let store = try Store.test(folder.path, isShared: true, now: TestScheduler.start)
        let other = try PostgresConnection(
            SharedTestStore.current().address(of: folder.path),
            application: "test",
            within: .seconds(30)
        )
        try other.script(
            "ALTER TABLE timerd.daemon_state ADD CONSTRAINT no CHECK (paused < 5)",
            within: .seconds(30)
        )
        store.writer.record { try $0.execute("UPDATE daemon_state SET paused = 7") }
        await #expect(throws: DatabaseError.self) { try await store.writer.barrier() }
        try other.script(
            "ALTER TABLE timerd.daemon_state DROP CONSTRAINT no",
            within: .seconds(30)
        )
        try await store.close()
        let rows = try other.execute("SELECT paused FROM timerd.daemon_state", within: .seconds(30))
        #expect(rows.integer(0, 0) == 7)
    }

    @Test(
        "A newer timerd makes the tables anew with what its migrations make of the rows; an older one is refused"
    )
    func upgrade() throws {
        let folder = try TemporaryFolder()
        let address = try SharedTestStore.current().address(of: folder.path)
        let first = try SharedTestStore.current().database(in: folder.path)
        try first.begin()
        try first.execute("INSERT INTO zone_rules VALUES (1, 'Europe/Berlin', x'01')")
        try first.commit()
        first.close()
        let newer =
            [Migration].released + [
                Migration(
                    number: [Migration].released.count + 1,
                    name: "more",
                    sql:
                        "ALTER TABLE zone_rules ADD COLUMN more INTEGER; UPDATE zone_rules SET more = 5"
                )
            ]
        let connection = try PostgresHome.connect(address, within: .seconds(30))
        _ = try connection.execute("UPDATE timerd.lease SET epoch = 7", within: .seconds(30))
        let made = try SharedCopy(at: folder.path + "/new.db", newer).make(
            connection,
            node: "test",
            epoch: 7
        )
        made.database.close()
        let rows = try connection.execute(
            "SELECT more FROM timerd.zone_rules",
            within: .seconds(30)
        )
        #expect(rows.integer(0, 0) == 5)
        let error = #expect(throws: DatabaseError.self) {
            try SharedCopy(at: folder.path + "/old.db").make(connection, node: "test", epoch: 7)
        }
        #expect(error?.sentence.contains("run a newer timerd") == true)
        // The node stands by, and does not end.
        #expect(error?.isLasting == false)
    }
}
