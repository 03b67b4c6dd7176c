// SPDX-License-Identifier: Apache-2.0

import Glibc
import Locks
import Testing

@testable import Cluster

@Suite("The relay where clients wait or are refused", .timeLimit(.minutes(3)))
struct RelayWaitTests {
    @Test("A client that waits for a leader is served by its own node where that begins to lead")
    func ownNode() throws {
        let network = MemoryNetwork()
        let node = try TestNode("a", carrier: network.carrier("a"))
        node.follow(nil)
        let client = try node.client()
        client.write("mine")
        #expect(waits { node.relay.connectionCounts.clients == 1 })
        let daemon = TestDaemon.echo()
        node.relay.lead(adopt: daemon.adopt)
        #expect(client.read(exactly: 4) == Array("mine".utf8))
        #expect(daemon.peers.map(\.node) == ["a"])
        #expect(waits { node.relay.connectionCounts == (0, 0) })
    }

    @Test("Where nobody leads in time each line is answered, and the connection closed")
    func leaderless() throws {
        let network = MemoryNetwork()
        let limits = RelayLimits.short { $0.leaderWait = .seconds(2) }
        let node = try TestNode("a", carrier: network.carrier("a"), limits: limits)
        network.connect("a")
        node.follow(nil)
        let clients = try (0..<3).map { _ in try node.client() }
        clients[0].write("one\ntwo\n")
        clients[1].write("part")
        #expect(clients[0].readAllText() == "refused 'one': noLeader\nrefused 'two': noLeader\n")
        #expect(clients[1].readAllText() == "refused 'part': noLeader\n")
        #expect(clients[2].readAllText() == "refused '': noLeader\n")
        #expect(waits { node.relay.connectionCounts == (0, 0) })
    }

    @Test("A client that waits is relayed as soon as somebody leads")
    func leaderComes() throws {
        let cluster = try MemoryCluster()
        cluster.follower.follow(nil)
        let client = try cluster.follower.client()
        client.write("x")
        #expect(waits { cluster.follower.relay.connectionCounts.clients == 1 })
        cluster.follower.follow("b")
        #expect(client.read(exactly: 1) == Array("x".utf8))
    }

