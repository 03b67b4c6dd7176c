// SPDX-License-Identifier: Apache-2.0

import Cluster
import Postgres
import TestPostgres
import Testing

@Suite("Nodes on a PostgreSQL", .enabled(if: PostgresServer.isInstalled), .timeLimit(.minutes(2)))
struct NodeKeeperTests {
    /// Of leases that end within no test, in ms.
    static let long: Int64 = 300_000

    @Test("Of nodes that start together on an empty database one leads, and all know it")
    func start() async throws {
        let database = try NodeDatabase()
        let nodes = try (1...6).map { try WatchedNode("n\($0)", on: database, length: Self.long) }
        let leader = try nodes[0].wait("a leader") {
            if case .leader(let name?) = $0 { name } else { nil }
        }
        for node in nodes { try node.waitFor(.leader(leader)) }
        for node in nodes {
            let isLeader = node.keeper.node.name == leader
            #expect(node.all == (isLeader ? [.lead(1)] : []) + [.leader(leader)])
            #expect(node.keeper.fence.isOpen == isLeader)
        }
        for node in nodes { await node.keeper.stop() }
    }

    @Test("Where the node that leads is gone, another leads once the lease is over")
    func killed() async throws {
        let database = try NodeDatabase()
        let first = try WatchedNode("first", on: database)
        try first.leads()
        let second = try WatchedNode("second", on: database)
        try second.waitFor(.leader("first"))
        await first.keeper.stop()
        #expect(try second.leads() == 2)
        try second.waitFor(.leader("second"))
        // Between the two nobody may be known to lead for a while.
        let told = second.withoutTroubles.filter { $0 != .leader(nil) }
        #expect(told == [.leader("first"), .lead(2), .leader("second")])
        #expect(!first.keeper.fence.isOpen)
        await second.keeper.stop()
    }

    @Test("A node that leads without a relay's connection hands over to one that has it")
    func relayAway() async throws {
        let database = try NodeDatabase()
        let first = try WatchedNode("first", on: database, length: 3000)
        try first.leads()
        first.keeper.coreBegan()
        let second = try WatchedNode("second", on: database, length: 3000)
        try second.waitFor(.leader("first"))
        let relay = try database.connect("timerd relay second")
        first.keeper.relayIsAway(true)
        try first.waitFor(.stop(.relayAway))
        #expect(try second.leads() == 2)
        relay.close()
        await first.keeper.stop()
        await second.keeper.stop()
    }

    @Test("A node that ends in order hands over at once")
    func release() async throws {
        let database = try NodeDatabase()
        let first = try WatchedNode("first", on: database, length: Self.long)
        try first.leads()
        #expect(first.formerClock == nil)
        // It has begun to write.
        let store = try database.connect("timerd")
        first.keeper.setStoreBackend(store.backendPID)
        let isKnown = "SELECT count(clock_difference_us) FROM timerd.lease"
        while try store.execute(isKnown, within: .patient).integer(0, 0) == 0 { await Task.yield() }
        let clock = try #require(first.keeper.clockDifference)
        await first.keeper.release()
        // It has never seen the other one lead.
        let second = try WatchedNode("second", on: database, length: Self.long)
        try second.leads()
        // Each look at the clocks finds another.
        let former = try #require(second.formerClock)
        #expect(abs(former - clock) < 60_000_000)
        #expect(first.all.contains(.stop(.leaves)))
        let nodes = try await second.keeper.nodes()
        #expect(nodes.map(\.isThere) == [false, true])
        await second.keeper.stop()
    }

    /// It would fill PostgreSQL's room for them, and then nobody could notify.
    @Test("What was notified to a node that is gone, and reads nothing, is not kept for ever")
    func unread() async throws {
        let database = try NodeDatabase()
        let node = try WatchedNode("first", on: database, unread: 0)
        try node.leads()
        let stopped = try database.connect("timerd relay stopped")
        try stopped.script("LISTEN said", within: .patient)
        let other = try database.connect("timerd")
        try other.script(
            """
            SELECT count(pg_notify('said', number || repeat('x', 7000)))
            FROM generate_series(1, 1000) AS number
            """,
            within: .patient
        )
        let isThere = "SELECT count(*) FROM pg_stat_activity WHERE pid = \(stopped.backendPID)"
        while try other.execute(isThere, within: .patient).integer(0, 0) != 0 { await Task.yield() }
        // One that is there is left alone, and so is what is no node's.
        #expect(node.withoutTroubles == [.lead(1), .leader("first")])
        #expect(try other.execute("SELECT 1::bigint", within: .patient).integer(0, 0) == 1)
        await node.keeper.stop()
    }

