// SPDX-License-Identifier: Apache-2.0

import Cluster
import Locks
import Postgres
import TestPostgres
import Testing

/// Nodes that drain, on a PostgreSQL.
extension NodeKeeperTests {
    @Test("A node that drains hands over once its core has stopped, and takes nothing more")
    func drain() async throws {
        let database = try NodeDatabase()
        let first = try WatchedNode(
            "first",
            on: database,
            length: Self.long,
            stopsByItself: false
        )
        try first.leads()
        let second = try WatchedNode("second", on: database, length: Self.long)
        try second.waitFor(.leader("first"))
        try await second.keeper.drain("first", true)
        try first.waitFor(.stop(.drains))
        #expect(first.keeper.fence.isOpen)
        #expect(!second.all.contains(.lead(2)))
        first.keeper.coreStopped()
        try second.leads()
        #expect(!first.keeper.fence.isOpen)
        let nodes = try await second.keeper.nodes()
        #expect(nodes.map(\.name) == ["first", "second"])
        #expect(nodes.map(\.drains) == [true, false])
        #expect(nodes.map(\.leads) == [false, true])

        await second.keeper.release()
        try await first.keeper.drain("first", false)
        #expect(try first.leads(after: 1) == 3)
        await first.keeper.stop()
    }

    @Test("A node that drains leads where no other is left, and hands over once one is")
    func drainsAlone() async throws {
        let database = try NodeDatabase()
        let first = try WatchedNode("first", on: database)
        try first.leads()
        let second = try WatchedNode("second", on: database)
        try second.waitFor(.leader("first"))
        try await second.keeper.drain("first", true)
        try second.leads()
        // As by kill -9.
        await second.keeper.stop()
        try first.waitFor(.lead(3))
        let nodes = try await first.keeper.nodes()
        #expect(nodes.map(\.drains) == [true, false])
        #expect(nodes.map(\.leads) == [true, false])

        let third = try WatchedNode("third", on: database)
        #expect(try third.leads() == 4)
        #expect(first.all.count { $0 == .stop(.drains) } == 2)
        // One that leaves in order has it lead at once.
        await third.keeper.release()
        try first.waitFor(.lead(5))
        await first.keeper.stop()
    }

    @Test("A node that drains leads in place of one that cannot, until that may be mended")
    func drainsBesideOneThatCannot() async throws {
        let database = try NodeDatabase()
        let first = try WatchedNode("first", on: database, length: 6000)
        try first.leads()
        let second = try WatchedNode("second", on: database, length: 6000)
        try second.waitFor(.leader("first"))
        try await second.keeper.drain("first", true)
        try second.waitFor(.lead(2))
        second.keeper.coreBegan()
        // Its copy fails as soon as it leads.
        second.keeper.couldNotLead()
        try first.waitFor(.lead(3))
        first.keeper.coreBegan()
        // Some renewals of both.
        let asideUntil = "SELECT stands_aside_until::text FROM timerd.nodes WHERE name = 'second'"
        let connection = try database.connect()
        var seen: Set<String> = []
        while seen.count < 3 {
            if let until = try connection.execute(asideUntil, within: .patient).text(0, 0) {
                seen.insert(until)
            }
            await Task.yield()
        }
        #expect(!second.all.contains(.lead(4)))
        #expect(first.all.count { $0 == .stop(.drains) } == 1)
        // It may be told again to drain: commands begin on the other one.
        try await first.keeper.drain("first", false)
        try await first.keeper.drain("first", true)
        // As after a restart, or once the minute is over.
        second.keeper.coreBegan()
        try second.waitFor(.lead(4))
        #expect(first.all.count { $0 == .stop(.drains) } == 2)
        await second.keeper.stop()
        await first.keeper.stop()
    }

    @Test("A node that drains leads in place of one that leads and cannot go on")
    func drainsBesideOneThatFails() async throws {
        let database = try NodeDatabase()
        let first = try WatchedNode("first", on: database, length: Self.long)
        try first.leads()
        first.keeper.coreBegan()
        let second = try WatchedNode("second", on: database, length: Self.long)
        try second.waitFor(.leader("first"))
        try await first.keeper.drain("second", true)
        first.keeper.couldNotLead()
        // It is told with the release, and does not wait for its next look.
        #expect(try second.leads() == 2)
        let nodes = try await second.keeper.nodes()
        #expect(nodes.map(\.leads) == [false, true])
        await second.keeper.stop()
        await first.keeper.stop()
    }

    @Test("A drain that is stored counts though its answer is lost")
    func drainWithoutAnswer() async throws {
        let nodes = try NodesBehindStandby()
        let keeper = nodes.first.keeper
        let stored = Locked<[Bool]>([])
        async let drained: Void = keeper.drain("second", true) { drains in
            stored.withLock { $0.append(drains) }
        }
        try await nodes.loseAnswer()
        try await drained
        #expect(stored.withLock { $0 } == [true])
        #expect(try await keeper.nodes().map(\.drains) == [false, true])
        await nodes.second.keeper.stop()
        await keeper.stop()
    }

