// SPDX-License-Identifier: Apache-2.0

import Glibc
import Locks
import TestRandom
import Testing

@testable import Cluster

/// Bytes that tell where one is missing or doubled.
func pattern(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    var random = SplitMix(seed: seed)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + 8)
    while bytes.count < count {
        withUnsafeBytes(of: random.next()) { bytes.append(contentsOf: $0) }
    }
    return Array(bytes[..<count])
}

@Suite("The relay between two nodes", .timeLimit(.minutes(3)))
struct RelayTests {
    @Test("A client's line reaches the daemon of the node that leads, and the answer comes back")
    func line() throws {
        let cluster = try MemoryCluster()
        let client = try cluster.follower.client()
        client.write("hello\n")
        #expect(client.read(exactly: 6) == Array("hello\n".utf8))
        client.write("again\n")
        #expect(client.read(exactly: 6) == Array("again\n".utf8))
        let uid = getuid()
        #expect(
            cluster.daemon.peers == [RelayedPeer(node: "a", userName: "user\(uid)", uid: uid)]
        )
        #expect(cluster.daemon.peers.first?.isRoot == (uid == 0))
        #expect(waits { cluster.follower.relay.connectionCounts == (1, 0) })
        #expect(waits { cluster.leader.relay.connectionCounts == (0, 1) })
    }

    @Test("Two hundred clients at once each get their own bytes")
    func many() throws {
        let cluster = try MemoryCluster()
        let clients = try (0..<200).map { _ in try cluster.follower.client() }
        for (index, client) in clients.enumerated() {
            client.write(pattern(1000, seed: UInt64(index)))
        }
        for (index, client) in clients.enumerated() {
            #expect(client.read(exactly: 1000) == pattern(1000, seed: UInt64(index)))
        }
        for client in clients { client.end() }
        #expect(waits { cluster.daemon.served == 200 })
        #expect(waits { cluster.follower.relay.connectionCounts == (0, 0) })
        #expect(waits { cluster.leader.relay.connectionCounts == (0, 0) })
    }

    @Test("Ten megabytes go through one connection in both directions, never much of it on the way")
    func large() throws {
        let cluster = try MemoryCluster()
        let client = try cluster.follower.client()
        let bytes = pattern(10_000_000)
        let writer = try TestThread {
            let isWritten = client.write(bytes)
            client.finish()
            return isWritten
        }
        let echoed = client.readAll()
        #expect(writer.wait())
        #expect(echoed == bytes)
        #expect(!cluster.network.isOverdrawn)
        #expect(cluster.network.mostCredit <= RelayedStream.most)
        #expect(waits { cluster.daemon.served == 1 })
    }

    @Test("A client that takes nothing holds up neither memory nor others")
    func slow() throws {
        let bytes = pattern(3_000_000)
        let cluster = try MemoryCluster(
            TestDaemon { end in
                guard end.read(exactly: 1) == [1] else { return }
                end.write(bytes)
            }
        )
        let slow = try cluster.follower.client()
        slow.write([1])
        #expect(waits { cluster.network.isSpent })
        let quick = try cluster.follower.client()
        quick.write([1])
        #expect(quick.readAll() == bytes)
        #expect(slow.readAll() == bytes)
        #expect(!cluster.network.isOverdrawn)
    }

    @Test(
        "What a user's connections may have on their way is bounded for all of them, however fast each was read"
    )
    func bounded() throws {
        let bytes = pattern(1_000_000)
        var limits = RelayLimits()
        limits.maxGrownPerUser = 100_000
        let cluster = try MemoryCluster(
            TestDaemon { end in
                while end.read(exactly: 1) == [1] { end.write(bytes) }
            },
            limits: limits
        )
        let clients = try (0..<8).map { _ in try cluster.follower.client() }
        for _ in 0..<2 {
            for client in clients {
                client.write([1])
                #expect(client.read(exactly: bytes.count) == bytes)
            }
        }
        #expect(!cluster.network.isOverdrawn)
        // In both directions.
        let least = 2 * clients.count * RelayedStream.least
        #expect(cluster.network.mostCreditOfAll > least)
        #expect(cluster.network.mostCreditOfAll <= least + limits.maxGrownPerUser)
    }

    @Test("A client that has said that it sends no more gets its answer")
    func halfCloseOfClient() throws {
        let cluster = try MemoryCluster(
            TestDaemon { end in
                guard let request = end.readAll() else { return }
                end.write(request.reversed())
            }
        )
        let client = try cluster.follower.client()
        client.write([1, 2, 3])
        client.finish()
        #expect(client.readAll() == [3, 2, 1])
    }

    @Test("A daemon that has said that it sends no more still gets what the client sends")
    func halfCloseOfDaemon() throws {
        let received = Locked([UInt8]?.none)
        let cluster = try MemoryCluster(
            TestDaemon { end in
                end.write([9])
                end.finish()
                let bytes = end.readAll()
                received.withLock { $0 = bytes }
            }
        )
        let client = try cluster.follower.client()
        #expect(client.readAll() == [9])
        let bytes = pattern(500_000)
        #expect(client.write(bytes))
        client.end()
        #expect(waits { cluster.daemon.served == 1 })
        #expect(received.withLock { $0 } == bytes)
    }

    @Test("What a client has sent before it went away reaches the daemon", arguments: [1, 100_000])
    func clientVanishes(count: Int) throws {
        let received = Locked([UInt8]?.none)
        let cluster = try MemoryCluster(
            TestDaemon { end in
                let bytes = end.readAll()
                received.withLock { $0 = bytes }
            }
        )
        let client = try cluster.follower.client()
        #expect(client.write(pattern(count)))
        client.end()
        #expect(waits { cluster.daemon.served == 1 })
        #expect(received.withLock { $0 } == pattern(count))
        #expect(waits { cluster.follower.relay.connectionCounts == (0, 0) })
        #expect(waits { cluster.leader.relay.connectionCounts == (0, 0) })
    }

    @Test("A client that goes away while it is sent something ends the daemon's connection")
    func clientVanishesWhileReading() throws {
        let cluster = try MemoryCluster(
            TestDaemon { end in while end.write(pattern(10_000)) {} }
        )
        let client = try cluster.follower.client()
        #expect(client.read(exactly: 100_000) != nil)
        client.end()
        #expect(waits { cluster.daemon.served == 1 })
        #expect(waits { cluster.leader.relay.connectionCounts == (0, 0) })
    }

    @Test("Where the daemon closes a connection the client gets all that it has written before")
    func daemonVanishes() throws {
        let bytes = pattern(300_000)
        let cluster = try MemoryCluster(TestDaemon { end in end.write(bytes) })
        let client = try cluster.follower.client()
        #expect(client.readAll() == bytes)
        #expect(waits { cluster.follower.relay.connectionCounts == (0, 0) })
    }

    @Test("While much waits for PostgreSQL, a user adds no more than his share until that is sent")
    func share() throws {
        let cluster = try MemoryCluster()
        let client = try cluster.follower.client()
        client.write([1])
        #expect(client.read(exactly: 1) == [1])
        cluster.followerCarrier.pretendedUnsent.withLock { $0 = NotifyCarrier.much }
        let bytes = pattern(1_000_000)
        let writer = try TestThread { client.write(bytes) }
        let share = RelayLimits().maxUnsentPerUser
        var echoed: [UInt8] = []
        var rounds = 1
        while echoed.count < bytes.count {
            // The first byte was of the first share.
            let most = min(bytes.count - echoed.count, share - 1)
            let next = try #require(client.read(exactly: most))
            echoed += next
            let sent = cluster.network.bytes(to: "b")
            #expect(sent <= 1 + rounds * (share + RelayEngine.mostPerRead))
            rounds += 1
            cluster.followerCarrier.tell(.drained)
        }
        #expect(writer.wait())
        #expect(echoed == bytes)
    }

    @Test("Nobody is read while the carrier is full, and all go on once it is not")
    func fullCarrier() throws {
        let cluster = try MemoryCluster()
        let client = try cluster.follower.client()
        client.write("a")
        #expect(client.read(exactly: 1) == Array("a".utf8))
        cluster.followerCarrier.pretendedUnsent.withLock { $0 = 2 << 20 }
        client.write("b")
        let other = try cluster.follower.client()
        other.write("c")
        // Both are opened, and neither is read: the daemon has the one byte from before.
        #expect(waits { cluster.daemon.peers.count == 2 })
        cluster.followerCarrier.pretendedUnsent.withLock { $0 = 0 }
        cluster.followerCarrier.tell(.drained)
        #expect(client.read(exactly: 1) == Array("b".utf8))
        #expect(other.read(exactly: 1) == Array("c".utf8))
    }
}
