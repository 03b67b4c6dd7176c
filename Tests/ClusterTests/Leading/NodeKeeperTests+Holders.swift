// SPDX-License-Identifier: Apache-2.0

import Cluster
import Postgres
import Testing

/// What holds the row of the lease, or its table, on a PostgreSQL.
extension NodeKeeperTests {
    /// Its node has had another connection since, or has given the lease back.
    @Test(
        "What was cut off while it held the lease's row is in no other node's way",
        arguments: [
            ("SELECT FROM timerd.lease FOR KEY SHARE", true),
            ("SELECT FROM timerd.lease FOR KEY SHARE", false),
            ("UPDATE timerd.lease SET until = until", false),
        ]
    )
    func cutOff(statement: String, isGivenBack: Bool) async throws {
        let database = try NodeDatabase()
        let first = try WatchedNode("first", on: database)
        try first.leads()
        let second = try WatchedNode("second", on: database)
        try second.waitFor(.leader("first"))
        let (cut, next) = (try database.connect("timerd"), try database.connect("timerd"))
        try cut.script("BEGIN; \(statement)", within: .patient)
        first.keeper.setStoreBackend(next.backendPID)
        if isGivenBack {
            await first.keeper.release(coreHasStopped: true)
        } else {
            await first.keeper.stop()
        }
        try second.leads()
        #expect(throws: PostgresError.self) { try cut.script("COMMIT", within: .patient) }
        // One that holds nothing is left alone.
        try next.script("SELECT 1", within: .patient)
        await second.keeper.stop()
    }

    @Test(
        "A session that is no node's, and holds the row of the lease, is left alone and told of, whatever its name begins with",
        arguments: ["psql", "timerd-admin"]
    )
    func held(name: String) async throws {
        let database = try NodeDatabase()
        let first = try WatchedNode("first", on: database)
        try first.leads()
        let second = try WatchedNode("second", on: database)
        try second.waitFor(.leader("first"))
        let stranger = try database.connect(name)
        try stranger.script("BEGIN; SELECT FROM timerd.lease FOR KEY SHARE", within: .patient)
        await first.keeper.stop()
        try second.waitFor(.held(by: Self.holder(stranger)))
        try stranger.script("COMMIT", within: .patient)
        try second.leads()
        try second.waitFor(.held(by: nil))
        await second.keeper.stop()
    }

    /// Whoever has the connection, as one that holds something of the table.
    private static func holder(
        _ connection: PostgresConnection,
        of table: String = "timerd.lease"
    ) -> LockHolder {
        LockHolder(process: Int64(connection.backendPID), table: table)
    }

    @Test(
        "Who has locked a table, or a row of it, such that a node cannot write its own row, is told",
        arguments: [
            ("LOCK TABLE timerd.lease IN SHARE MODE", "timerd.lease"),
            ("LOCK TABLE timerd.nodes IN SHARE MODE", "timerd.nodes"),
            ("UPDATE timerd.nodes SET drains = drains", "timerd.nodes"),
            ("LOCK TABLE timerd.store", "timerd.store"),
        ]
    )
    func locked(statement: String, table: String) async throws {
        let database = try NodeDatabase()
        let node = try WatchedNode("node", on: database, length: 5000)
        try node.leads()
        let stranger = try database.connect("psql")
        let words = Self.holder(stranger, of: table).words
        try stranger.script("BEGIN; \(statement)", within: .patient)
        try node.waitFor(.trouble(words))
        try stranger.script("COMMIT", within: .patient)
        try node.waitFor(.recovered)
        await node.keeper.stop()
    }

    @Test(
        "Where somebody keeps the rows of all nodes locked, one of them leads all the same, also on a new connection",
        arguments: [["first"], ["first", "second"]]
    )
    func rowsLocked(names: [String]) async throws {
        let database = try NodeDatabase()
        let nodes = try names.map { name in
            let node = try WatchedNode(name, on: database)
            try node.wait("a leader") { $0.isOfLeader ? true : nil }
            return node
        }
        let stranger = try database.connect("psql")
        func ask(_ sql: String) throws -> Int64? {
            try stranger.execute(sql, within: .patient).integer(0, 0)
        }
        /// Waits until one has taken a lease that nobody has now.
        func lead() async throws {
            let epoch = try #require(try ask("SELECT epoch FROM timerd.lease"))
            func isNew(_ told: WatchedNode.Told) -> Bool {
                if case .lead(let new) = told { new > epoch } else { false }
            }
            while !nodes.contains(where: { $0.all.contains(where: isNew) }) {
                try Task.checkCancellation()
                await Task.yield()
            }
        }
        try stranger.script("BEGIN; UPDATE timerd.nodes SET drains = drains", within: .patient)
        try await lead()
        let cut = """
            SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
            WHERE datname = current_database() AND application_name LIKE 'timerd node %'
            """
        #expect(try ask(cut) != 0)
        try await lead()
        try stranger.script("COMMIT", within: .patient)
        for node in nodes { await node.keeper.stop() }
    }

    @Test("Who holds the lease is told also where something else was the matter before")
    func lockedAfterTrouble() async throws {
        let database = try NodeDatabase()
        let node = try WatchedNode("node", on: database)
        try node.leads()
        let stranger = try database.connect("psql")
        let words = Self.holder(stranger).words
        let rename = "ALTER TABLE timerd.lease RENAME"
        try stranger.script("\(rename) until TO away", within: .patient)
        try node.waitFor(.away)
        try stranger.script("BEGIN; \(rename) away TO until", within: .patient)
        try node.waitFor(.trouble(words))
        try stranger.script("COMMIT", within: .patient)
        try node.waitFor(.recovered)
        await node.keeper.stop()
    }
}