    @Test("A drain whose answer is lost is not stored again where another has undone it")
    func drainUndone() async throws {
        let nodes = try NodesBehindStandby()
        let keeper = nodes.first.keeper
        let stored = Locked<[Bool]>([])
        async let drained: Void = keeper.drain("second", true) { drains in
            stored.withLock { $0.append(drains) }
        }
        // It looks after that.
        try nodes.letIn(false)
        try await nodes.loseAnswer()
        try nodes.connection.script("UPDATE timerd.nodes SET drains = false", within: .patient)
        try nodes.letIn(true)
        do {
            try await drained
            Issue.record("it is told as one that drains")
        } catch let error as ClusterError {
            #expect(error.mayBeDone)
        }
        // On a slow machine it may have given up the look.
        #expect(!stored.withLock { $0.contains(true) })
        #expect(try await nodes.second.keeper.nodes().map(\.drains) == [false, false])
        await nodes.second.keeper.stop()
        await keeper.stop()
    }

    @Test("A drain that was never stored is not told as if it was")
    func drainNotStored() async throws {
        let database = try NodeDatabase()
        let first = try WatchedNode("first", on: database, length: Self.long)
        try first.leads()
        let second = try WatchedNode("second", on: database, length: Self.long)
        try second.waitFor(.leader("first"))
        try database.run(
            """
            CREATE FUNCTION timerd.ended() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                PERFORM pg_terminate_backend(pg_backend_pid());
                RETURN NEW;
            END $$;
            CREATE TRIGGER ended BEFORE UPDATE OF drains ON timerd.nodes
                FOR EACH ROW EXECUTE FUNCTION timerd.ended()
            """
        )
        let stored = Locked<[Bool]>([])
        let error = await #expect(throws: ClusterError.self) {
            try await first.keeper.drain("second", true) { drains in
                stored.withLock { $0.append(drains) }
            }
        }
        #expect(error?.mayBeDone == true)
        #expect(!stored.withLock { $0.contains(true) })
        #expect(try await second.keeper.nodes().map(\.drains) == [false, false])
        await second.keeper.stop()
        await first.keeper.stop()
    }

    @Test("A node that drains is told so again, also where it is the last one by then")
    func drainsAgain() async throws {
        let database = try NodeDatabase()
        let first = try WatchedNode("first", on: database, length: Self.long)
        try first.leads()
        let second = try WatchedNode("second", on: database, length: Self.long)
        try second.waitFor(.leader("first"))
        try await second.keeper.drain("first", true)
        try second.leads()
        await second.keeper.release()
        try first.leads(after: 2)
        try await first.keeper.drain("first", true)
        #expect(try await first.keeper.nodes().map(\.drains) == [true, false])
        await first.keeper.stop()
    }
}

/// Two nodes, the first of which leads, on a server that is to wait for a standby with the first drain, which never comes.
///
/// It is on the server's own disk by then.
private struct NodesBehindStandby {
    let first: WatchedNode
    let second: WatchedNode
    let connection: PostgresConnection
    private let server: PostgresServer
    /// To another database.
    private let other: PostgresConnection

    init() throws {
        server = try PostgresServer(
            .init(settings: [
                "synchronous_standby_names": "nobody", "synchronous_commit": "local",
            ])
        )
        let database = NodeDatabase(server)
        first = try WatchedNode("first", on: database, length: NodeKeeperTests.long)
        try first.leads()
        second = try WatchedNode("second", on: database, length: NodeKeeperTests.long)
        try second.waitFor(.leader("first"))
        connection = try database.connect()
        other = try PostgresConnection(
            PostgresAddress(server.address(user: "postgres", database: "template1")),
            application: "cluster-tests",
            within: .patient
        )
        // A sequence is counted on also where its transaction is undone.
        try connection.script(
            """
            CREATE SEQUENCE timerd.tries;
            CREATE FUNCTION timerd.wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF nextval('timerd.tries') = 1 THEN PERFORM set_config('synchronous_commit', 'on', true); END IF;
                RETURN NEW;
            END $$;
            CREATE TRIGGER wait BEFORE UPDATE OF drains ON timerd.nodes
                FOR EACH ROW EXECUTE FUNCTION timerd.wait()
            """,
            within: .patient
        )
    }

    /// Ends the connection whose commit waits, once there is one.
    func loseAnswer() async throws {
        let ending = """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'
            """
        // Bounded, for a drain that is refused early.
        for _ in 0..<6000 {
            guard try connection.execute(ending, within: .patient).isEmpty else { return }
            try await Task.sleep(for: .milliseconds(10))
        }
        Issue.record("no commit waits for the standby")
    }

    /// Whether who connects from now on is let in.
    func letIn(_ isLetIn: Bool) throws {
        try other.script(
            "ALTER DATABASE postgres ALLOW_CONNECTIONS \(isLetIn)",
            within: .patient
        )
    }
}
