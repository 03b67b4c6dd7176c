// SPDX-License-Identifier: Apache-2.0

import Postgres
import TestPostgres
import Testing

@Suite(
    "PostgreSQL connections that break",
    .enabled(if: PostgresServer.isInstalled),
    .timeLimit(.minutes(2))
)
struct LostConnectionTests {
    /// What is done with a connection.
    enum Call: CaseIterable {
        case execute
        case script
        case pipeline
        case portions
        case readRows

        func run(on connection: PostgresConnection, within limit: Duration) throws {
            switch self {
            case .execute: _ = try connection.execute("SELECT pg_sleep(60)", within: limit)
            case .script: try connection.script("SELECT pg_sleep(60)", within: limit)
            case .pipeline, .portions:
                // More than the buffers of both sides hold.
                let bytes = PostgresValue.bytes([UInt8](repeating: 0, count: 1 << 20))
                let statement = PostgresStatement(
                    "SELECT $1, pg_sleep(9)",
                    [bytes],
                    isPortion: self == .portions
                )
                _ = try connection.pipeline(
                    [PostgresStatement](repeating: statement, count: 9),
                    within: limit
                )
            case .readRows:
                try connection.readRows("SELECT pg_sleep(60)", within: limit) { _ in }
            }
        }
    }

    @Test("A server that stands still is lost when the time is over", arguments: Call.allCases)
    func paused(_ call: Call) throws {
        let server = try PostgresServer()
        let connection = try PostgresConnection(to: server.address)
        server.pause()
        let error = PostgresError.thrown {
            try call.run(on: connection, within: .milliseconds(100))
        }
        #expect(error?.isLost == true)
        #expect(error?.mayBeDone == true)
        #expect(error?.message.contains("no answer in time") == true)
        #expect(connection.hasTimedOut)
        #expect(error?.message.contains(server.folder) == true)
        #expect(!connection.isUsable)
        #expect(connection.socket == -1)
        let connecting = PostgresError.thrown {
            _ = try PostgresConnection(to: server.address, within: .milliseconds(100))
        }
        #expect(connecting?.kind == .unreachable)
        #expect(connecting?.mayBeDone == false)
        server.resume()
        #expect(try PostgresConnection(to: server.address).isUsable)
    }

    @Test("A server that is killed is lost", arguments: Call.allCases)
    func killed(_ call: Call) throws {
        let server = try PostgresServer()
        let connection = try PostgresConnection(to: server.address)
        server.kill()
        let error = PostgresError.thrown { try call.run(on: connection, within: .patience) }
        #expect(error?.isLost == true)
        #expect(!connection.isUsable)
        #expect(!connection.hasTimedOut)
        try server.start()
        #expect(try PostgresConnection(to: server.address).isUsable)
    }

    @Test("What a killed server had committed is there when it is back")
    func committed() throws {
        let server = try PostgresServer()
        let connection = try PostgresConnection(to: server.address)
        try connection.script("CREATE TABLE t AS SELECT 1::bigint AS a", within: .patience)
        server.kill()
        try server.start()
        let rows = try PostgresConnection(to: server.address)
            .execute("SELECT a FROM t", within: .patience)
        #expect(rows.integer(0, 0) == 1)
    }

    @Test("A commit whose wait for a standby was cancelled may be done, and is not known to be")
    func unsureReplication() throws {
        let server = try PostgresServer(.init(settings: ["synchronous_standby_names": "nobody"]))
        let connection = try PostgresConnection(to: server.address)
        let admin = try PostgresConnection(to: server.address)
        // It is waiting in its commit when the other cancels it.
        let pid = Int64(connection.backendPID)
        let thread = CancellingThread(
            address: server.address,
            sql: """
                SELECT pg_cancel_backend(pid) FROM pg_stat_activity
                WHERE pid = \(pid) AND wait_event = 'SyncRep'
                """
        )
        thread.start()
        let error = PostgresError.thrown {
            _ = try connection.execute("CREATE TABLE t ()", within: .patience)
        }
        #expect(error?.isLost == true)
        #expect(error?.mayBeDone == true)
        let rows = try admin.execute(
            "SELECT 1 FROM pg_tables WHERE tablename = 't'",
            within: .patience
        )
        #expect(rows.count == 1)
    }
}