    @Test("A node that does not take connections is named to who has waited for it")
    func notLeading() throws {
        let network = MemoryNetwork()
        let limits = RelayLimits.short { $0.leaderWait = .seconds(2) }
        let node = try TestNode("a", carrier: network.carrier("a"), limits: limits)
        let other = try TestNode("b", carrier: network.carrier("b"), limits: limits)
        network.connect("a")
        network.connect("b")
        other.follow("a")
        node.follow("b")
        let client = try node.client()
        client.write("x\n")
        let reason = "node 'b' does not know this link"
        #expect(
            client.readAllText()
                == "refused 'x': \(RelayRefusal.leaderAway(node: "b", reason: reason))\n"
        )
    }

    @Test("With PostgreSQL away what was relayed is closed, and who comes waits, then hears why")
    func carrierAway() throws {
        let limits = RelayLimits.short { $0.leaderWait = .seconds(3) }
        let cluster = try MemoryCluster(limits: limits)
        let client = try cluster.follower.client()
        client.write([1])
        #expect(client.read(exactly: 1) == [1])
        cluster.network.breakSession(of: "a")
        #expect(client.readAll() == [])
        let second = try cluster.follower.client()
        second.write("x\n")
        #expect(
            second.readAllText()
                == "refused 'x': \(RelayRefusal.carrierAway("the server has gone"))\n"
        )
        let third = try cluster.follower.client()
        third.write("y\n")
        #expect(waits { cluster.follower.relay.connectionCounts.clients == 1 })
        cluster.network.connect("a")
        #expect(third.read(exactly: 2) == Array("y\n".utf8))
        #expect(waits { cluster.daemon.served == 1 })
    }

    @Test("More clients than there may be are told so, and the others stay")
    func limits() throws {
        let limits = RelayLimits.short {
            $0.maxConnections = 3
            $0.maxConnectionsPerUser = 3
        }
        let cluster = try MemoryCluster(limits: limits)
        let clients = try (0..<3).map { _ in try cluster.follower.client() }
        for client in clients {
            client.write([1])
            #expect(client.read(exactly: 1) == [1])
        }
        let refused = try cluster.follower.client()
        let refusal = "\(RelayRefusal.tooManyConnections(limit: 3))"
        #expect(refused.readAllText()?.hasSuffix("\(refusal)\n") == true)
        clients[0].end()
        #expect(waits { cluster.follower.relay.connectionCounts.clients == 2 })
        let next = try cluster.follower.client()
        next.write([4])
        #expect(next.read(exactly: 1) == [4])
    }

    @Test("Other limits count from the next client on, and those beyond them stay")
    func otherLimits() throws {
        let cluster = try MemoryCluster(limits: RelayLimits.short { $0.maxConnections = 5 })
        let clients = try (0..<2).map { _ in try cluster.follower.client() }
        /// What comes back has gone through the relay's thread behind what that was told before.
        func echo() {
            for client in clients {
                client.write([1])
                #expect(client.read(exactly: 1) == [1])
            }
        }
        echo()
        cluster.follower.relay.limitClients(all: 1, ofUser: 1)
        echo()
        let refused = try cluster.follower.client()
        let refusal = "\(RelayRefusal.tooManyConnections(limit: 1))"
        #expect(refused.readAllText()?.hasSuffix("\(refusal)\n") == true)
        cluster.follower.relay.limitClients(all: 9, ofUser: 9)
        echo()
        let next = try cluster.follower.client()
        next.write([4])
        #expect(next.read(exactly: 1) == [4])
    }

    @Test("The node that leads takes no more of other nodes than it may")
    func limitHere() throws {
        let cluster = try MemoryCluster(limits: RelayLimits.short { $0.maxRelayedHere = 1 })
        let first = try cluster.follower.client()
        first.write([1])
        #expect(first.read(exactly: 1) == [1])
        let second = try cluster.follower.client()
        second.write("x\n")
        let reason = "node 'b' has its most connections of others, 1"
        let refusal = "\(RelayRefusal.leaderAway(node: "b", reason: reason))"
        // It may come before the line has.
        #expect(second.readAllText()?.hasSuffix("': \(refusal)\n") == true)
    }

    @Test("A user database that fails, or does not answer, is told")
    func names() throws {
        let network = MemoryNetwork()
        let limits = RelayLimits.short { $0.leaderWait = .seconds(2) }
        let gate = Locked(true)
        let node = try TestNode("a", carrier: network.carrier("a"), limits: limits) { _ in
            if gate.withLock({ $0 }) { throw TestFailure("no network") }
            _ = waits { gate.withLock { $0 } }
            return nil
        }
        node.follow(nil)
        let uid = getuid()
        let failed = try node.client()
        failed.write("x\n")
        let refusal = RelayRefusal.unknownUser(uid: uid, reason: "no network")
        #expect(failed.readAllText()?.hasSuffix("\(refusal)\n") == true)
        gate.withLock { $0 = false }
        let slow = try node.client()
        let reason = "the user database does not answer"
        let silence = RelayRefusal.unknownUser(uid: uid, reason: reason)
        #expect(slow.readAllText()?.hasSuffix("\(silence)\n") == true)
        gate.withLock { $0 = true }
    }

    @Test("Stopping closes all, and answers who waits")
    func stop() throws {
        let cluster = try MemoryCluster()
        let client = try cluster.follower.client()
        client.write([1])
        #expect(client.read(exactly: 1) == [1])
        cluster.network.keep()
        let waiting = try cluster.follower.client()
        waiting.write("x\n")
        #expect(waits { cluster.follower.relay.connectionCounts.clients == 2 })
        cluster.network.release()
        cluster.follower.relay.stop()
        #expect(client.readAll() == [])
        #expect(waiting.readAllText() != nil)
        #expect(waits { cluster.daemon.served >= 1 })
        cluster.follower.relay.stop()
    }
}
