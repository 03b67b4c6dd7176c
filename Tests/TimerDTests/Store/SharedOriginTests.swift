// SPDX-License-Identifier: Apache-2.0

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

/// What a node finds behind a failover: a server that may lack what was answered.
@Suite(
    "Jobs in PostgreSQL, after a failover",
    .enabled(if: PostgresServer.isInstalled),
    .timeLimit(.minutes(2))
)
struct SharedOriginTests {
    /// Whether numbers are skipped by a node that takes the lead now, which leaves the tables as one that has skipped them.
    private func skips(_ server: PostgresServer, in folder: String) throws -> Bool {
        let address = try PostgresAddress(server.address)
        let connection = try PostgresConnection(
            address,
            application: "test",
            within: .seconds(30)
        )
        defer { connection.close() }
        try ClusterTables.prepare(connection, within: .seconds(30))
        let database = try Lead.test(address, connection).copy(at: folder + "/copy.db")
        defer { database.close() }
        let state = try DaemonState.read(database, now: TestScheduler.start)
        guard let date = state.goesOnFrom else { return false }
        try database.begin()
        try DaemonState.leaveCopy(database, now: date)
        try database.commit()
        return true
    }

    /// Returns once a server that recovers takes writes.
    private func recovers(_ server: PostgresServer) async throws {
        let address = try PostgresAddress(server.address)
        while true {
            // try?: until then it refuses whoever wants to write.
            let connection = try? PostgresConnection(
                address,
                application: "test",
                within: .seconds(30)
            )
            if let connection { return connection.close() }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    @Test(
        "Whoever leads first behind a promotion skips numbers; a server that was only restarted has all of them"
    )
    func promoted() async throws {
        let folder = try TemporaryFolder()
        // Its own log is all that it recovers from; then it takes over, as a standby that is promoted.
        let server = try PostgresServer(.init(settings: ["restore_command": "false"]))
        #expect(try !skips(server, in: folder.path))
        #expect(try !skips(server, in: folder.path))
        try server.restart()
        #expect(try !skips(server, in: folder.path))
        for _ in 0..<2 {
            server.stop()
            try Data().write(to: URL(filePath: server.folder + "/data/recovery.signal"))
            try server.start()
            try await recovers(server)
            #expect(try skips(server, in: folder.path))
            #expect(try !skips(server, in: folder.path))
        }
    }

    @Test("Whoever leads first behind a dump of data alone, put into emptied tables, skips numbers")
    func data() throws {
        let folder = try TemporaryFolder()
        let server = try PostgresServer()
        #expect(try !skips(server, in: folder.path))
        let connection = try PostgresConnection(
            PostgresAddress(server.address),
            application: "test",
            within: .seconds(30)
        )
        try connection.script(
            """
            CREATE TEMP TABLE kept AS TABLE timerd.store; TRUNCATE timerd.store;
            INSERT INTO timerd.store TABLE kept
            """,
            within: .seconds(30)
        )
        #expect(try skips(server, in: folder.path))
        #expect(try !skips(server, in: folder.path))
    }

    /// Of a node with a lease of a second.
    private func store(
        at address: PostgresAddress,
        in folder: String,
        onDoubt: @escaping @Sendable (String) -> Void = { _ in },
        onLost: @escaping @Sendable (DatabaseError) -> Void
    ) throws -> Store {
        let connection = try PostgresConnection(
            address,
            application: "test",
            within: .seconds(30)
        )
        var lead = try Lead.test(address, connection)
        lead.lease = .seconds(1)
        lead.onDoubt = onDoubt
        return try Store(
            lead.copy(at: folder + "/timerd.db"),
            log: Logger(label: "test"),
            now: TestScheduler.start,
            onLost: onLost
        )
    }

    /// Ends the connections for writes, and has the server take no other.
    private func endForGood(_ connection: PostgresConnection) throws {
        _ = try connection.execute(
            "UPDATE pg_database SET datallowconn = false WHERE datname = current_database()",
            within: .seconds(30)
        )
        _ = try connection.execute(
            """
            SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
            WHERE datname = current_database() AND application_name = 'timerd'
            """,
            within: .seconds(30)
        )
    }

    @Test(
        "A node that gets no connection for a lease leads no more, whether or not a commit is under way",
        arguments: [true, false]
    )
    func shutOut(isUnderWay: Bool) async throws {
        let folder = try TemporaryFolder()
        let lost = Locked<DatabaseError?>(nil)
        let doubts = Locked(0)
        let address = try SharedTestStore.current().address(of: folder.path)
        let store = try store(at: address, in: folder.path) { _ in
            doubts.withLock { $0 += 1 }
        } onLost: { error in
            lost.withLock { $0 = error }
        }
        func connect() throws -> PostgresConnection {
            try PostgresConnection(address, application: "test", within: .seconds(30))
        }
        let (other, blocker) = (try connect(), try connect())
        _ = try blocker.execute("BEGIN", within: .seconds(30))
        if isUnderWay {
            _ = try blocker.execute("UPDATE timerd.store SET number = number", within: .seconds(30))
            async let write: Void = store.writer.write {
                try $0.execute("UPDATE daemon_state SET paused = 1")
            }
            while try other.execute(Self.waiting, within: .seconds(30)).count == 0 {
                try await Task.sleep(for: .milliseconds(5))
            }
            try endForGood(other)
            do {
                try await write
                Issue.record("it was stored")
            } catch let error as DatabaseError {
                #expect(error.isOfCopy, "\(error.sentence)")
            }
        } else {
            try endForGood(other)
        }
        while lost.withLock({ $0 == nil }) {
            await #expect(throws: DatabaseError.self) {
                try await store.writer.write {
                    try $0.execute("UPDATE daemon_state SET paused = 2")
                }
            }
        }
        // try?: what it throws is what was told.
        try? await store.close()
        // It gives the lead back for another, which may have a connection.
        let told = try #require(lost.withLock { $0 })
        #expect(told.isOfCopy)
        let words = isUnderWay ? "whether the last changes are" : "no connection on which to store"
        #expect(told.sentence.contains(words), "\(told.sentence)")
        #expect(doubts.withLock { $0 } == (isUnderWay ? 1 : 0))
    }

    /// Who waits for a lock.
    private static let waiting = """
        SELECT 1 FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'
        """

    @Test("A node whose connection is lost leads no more where commits of before are missing then")
    func setBack() async throws {
        let folder = try TemporaryFolder()
        let lost = Locked<String?>(nil)
        let store = try Store(
            SharedTestStore.current().database(in: folder.path),
            log: Logger(label: "test"),
            now: TestScheduler.start,
            onLost: { error in lost.withLock { $0 = error.sentence } }
        )
        for number in 1...3 {
            try await store.writer.write {
                try $0.execute("UPDATE daemon_state SET paused = \(number)")
            }
        }
        let address = try SharedTestStore.current().address(of: folder.path)
        func connect() throws -> PostgresConnection {
            try PostgresConnection(address, application: "test", within: .seconds(30))
        }
        // The next commit waits for its row, loses its connection there, and finds what a standby would have had.
        let (other, standby) = (try connect(), try connect())
        _ = try standby.execute("BEGIN", within: .seconds(30))
        _ = try standby.execute("UPDATE timerd.store SET number = number - 2", within: .seconds(30))
        async let write: Void = store.writer.write {
            try $0.execute("UPDATE daemon_state SET paused = 4")
        }
        while try other.execute(Self.waiting, within: .seconds(30)).count == 0 {
            try await Task.sleep(for: .milliseconds(5))
        }
        _ = try other.execute(
            """
            SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
            WHERE datname = current_database() AND application_name = 'timerd'
            """,
            within: .seconds(30)
        )
        _ = try standby.execute("COMMIT", within: .seconds(30))
        let words = "the last commit in the database is not the last that this node knows of"
        do {
            try await write
            Issue.record("it was stored")
        } catch let error as DatabaseError {
            #expect(error.sentence.contains(words), "\(error.sentence)")
        }
        // It is told behind the commit's answer.
        try? await store.close()
        #expect(lost.withLock { $0 }?.contains(words) == true)
        let rows = try other.execute("SELECT paused FROM timerd.daemon_state", within: .seconds(30))
        #expect(rows.integer(0, 0) == 3)
    }

    @Test("A commit of which the server has a part alone holds up none of those that follow")
    func partOfCommit() async throws {
        let folder = try TemporaryFolder()
        let store = try Store.test(folder.path, isShared: true, now: TestScheduler.start)
        func connect(_ name: String) throws -> PostgresConnection {
            let address = try SharedTestStore.current().address(of: folder.path)
            return try PostgresConnection(address, application: name, within: .seconds(30))
        }
        // As if its connection had been cut before the rest was sent.
        let (part, other) = (try connect("timerd"), try connect("test"))
        try part.script(
            """
            BEGIN; SELECT FROM timerd.lease FOR KEY SHARE;
            UPDATE timerd.store SET number = number + 1; UPDATE timerd.daemon_state SET paused = 1
            """,
            within: .seconds(30)
        )
        async let write: Void = store.writer.write {
            try $0.execute("UPDATE daemon_state SET paused = 2")
        }
        while try other.execute(Self.waiting, within: .seconds(30)).count == 0 {
            await Task.yield()
        }
        _ = try other.execute(
            """
            SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock'
            """,
            within: .seconds(30)
        )
        try await write
        #expect(throws: PostgresError.self) { try part.script("COMMIT", within: .seconds(30)) }
        try await store.close()
        let paused = try other.execute(
            "SELECT paused FROM timerd.daemon_state",
            within: .seconds(30)
        )
        #expect(paused.integer(0, 0) == 2)
    }

    @Test("A question after a lost commit that is carried out late takes back none of those since")
    func lateQuestion() async throws {
        let folder = try TemporaryFolder()
        let store = try Store.test(folder.path, isShared: true, now: TestScheduler.start)
        let other = try PostgresConnection(
            SharedTestStore.current().address(of: folder.path),
            application: "test",
            within: .seconds(30)
        )
        for paused in 1...3 {
            try await store.writer.write {
                try $0.execute("UPDATE daemon_state SET paused = \(paused)")
            }
        }
        let counted = "SELECT epoch, number FROM timerd.lease, timerd.store"
        let rows = try other.execute(counted, within: .seconds(30))
        let (epoch, number) = (rows.integer(0, 0) ?? 0, rows.integer(0, 1) ?? 0)
        for late in [number - 2, number - 1] {
            let answer = try other.execute(
                PostgresHome.Statements.resolve,
                [.integer(epoch), .integer(late)],
                within: .seconds(30)
            )
            // It is settled, whoever reads that.
            #expect(answer.boolean(0, 1) == true)
        }
        #expect(try other.execute(counted, within: .seconds(30)).integer(0, 1) == number)
        try await store.writer.write { try $0.execute("UPDATE daemon_state SET paused = 4") }
        try await store.close()
        let paused = try other.execute(
            "SELECT paused FROM timerd.daemon_state",
            within: .seconds(30)
        )
        #expect(paused.integer(0, 0) == 4)
    }
}