    @Test("No node drains that is not there")
    func unknownNode() async throws {
        let node = try WatchedNode("first", on: NodeDatabase(), length: Self.long)
        try node.leads()
        let error = await #expect(throws: ClusterError.self) {
            try await node.keeper.drain("other", true)
        }
        #expect(error?.description == "there is no node 'other'")
        await node.keeper.stop()
    }

    @Test("The last node that may lead is not drained, also where another was just before")
    func lastNode() async throws {
        let database = try NodeDatabase()
        let first = try WatchedNode("first", on: database, length: Self.long)
        try first.leads()
        let second = try WatchedNode("second", on: database, length: Self.long)
        try second.waitFor(.leader("first"))
        let third = try WatchedNode("third", on: database, length: Self.long)
        try third.waitFor(.leader("first"))
        await third.keeper.release()
        // As two who ask at once: each has seen that the other node may lead.
        try await first.keeper.drain("second", true)
        let error = await #expect(throws: ClusterError.self) {
            try await first.keeper.drain("first", true)
        }
        guard case .refused(let refusal)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(refusal.code == .lastNode)
        try await first.keeper.drain("third", true)
        #expect(try await first.keeper.nodes().map(\.drains) == [false, true, true])
        try await first.keeper.drain("second", false)
        try await first.keeper.drain("third", false)
        await second.keeper.stop()
        await first.keeper.stop()
    }

    @Test("A process that follows one that led on its machine leads at once, in a new epoch")
    func restart() async throws {
        let database = try NodeDatabase()
        let first = try WatchedNode("node", on: database, length: Self.long)
        try first.leads()
        let other = try WatchedNode("other", on: database, length: Self.long)
        try other.waitFor(.leader("node"))
        await first.keeper.stop()
        let second = try WatchedNode("node", on: database, length: Self.long)
        #expect(try second.leads() == 2)
        await second.keeper.stop()
        await other.keeper.stop()
    }

    @Test("A node whose machine has had a node of another name is told of that")
    func formerName() async throws {
        let database = try NodeDatabase()
        let first = try WatchedNode("before", on: database, length: Self.long, machine: "here")
        try first.leads()
        await first.keeper.stop()
        let second = try WatchedNode("after", on: database, length: Self.long, machine: "here")
        try second.waitFor(.formerName("before"))
        await second.keeper.stop()
    }

    @Test("A second node of one name is refused for as long as the first is there")
    func sameName() async throws {
        let database = try NodeDatabase()
        let first = try WatchedNode("node", on: database, length: Self.long, machine: "here")
        try first.leads()
        let second = try WatchedNode("node", on: database, machine: "there")
        try second.waitFor(.refused(.nameInUse))
        await first.keeper.release()
        try second.leads()
        #expect(second.withoutTroubles.first == .refused(.nameInUse))
        #expect(second.all.contains(.recovered))
        await second.keeper.stop()
    }

    @Test("A node whose name another has taken follows nobody until it has it back")
    func nameTaken() async throws {
        let database = try NodeDatabase()
        let leader = try WatchedNode("leader", on: database, length: Self.long)
        try leader.leads()
        let node = try WatchedNode("node", on: database)
        try node.waitFor(.leader("leader"))
        // As if it had been cut off for so long that its name was free.
        try database.run(
            """
            UPDATE timerd.nodes SET machine = 'there', incarnation = 'another',
                until = clock_timestamp() + interval '1 hour' WHERE name = 'node'
            """
        )
        try node.waitFor(.refused(.nameInUse))
        try node.waitFor(.leader(nil))
        try database.run("UPDATE timerd.nodes SET until = to_timestamp(0) WHERE name = 'node'")
        while node.all.last(where: \.isOfLeader) != .leader("leader") { await Task.yield() }
        await node.keeper.stop()
        await leader.keeper.stop()
    }

    @Test("A commit holds up no renewal, and hangs in no other node's way")
    func hangingCommit() async throws {
        let database = try NodeDatabase()
        // It is to keep the lease on a busy machine, too.
        let first = try WatchedNode("first", on: database, length: 12_000)
        let epoch = try first.leads()
        let commit = try database.connect("timerd")
        try commit.script(
            "BEGIN; SELECT FROM timerd.lease WHERE epoch = \(epoch) FOR KEY SHARE",
            within: .patient
        )
        first.keeper.setStoreBackend(commit.backendPID)
        let second = try WatchedNode("second", on: database)
        try second.waitFor(.leader("first"))
        let until = try Self.until(database)
        while try Self.until(database) == until { await Task.yield() }
        #expect(!first.all.contains { if case .stop = $0 { true } else { false } })

        await first.keeper.stop()
        try second.leads()
        #expect(throws: PostgresError.self) { try commit.script("COMMIT", within: .patient) }
        await second.keeper.stop()
    }

    @Test("A renewal fails no commit of the jobs, whichever isolation is set for the database")
    func isolation() async throws {
        let database = try NodeDatabase()
        try database.run(
            """
            DO $$ BEGIN
                EXECUTE format('ALTER DATABASE %I SET default_transaction_isolation = serializable',
                    current_database());
            END $$
            """
        )
        let node = try WatchedNode("node", on: database, length: 12_000)
        let epoch = try node.leads()
        let commit = try database.connect("timerd")
        try commit.script(
            """
            BEGIN; SELECT FROM timerd.lease WHERE epoch = \(epoch) FOR KEY SHARE;
            UPDATE timerd.store SET number = number + 1
            """,
            within: .patient
        )
        let until = try Self.until(database)
        while try Self.until(database) == until { await Task.yield() }
        try commit.script("COMMIT", within: .patient)
        await node.keeper.stop()
    }

    private static func until(_ database: NodeDatabase) throws -> String? {
        let sql = "SELECT until::text FROM timerd.lease"
        return try database.connect().execute(sql, within: .patient).text(0, 0)
    }

    @Test("What a node says of itself is there for the others")
    func status() async throws {
        let database = try NodeDatabase()
        let node = try WatchedNode("node", on: database, length: 60_000)
        let epoch = try node.leads()
        let other = try WatchedNode("other", on: database, length: 60_000)
        try other.waitFor(.leader("node"))
        // By name.
        let nodes = try await other.keeper.nodes()
        #expect(nodes.map(\.name) == ["node", "other"])
        #expect(nodes.map(\.epoch) == [epoch, nil])
        #expect(nodes.first?.version == "1")
        #expect(nodes.first?.isThere == true)
        await other.keeper.stop()
        // Both clocks are this machine's.
        let difference = try #require(node.keeper.clockDifference)
        #expect(abs(difference) < 1_000_000)
        await node.keeper.stop()
        await #expect(throws: ClusterError.self) { try await node.keeper.nodes() }
    }
}
