// SPDX-License-Identifier: Apache-2.0

import Cluster
import Locks
import Postgres
import TestPostgres
import Testing

@Suite(
    "A PostgreSQL that is away",
    .enabled(if: PostgresServer.isInstalled),
    .timeLimit(.minutes(2))
)
struct ServerTroubleTests {
    @Test("It is killed and started again: one leads again, and each trouble is told once")
    func killed() async throws {
        let server = try PostgresServer()
        let database = NodeDatabase(server)
        let first = try WatchedNode("first", on: database)
        try first.leads()
        let second = try WatchedNode("second", on: database)
        try second.waitFor(.leader("first"))
        server.kill()
        try first.waitFor(.stop(.leaseOver))
        try second.waitFor(.away)
        try server.start()
        try first.waitFor(.recovered)
        try second.waitFor(.recovered)
        while ![first, second].contains(where: { $0.keeper.fence.isOpen }) { await Task.yield() }
        for node in [first, second] {
            // A statement that takes too long on a busy machine is another trouble.
            let before = node.all.prefix { $0 != .recovered }
            #expect(before.filter { $0 == .away }.count == 1)
            await node.keeper.stop()
        }
    }

    @Test("It hangs: the node that leads begins nothing after its lease, and leads again")
    func hangs() async throws {
        let server = try PostgresServer()
        let database = NodeDatabase(server)
        let node = try WatchedNode("node", on: database)
        let epoch = try node.leads()
        #expect(node.keeper.fence.isOpen)
        server.pause()
        let paused = Fence.now()
        // What is under way may still be answered; nothing later is.
        let end = paused + WatchedNode.short * 1000
        while node.keeper.fence.isOpen, Fence.now() < end { await Task.yield() }
        #expect(!node.keeper.fence.isOpen)
        // Before, on a busy machine, a statement may have taken too long.
        let recoveries = node.all.count { $0 == .recovered }
        try node.waitFor(.stop(.leaseOver))
        try node.waitFor(.away)
        #expect(node.all.count { $0 == .recovered } == recoveries)
        server.resume()
        try node.leads(after: epoch)
        await node.keeper.stop()
    }

    @Test("A node that ends while the database is away ends nevertheless")
    func leaves() async throws {
        let server = try PostgresServer()
        let node = try WatchedNode("node", on: NodeDatabase(server))
        try node.leads()
        server.kill()
        await node.keeper.release()
        #expect(!node.keeper.fence.isOpen)
    }

