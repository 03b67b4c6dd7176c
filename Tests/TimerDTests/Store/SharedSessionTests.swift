// SPDX-License-Identifier: Apache-2.0

import Postgres
import TestPostgres
import Testing

@testable import TimerD

/// What a database sets for its sessions, and what a node's have.
@Suite("A node's session in PostgreSQL", .enabled(if: PostgresServer.isInstalled))
struct SharedSessionTests {
    /// What `PostgresHome` has of a setting, where the database has it as `value`.
    private func node(_ name: String, _ value: String) throws -> String? {
        let folder = try TemporaryFolder()
        let address = try SharedTestStore.current().address(of: folder.path)
        try PostgresConnection(address, application: "test", within: .seconds(30)).script(
            """
            DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET \(name) = ''\(value)''',
                current_database()); END $$
            """,
            within: .seconds(30)
        )
        let connection = try PostgresHome.connect(address, within: .seconds(30))
        return try connection.execute("SHOW \(name)", within: .seconds(30)).text(0, 0)
    }

    @Test("Of what the server is configured to do later all counts but that commits are off")
    func reload() throws {
        let server = try PostgresServer(.init(settings: ["synchronous_commit": "local"]))
        let address = try PostgresAddress(server.address)
        let connection = try PostgresHome.connect(address, within: .seconds(30))
        let other = try PostgresConnection(address, application: "test", within: .seconds(30))
        func show(_ name: String) throws -> String? {
            try connection.execute("SHOW \(name)", within: .seconds(30)).text(0, 0)
        }
        #expect(PostgresHome.Statements.fence.contains(PostgresConnection.durable))
        for (value, expected) in [("off", "local"), ("on", "on")] {
            try other.script("ALTER SYSTEM SET synchronous_commit = \(value)", within: .seconds(30))
            try other.script("SELECT pg_reload_conf()", within: .seconds(30))
            #expect(Limit.wait(seconds: 60) { (try? show("synchronous_commit")) == value })
            try connection.script("BEGIN", within: .seconds(30))
            _ = try connection.execute(
                "SELECT \(PostgresConnection.durable)",
                within: .seconds(30)
            )
            #expect(try show("synchronous_commit") == expected)
            try connection.script("COMMIT", within: .seconds(30))
        }
    }

    @Test(
        "What a database sets of limits in time ends nothing of a node's",
        arguments: ["statement_timeout", "lock_timeout"]
    )
    func timeLimits(_ name: String) throws {
        #expect(try node(name, "3600000") == "0")
    }

    @Test(
        "A commit is on the server's disk before it is answered; whether it waits for standbys is the database's to say",
        arguments: ["off": "local", "local": "local", "remote_write": "remote_write", "on": "on"]
    )
    func synchronousCommit(_ value: String, _ expected: String) throws {
        #expect(try node("synchronous_commit", value) == expected)
    }

    @Test("A cancelled wait for standbys is told, whichever messages the database keeps back")
    func messages() throws {
        #expect(try node("client_min_messages", "error") == "warning")
    }

    @Test(
        "Commits of jobs wait for each other, and fail for none",
        arguments: ["serializable", "repeatable read"]
    )
    func isolation(_ value: String) throws {
        #expect(try node("default_transaction_isolation", value) == "read committed")
    }
}
