// SPDX-License-Identifier: Apache-2.0

import Postgres
import TestPostgres
import Testing

@testable import Cluster

@Suite("A session of one's own", .timeLimit(.minutes(2))) struct OwnSessionTests {
    @Test("Sessions are lent where two transactions have had two, or where another's is the same")
    func lent() {
        // A pooler that keeps the session for the connection; it may have none left for another.
        #expect(!OwnSession.isLent(1, 1, other: 2))
        #expect(!OwnSession.isLent(1, 1, other: nil))
        // One that takes them in turn, or the one that was used last, or has but one.
        #expect(OwnSession.isLent(1, 2, other: nil))
        #expect(OwnSession.isLent(1, 2, other: 3))
        #expect(OwnSession.isLent(1, 1, other: 1))
    }

    @Test("A server's own is", .enabled(if: PostgresServer.isInstalled))
    func direct() throws {
        let database = try NodeDatabase()
        let address = try PostgresAddress(database.address)
        try OwnSession.check(try database.connect(), address, within: .patient)
    }

    @Test(
        "What a database sets changes nothing of how a node's keeper commits, and of what it is told",
        .enabled(if: PostgresServer.isInstalled),
        arguments: [
            ("synchronous_commit", "off", "local"), ("client_min_messages", "error", "warning"),
            ("default_transaction_isolation", "serializable", "read committed"),
        ]
    )
    func keeper(_ name: String, _ value: String, _ expected: String) async throws {
        let database = try NodeDatabase()
        try database.run(
            """
            DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET \(name) = ''\(value)''',
                current_database()); END $$
            """
        )
        let node = try WatchedNode("first", on: database, length: NodeKeeperTests.long)
        try node.leads()
        let connection = try database.connect()
        // Only a session itself knows its settings.
        try connection.script(
            """
            CREATE TABLE timerd.seen (value text);
            CREATE FUNCTION timerd.see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                INSERT INTO timerd.seen VALUES (current_setting('\(name)'));
                RETURN NEW;
            END $$;
            CREATE TRIGGER see BEFORE UPDATE OF drains ON timerd.nodes
                FOR EACH ROW EXECUTE FUNCTION timerd.see()
            """,
            within: .patient
        )
        try await node.keeper.drain("first", false)
        let seen = try connection.execute("SELECT value FROM timerd.seen", within: .patient)
        #expect(seen.text(0, 0) == expected)
        await node.keeper.stop()
    }

    @Test("What is prepared and is not there is a refusal that lasts, and says why")
    func refusal() throws {
        var error = PostgresError(.refused(sqlState: "26000"), "no such statement")
        guard case .refused(let refusal) = ClusterError.from(error, doing: "write") else {
            Issue.record("\(ClusterError.from(error, doing: "write"))")
            return
        }
        #expect(refusal.code == .lentSession)
        #expect(refusal.message == PostgresError.lentSession)
        error = PostgresError(.refused(sqlState: "42601"), "syntax")
        guard case .database = ClusterError.from(error, doing: "write") else {
            Issue.record("another error is taken for it")
            return
        }
    }
}