    @Test(
        "Tables that are removed while nodes run are told as gone, and not made; they go on with those that are put back"
    )
    func restored() async throws {
        let database = try NodeDatabase()
        let (first, second) = try await Self.without(database, "ALTER SCHEMA timerd RENAME TO away")
        #expect(
            try database.connect().execute(Self.looking, within: .patient).boolean(0, 0) == false
        )
        try database.run("ALTER SCHEMA away RENAME TO timerd")
        try await Self.goOn(first, second)
    }

    @Test("Where they are gone for good a node that is restarted makes them, and the others go on")
    func dropped() async throws {
        let database = try NodeDatabase()
        let (first, second) = try await Self.without(database, "DROP SCHEMA timerd CASCADE")
        let third = try WatchedNode("third", on: database)
        // Whoever of the three is first.
        try third.wait("somebody leads") { told in
            switch told {
            case .lead, .leader(_?): true
            default: nil
            }
        }
        try await Self.goOn(first, second)
        await third.keeper.stop()
    }

    @Test("That the lease's row was removed is said, and they go on with one that is put back")
    func leaseRemoved() async throws {
        let database = try NodeDatabase()
        let (first, second) = try await Self.without(database, "DELETE FROM timerd.lease")
        try database.run(ClusterTables.makingLease)
        let rows = try database.connect().execute(
            "SELECT epoch FROM timerd.lease",
            within: .patient
        )
        let epoch = try #require(rows.integer(0, 0))
        // Above each that grew by one a take-over, and small enough for the upper half of an id of 63 bits.
        #expect(epoch > 1_000_000_000 && epoch < 1 << 31)
        try await Self.goOn(first, second)
    }

    @Test("That the jobs' row was removed is said, and they go on with one that is put back")
    func storeRemoved() async throws {
        let database = try NodeDatabase()
        let (first, second) = try await Self.without(database, "DELETE FROM timerd.store")
        try database.run(WatchedNode.makingStore)
        try await Self.goOn(first, second)
    }

    @Test(
        "As a restore brings the lease's row long before that of the jobs, nobody leads until then"
    )
    func storeRestoredLast() async throws {
        let database = try NodeDatabase()
        let (first, second) = try await Self.without(
            database,
            "DELETE FROM timerd.lease; DELETE FROM timerd.store"
        )
        try database.run(ClusterTables.makingLease)
        for node in [first, second] {
            // That another row is missing by now is told as well.
            while node.all.count(where: { $0 == .refused(.tablesGone) }) < 2 { await Task.yield() }
            #expect(!node.keeper.fence.isOpen)
        }
        let lease = try database.connect().execute(
            "SELECT node IS NULL FROM timerd.lease",
            within: .patient
        )
        #expect(lease.boolean(0, 0) == true)
        try database.run(WatchedNode.makingStore)
        try await Self.goOn(first, second)
    }

    private static let looking = "SELECT to_regnamespace('timerd') IS NOT NULL"

    @Test("It ends sessions that are idle, but none of a node")
    func idleSessions() async throws {
        let database = try NodeDatabase()
        guard try database.connect().serverVersion >= 140_000 else { return }
        try database.run(
            """
            DO $$ BEGIN
                EXECUTE format('ALTER DATABASE %I SET idle_session_timeout = 1000', current_database());
            END $$
            """
        )
        let node = try WatchedNode("node", on: database, length: NodeKeeperTests.long)
        try node.leads()
        let address = try PostgresAddress(database.address)
        let carrier = try NotifyCarrier(node: "node", address: address)
        let isConnected = Locked(false)
        try carrier.start { _ in isConnected.withLock { $0 = true } }
        while !isConnected.withLock({ $0 }) { await Task.yield() }
        func sessions() throws -> [Int64?] {
            let rows = try database.connect().execute(
                """
                SELECT pid::bigint FROM pg_stat_activity WHERE datname = current_database()
                    AND application_name IN ('timerd node node', 'timerd relay node') ORDER BY 1
                """,
                within: .patient
            )
            return (0..<rows.count).map { rows.integer($0, 0) }
        }
        let before = try sessions()
        #expect(before.count == 2)
        // One that has been idle for less than those of the node, until it is ended.
        let idle = try database.connect()
        var isThere = true
        while isThere {
            do { _ = try idle.takeNotifications() } catch { isThere = false }
            await Task.yield()
        }
        #expect(try sessions() == before)
        carrier.stop()
        await node.keeper.stop()
    }

    /// Two nodes that were told that `removing` has removed the tables.
    private static func without(
        _ database: NodeDatabase,
        _ removing: String
    ) async throws -> (WatchedNode, WatchedNode) {
        let first = try WatchedNode("first", on: database)
        try first.leads()
        let second = try WatchedNode("second", on: database)
        try second.waitFor(.leader("first"))
        try database.run(removing)
        try first.waitFor(.stop(.leaseOver))
        for node in [first, second] { try node.waitFor(.refused(.tablesGone)) }
        return (first, second)
    }

    private static func goOn(_ nodes: WatchedNode...) async throws {
        for node in nodes { try node.waitFor(.recovered) }
        while try await !nodes[0].keeper.nodes().contains(where: \.leads) { await Task.yield() }
        for node in nodes {
            // On a busy machine a look may take longer than it may, which is told as another trouble in between.
            let before = node.all.prefix { $0 != .recovered }
            #expect(before.contains(.refused(.tablesGone)))
            #expect(!node.all.dropFirst(before.count).contains(.refused(.tablesGone)))
            await node.keeper.stop()
        }
    }
}
