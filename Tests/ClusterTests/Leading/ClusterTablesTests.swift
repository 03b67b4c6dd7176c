// SPDX-License-Identifier: Apache-2.0

import Cluster
import Postgres
import TestPostgres
import Testing

@Suite("Tables of a cluster", .enabled(if: PostgresServer.isInstalled), .timeLimit(.minutes(2)))
struct ClusterTablesTests {
    @Test("They are made once, and found afterwards")
    func made() throws {
        let database = try NodeDatabase()
        let connection = try database.connect()
        for _ in 0..<2 { try ClusterTables.prepare(connection, within: .patient) }
        let rows = try connection.execute(
            "SELECT program, (SELECT epoch FROM timerd.lease) FROM timerd.cluster",
            within: .patient
        )
        #expect(rows.text(0, 0) == "timerd")
        #expect(rows.integer(0, 1) == 0)
    }

    @Test("What tables of an earlier build lack is added, also under a node that runs")
    func columns() async throws {
        let database = try NodeDatabase()
        let connection = try database.connect()
        try ClusterTables.prepare(connection, within: .patient)
        let drop = "ALTER TABLE timerd.nodes DROP COLUMN stands_aside_until"
        try database.run(drop)
        for _ in 0..<2 { try ClusterTables.prepare(connection, within: .patient) }
        let node = try WatchedNode("node", on: database)
        try node.leads()
        try database.run(drop)
        try node.waitFor(.recovered)
        let count = try connection.execute(
            "SELECT count(stands_aside_until) FROM timerd.nodes",
            within: .patient
        )
        #expect(count.integer(0, 0) == 0)
        await node.keeper.stop()
    }

    @Test("Tables that are half there are told as gone where they were there before")
    func halfRestored() throws {
        let database = try NodeDatabase()
        try database.run("CREATE SCHEMA timerd; CREATE TABLE timerd.jobs (id int)")
        let error = #expect(throws: ClusterError.self) {
            try ClusterTables.prepare(database.connect(), hadThem: true, within: .patient)
        }
        guard case .refused(let refusal)? = error else {
            Issue.record("it is not refused")
            return
        }
        #expect(refusal.code == .tablesGone)
    }

    @Test("A schema that was made for them is taken")
    func emptySchema() throws {
        let database = try NodeDatabase()
        try database.run("CREATE SCHEMA timerd")
        try ClusterTables.prepare(database.connect(), within: .patient)
    }

    @Test(
        "What is not this program's is refused, with the reason",
        arguments: [
            ("CREATE SCHEMA timerd; CREATE TABLE timerd.jobs (id int)", .otherProgram),
            ("CREATE SCHEMA timerd; CREATE TABLE timerd.cluster (id int)", .otherProgram),
            ("CREATE SCHEMA timerd; CREATE SEQUENCE timerd.cluster", .otherProgram),
            (
                """
                CREATE SCHEMA timerd; CREATE TABLE timerd.cluster AS
                    SELECT 1 AS one, 'timerd' AS program, 2 AS format
                """, .newerFormat
            ),
            (
                """
                CREATE SCHEMA timerd; CREATE TABLE timerd.cluster AS
                    SELECT 1 AS one, 'other' AS program, 1 AS format
                """, .otherProgram
            ),
        ] as [(String, ClusterRefusal.Code)]
    )
    func refused(script: String, code: ClusterRefusal.Code) async throws {
        let database = try NodeDatabase()
        try database.run(script)
        let error = #expect(throws: ClusterError.self) {
            try ClusterTables.prepare(database.connect(), within: .patient)
        }
        guard case .refused(let refusal)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(refusal.code == code)
        let node = try WatchedNode("node", on: database)
        try node.waitFor(.refused(code))
        await node.keeper.stop()
        #expect(node.all == [.refused(code)])
    }

    @Test("A database that does not keep all characters is refused; one that keeps bytes is taken")
    func encodings() throws {
        let latin = try NodeDatabase(encoding: "LATIN1")
        let error = #expect(throws: ClusterError.self) {
            try ClusterTables.prepare(latin.connect(), within: .patient)
        }
        #expect(error?.description.hasPrefix("the database has the encoding LATIN1") == true)
        let bytes = try NodeDatabase(encoding: "SQL_ASCII")
        try ClusterTables.prepare(bytes.connect(), within: .patient)
    }

    @Test("A database that may not be written is refused, also by who takes any")
    func readOnly() throws {
        let database = try NodeDatabase()
        try database.run(
            """
            DO $$ BEGIN EXECUTE format(
                'ALTER DATABASE %I SET default_transaction_read_only = on', current_database()
            ); END $$
            """
        )
        let connection = try PostgresConnection(
            PostgresAddress(database.address + "&target_session_attrs=any"),
            application: "cluster-tests",
            within: .patient
        )
        let error = #expect(throws: ClusterError.self) {
            try ClusterTables.prepare(connection, within: .patient)
        }
        #expect(error?.description.hasPrefix("the database may not be written") == true)
    }

    @Test("A role that may not make the schema is told so")
    func notPermitted() throws {
        let database = try NodeDatabase()
        try database.run("DROP ROLE IF EXISTS nobody_else; CREATE ROLE nobody_else")
        let connection = try database.connect()
        try connection.script("SET ROLE nobody_else", within: .patient)
        let error = #expect(throws: ClusterError.self) {
            try ClusterTables.prepare(connection, within: .patient)
        }
        #expect(error?.description.contains("GRANT CREATE ON DATABASE") == true)
    }
}
