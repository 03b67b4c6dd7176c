// SPDX-License-Identifier: Apache-2.0

import Cluster
import Locks
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

    @Test("Whether a node drains is asked for again where the answer is lost, until that is known")
    func drainWithoutAnswer() async throws {
        let database = try NodeDatabase()
        let first = try WatchedNode("first", on: database, length: Self.long)
        try first.leads()
        let second = try WatchedNode("second", on: database, length: Self.long)
        try second.waitFor(.leader("first"))
        // A sequence is counted on also where its transaction is undone.
        try database.run(
            """
            CREATE SEQUENCE timerd.tries;
            CREATE FUNCTION timerd.ended() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF nextval('timerd.tries') = 1 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
                RETURN NEW;
            END $$;
            CREATE TRIGGER ended BEFORE UPDATE OF drains ON timerd.nodes
                FOR EACH ROW EXECUTE FUNCTION timerd.ended()
            """
        )
        let stored = Locked(0)
        try await first.keeper.drain("second", true) { stored.withLock { $0 += 1 } }
        #expect(stored.withLock { $0 } == 1)
        let nodes = try await second.keeper.nodes()
        #expect(nodes.map(\.drains) == [false, true])
        await second.keeper.stop()
        await first.keeper.stop()
    }
}
