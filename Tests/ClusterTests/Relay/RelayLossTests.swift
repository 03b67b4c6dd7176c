// SPDX-License-Identifier: Apache-2.0

import Glibc
import Locks
import TestRandom
import Testing

@testable import Cluster

@Suite("The relay where messages are lost or the leader changes", .timeLimit(.minutes(3)))
struct RelayLossTests {
    @Test(
        "After a lost message all is closed on both sides, and what had arrived has no gap",
        arguments: 1...12
    )
    func lost(at place: Int) throws {
        let cluster = try MemoryCluster(limits: .short())
        let clients = try (0..<5).map { _ in try cluster.follower.client() }
        for client in clients {
            client.write([7])
            #expect(client.read(exactly: 1) == [7])
        }
        let seen = Locked(0)
        // Of one direction or the other.
        let direction = place % 2 == 0 ? "a" : "b"
        cluster.network.lose { _, node in
            guard node == direction else { return false }
            return seen.withLock { seen in
                seen += 1
                return seen == place * 3
            }
        }
        let bytes = pattern(2_000_000)
        let writers = try clients.map { client in try TestThread { client.write(bytes) } }
        let readers = try clients.map { client in try TestThread { client.readAll() } }
        for reader in readers {
            let echoed = try #require(reader.wait())
            #expect(echoed.count < bytes.count)
            #expect(echoed.elementsEqual(bytes.prefix(echoed.count)))
        }
        for writer in writers { #expect(!writer.wait()) }
        #expect(cluster.network.lost == 1)
        #expect(waits { cluster.daemon.served == 5 })
        #expect(waits { cluster.leader.relay.connectionCounts == (0, 0) })
        // A new connection goes over a new link.
        let client = try cluster.follower.client()
        client.write([8])
        #expect(client.read(exactly: 1) == [8])
    }

    @Test("A loss that nothing follows is found by the next sign of life", arguments: ["a", "b"])
    func lostTail(receiver: String) throws {
        let cluster = try MemoryCluster(limits: .short())
        let client = try cluster.follower.client()
        client.write([1])
        #expect(client.read(exactly: 1) == [1])
        let hasLost = Locked(false)
        cluster.network.lose { message, node in
            hasLost.withLock { hasLost in
                guard !hasLost, node == receiver, !message.frames.isEmpty else { return false }
                hasLost = true
                return true
            }
        }
        client.write([2])
        #expect(client.readAll() == [])
        #expect(waits { cluster.daemon.served == 1 })
    }

    @Test("A node that is silent is given up, by both sides")
    func silence() throws {
        let cluster = try MemoryCluster(limits: .short { $0.silence = .seconds(2) })
        let client = try cluster.follower.servedClient()
        cluster.network.lose { _, _ in true }
        #expect(client.readAll() == [])
        #expect(waits { cluster.daemon.served == cluster.daemon.peers.count })
        let reason = "node 'b' has been silent"
        let report = RelayNews.linkClosed(node: "b", reason: reason, connections: 1)
        #expect(waits { cluster.follower.reports.contains(report) })
    }

    @Test("Idle connections stay as long as both nodes are there")
    func idle() throws {
        // A node that gets no processor for as long is silent indeed; not each time.
        #expect(try (1...5).contains { _ in try staysIdle() })
    }

    /// Whether an idle connection is there after more than twice the time after which silence ends it.
    private func staysIdle() throws -> Bool {
        let cluster = try MemoryCluster(limits: .short { $0.silence = .seconds(3) })
        let client = try cluster.follower.servedClient()
        let pings = Locked(0)
        cluster.network.lose { message, _ in
            if message.frames.isEmpty { pings.withLock { $0 += 1 } }
            return false
        }
        // Of both; there are none after an end.
        _ = waits {
            cluster.follower.relay.connectionCounts == (0, 0) || pings.withLock { $0 } >= 140
        }
        client.write([2])
        return client.read(exactly: 1) == [2]
    }

    @Test("Another node that leads: what was relayed is closed, what is new goes there")
    func leaderChanges() throws {
        let cluster = try MemoryCluster(limits: .short())
        let third = try TestNode("c", carrier: cluster.network.carrier("c"), limits: .short())
        cluster.network.connect("c")
        let daemon = TestDaemon.echo()
        let client = try cluster.follower.client()
        let bytes = pattern(4_000_000)
        let writer = try TestThread { client.write(bytes) }
        let start = try #require(client.read(exactly: 200_000))
        // The node that follows knows it before the one that leads does.
        cluster.follower.follow("c")
        let rest = try #require(client.readAll())
        let echoed = start + rest
        #expect(echoed.count < bytes.count)
        #expect(echoed.elementsEqual(bytes.prefix(echoed.count)))
        #expect(!writer.wait())
        let early = try cluster.follower.client()
        early.write("early")
        third.relay.lead(adopt: daemon.adopt)
        cluster.leader.follow("c")
        #expect(early.read(exactly: 5) == Array("early".utf8))
        #expect(waits { cluster.daemon.served == 1 })
        let other = try cluster.leader.client()
        other.write("other")
        #expect(other.read(exactly: 5) == Array("other".utf8))
        #expect(Set(daemon.peers.map(\.node)) == ["a", "b"])
    }

    @Test("A client whose connection was opened before the node that leads listened is served soon")
    func openedTooEarly() throws {
        let cluster = try MemoryCluster(
            limits: .short { limits in
                limits.pingInterval = .seconds(60)
                limits.silence = .seconds(60)
                limits.firstPingInterval = .milliseconds(20)
            }
        )
        cluster.network.breakSession(of: "b")
        cluster.network.lose { _, node in node == "b" }
        let client = try cluster.follower.client()
        client.write([1])
        #expect(waits { cluster.network.lost >= 3 })
        cluster.network.lose(nil)
        cluster.network.connect("b")
        #expect(client.read(exactly: 1) == [1])
    }

    @Test("Where the session of the node that leads breaks, all its connections are closed")
    func leaderCarrierBreaks() throws {
        // No sign of life has to come before, within 5 s.
        let cluster = try MemoryCluster(limits: RelayLimits())
        let client = try cluster.follower.client()
        client.write([1])
        #expect(client.read(exactly: 1) == [1])
        cluster.network.breakSession(of: "b")
        cluster.network.connect("b")
        #expect(waits { cluster.daemon.served == 1 })
        #expect(client.readAll() == [])
        let next = try cluster.follower.client()
        next.write([2])
        #expect(next.read(exactly: 1) == [2])
    }

    @Test("Messages of a link that is over change nothing")
    func lateMessages() throws {
        let cluster = try MemoryCluster(limits: .short())
        let client = try cluster.follower.client()
        client.write([1])
        #expect(client.read(exactly: 1) == [1])
        let old = cluster.network.state.withLock { $0.messages }
        cluster.follower.follow(nil)
        #expect(client.readAll() == [])
        cluster.follower.follow("b")
        let next = try cluster.follower.client()
        next.write([2])
        #expect(next.read(exactly: 1) == [2])
        for message in old {
            cluster.network.send(message.payload, to: message.sender == "a" ? "b" : "a")
        }
        next.write([3])
        #expect(next.read(exactly: 1) == [3])
        #expect(cluster.daemon.peers.count == 2)
    }

    @Test("What is no message, or breaks the rules, ends at most the link that it names")
    func nonsense() throws {
        let cluster = try MemoryCluster(limits: .short())
        let client = try cluster.follower.client()
        client.write([1])
        #expect(client.read(exactly: 1) == [1])
        let frames: [[NodeFrame]] = [
            [.data(connection: 1, [1])], [.reset(reason: "x")],
            [.open(connection: 1, uid: 0, user: nil), .open(connection: 1, uid: 0, user: nil)],
            [.open(connection: 1, uid: 0, user: nil), .taken(connection: 1, count: 9)],
            [
                .open(connection: 1, uid: 0, user: nil), .finished(connection: 1),
                .data(connection: 1, [1]),
            ],
        ]
        for (index, frames) in frames.enumerated() {
            for number: UInt64 in 0...2 {
                for node in ["a", "b"] {
                    let link = UInt64(index)
                    let message = NodeMessage(
                        sender: "x",
                        link: link,
                        number: number,
                        frames: frames
                    )
                    cluster.network.send(message.payload, to: node)
                }
            }
        }
        cluster.network.send("no message", to: "b")
        cluster.network.send("", to: "a")
        client.write([2])
        #expect(client.read(exactly: 1) == [2])
        let report = RelayNews.payloadIgnored(reason: "it is not base64 as nodes write it")
        #expect(waits { cluster.leader.reports.contains(report) })
    }

    @Test("A second node of one name hears what is for the first, and has no link of that dropped")
    func twin() throws {
        let cluster = try MemoryCluster()
        // Not in the network, which has one of a name: it hears the same, and may send.
        let carrier = MemoryCarrier(network: cluster.network)
        let twin = try TestNode("b", carrier: carrier)
        carrier.isConnected.withLock { $0 = true }
        carrier.tell(.connected)
        twin.follow(nil)
        cluster.network.lose { message, node in
            if node == "b" { carrier.tell(.received(message.payload)) }
            return false
        }
        let client = try cluster.follower.client()
        for byte: UInt8 in 1...3 {
            client.write([byte])
            #expect(client.read(exactly: 1) == [byte])
        }
        cluster.network.lose(nil)
        // Once it has ended it has answered all that it heard.
        twin.relay.stop()
        let resets = cluster.network.state.withLock { $0.messages.filter { $0.number == 0 } }
        #expect(resets.isEmpty, "\(resets)")
        client.write([4])
        #expect(client.read(exactly: 1) == [4])
        #expect(cluster.daemon.peers.count == 1)
    }

    @Test(
        "Where a second node of one name still takes part, the first hears that its link was dropped, and begins anew",
        arguments: [false, true]
    )
    func twinThatTakesPart(beginsOne: Bool) throws {
        // Nothing else is to show it.
        let cluster = try MemoryCluster(
            limits: .short { ($0.pingInterval, $0.silence) = (.seconds(3600), .seconds(3600)) }
        )
        let carrier = MemoryCarrier(network: cluster.network)
        let twin = try TestNode("a", carrier: carrier)
        carrier.isConnected.withLock { $0 = true }
        carrier.tell(.connected)
        twin.follow("b")
        let client = try cluster.follower.client()
        client.write([1])
        #expect(client.read(exactly: 1) == [1])
        let other = beginsOne ? try twin.client() : nil
        if let other {
            other.write([1])
        } else {
            cluster.network.lose { message, node in
                if node == "a", message.number > 0 { carrier.tell(.received(message.payload)) }
                return false
            }
            client.write([2])
        }
        #expect(client.readAll() != nil, "it ends")
        other?.end()
        twin.relay.stop()
        cluster.network.lose(nil)
        let next = try cluster.follower.client()
        next.write([3])
        #expect(next.read(exactly: 1) == [3])
    }

    @Test("A link whose numbers for connections are used up is followed by another")
    func numbersUsedUp() throws {
        let cluster = try MemoryCluster(limits: .short { $0.connectionsPerLink = 2 })
        var clients: [TestEnd] = []
        for byte: UInt8 in 1...3 {
            let client = try cluster.follower.client()
            client.write([byte])
            #expect(client.read(exactly: 1) == [byte])
            clients.append(client)
        }
        // What it carried is closed, as at any end of a link.
        for client in clients.prefix(2) { #expect(client.readAll() == []) }
        #expect(cluster.daemon.peers.count == 3)
        let reason = "it has numbers for no more connections"
        let report = RelayNews.linkClosed(node: "b", reason: reason, connections: 2)
        #expect(waits { cluster.follower.reports.contains(report) })
    }

    @Test("Under random losses and breaks nobody hangs, and nobody gets a wrong byte")
    func random() throws {
        let cluster = try MemoryCluster(limits: .short())
        let random = Locked(SplitMix(seed: 7))
        cluster.network.lose { _, _ in random.withLock { $0.isTrue(0.002) } }
        let bytes = pattern(400_000)
        let threads = try (0..<8).map { _ in
            try TestThread {
                var whole = 0
                for _ in 0..<6 {
                    guard let client = try? cluster.follower.client() else { return -1 }
                    // try?: without a thread nothing is written, and the echo is short.
                    _ = try? TestThread {
                        client.write(bytes)
                        client.finish()
                        return true
                    }
                    guard let echoed = client.readAll() else { return -1 }
                    guard echoed.elementsEqual(bytes.prefix(echoed.count)) else { return -2 }
                    if echoed.count == bytes.count { whole += 1 }
                }
                return whole
            }
        }
        for round in 0..<5 {
            usleep(50_000)
            cluster.network.breakSession(of: round % 2 == 0 ? "a" : "b")
            cluster.network.connect(round % 2 == 0 ? "a" : "b")
        }
        for thread in threads { #expect(thread.wait() >= 0) }
        cluster.network.lose(nil)
        let client = try cluster.follower.client()
        client.write([5])
        #expect(client.read(exactly: 1) == [5])
        #expect(waits { cluster.follower.relay.connectionCounts.clients == 1 })
        #expect(waits { cluster.leader.relay.connectionCounts == (0, 1) })
    }
}
