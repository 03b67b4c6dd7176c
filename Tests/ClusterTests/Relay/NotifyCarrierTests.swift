// SPDX-License-Identifier: Apache-2.0

import Glibc
import Locks
import Postgres
import TestPostgres
import Testing

@testable import Cluster

/// Two nodes, of which 'b' leads, on a PostgreSQL of their own.
private struct PostgresCluster {
    let server: PostgresServer
    let follower: TestNode
    let leader: TestNode
    let daemon = TestDaemon.echo()

    init(silence: Duration = .seconds(20)) throws {
        server = try PostgresServer()
        var limits = RelayLimits()
        limits.pingInterval = .milliseconds(200)
        limits.silence = silence
        let address = try PostgresAddress(server.address)
        func node(_ name: String) throws -> TestNode {
            let carrier = try NotifyCarrier(node: name, secret: "secret", address: address)
            return try TestNode(name, carrier: carrier, limits: limits)
        }
        follower = try node("a")
        leader = try node("b")
        leader.relay.lead(adopt: daemon.adopt)
        follower.follow("b")
    }
}

@Suite(
    "The relay through PostgreSQL",
    .enabled(if: PostgresServer.isInstalled),
    .timeLimit(.minutes(3))
)
struct NotifyCarrierTests {
    @Test("A channel's name is one that PostgreSQL takes, and another with another node or secret")
    func channels() {
        let names = [("a", ""), ("b", ""), ("a", "x"), ("b", "x"), ("a", "y"), ("é", "'\"; x")]
            .map { NodeChannel.name(of: $0.0, secret: $0.1) }
        #expect(Set(names).count == names.count)
        for name in names {
            #expect(name.utf8.count <= 63)
            #expect(name.allSatisfy { $0.isLowercase || $0.isNumber || $0 == "_" })
        }
        #expect(names[0] == "timerd_af63dc4c8601ec8c")
    }

    @Test("Clients are relayed, each with its own bytes, large ones too")
    func clients() throws {
        let cluster = try PostgresCluster()
        let clients = try (0..<50).map { _ in try cluster.follower.client() }
        for (index, client) in clients.enumerated() {
            client.write(pattern(1000, seed: UInt64(index)))
        }
        for (index, client) in clients.enumerated() {
            #expect(client.read(exactly: 1000) == pattern(1000, seed: UInt64(index)))
        }
        let bytes = pattern(3_000_000)
        let writer = try TestThread {
            defer { clients[0].finish() }
            return clients[0].write(bytes)
        }
        #expect(clients[0].readAll() == bytes)
        #expect(writer.wait())
        for client in clients { client.end() }
        #expect(waits { cluster.daemon.served == 50 })
        #expect(waits { cluster.leader.relay.connectionCounts == (0, 0) })
    }

    @Test("With the server killed all is closed, and who comes is served once it is back")
    func killed() throws {
        let cluster = try PostgresCluster()
        let client = try cluster.follower.client()
        client.write([1])
        #expect(client.read(exactly: 1) == [1])
        cluster.server.kill()
        #expect(client.readAll() == [])
        #expect(waits { cluster.daemon.served == 1 })
        let waiting = try cluster.follower.client()
        waiting.write([2])
        try cluster.server.start()
        #expect(waiting.read(exactly: 1) == [2])
        #expect(cluster.daemon.peers.count >= 2)
        // Once at first, and once again.
        #expect(cluster.follower.reports.filter { $0 == .carrierConnected }.count == 2)
    }

    @Test("With one node's session ended in the middle nobody gets a wrong byte, and all goes on")
    func sessionEnded() throws {
        let cluster = try PostgresCluster()
        let client = try cluster.follower.client()
        let bytes = pattern(20_000_000)
        let writer = try TestThread { client.write(bytes) }
        let start = try #require(client.read(exactly: 100_000))
        let address = try PostgresAddress(cluster.server.address)
        let other = try PostgresConnection(address, application: "test", within: .patient)
        _ = try other.execute(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE application_name LIKE 'timerd relay %' ORDER BY pid LIMIT 1
            """,
            [],
            within: .patient
        )
        let echoed = try start + #require(client.readAll())
        #expect(echoed.count < bytes.count)
        #expect(echoed.elementsEqual(bytes.prefix(echoed.count)))
        #expect(!writer.wait())
        let next = try cluster.follower.client()
        next.write([2])
        #expect(next.read(exactly: 1) == [2])
    }

    @Test("One that can send nothing does not count as connected, and does once it can")
    func mute() throws {
        let server = try PostgresServer()
        let own = try PostgresAddress(server.address)
        let admin = try PostgresConnection(own, application: "test", within: .patient)
        func run(_ sql: String) throws { _ = try admin.execute(sql, [], within: .patient) }
        try run("CREATE ROLE mute LOGIN")
        try run("REVOKE EXECUTE ON FUNCTION pg_notify(text, text) FROM PUBLIC")
        let address = try PostgresAddress(server.address(user: "mute", database: "postgres"))
        let carrier = try NotifyCarrier(node: "a", secret: "secret", address: address)
        let connected = Locked(0)
        let broken = Locked(0)
        try carrier.start { event in
            if case .connected = event { connected.withLock { $0 += 1 } }
            if case .broken = event { broken.withLock { $0 += 1 } }
        }
        #expect(waits { broken.withLock { $0 } >= 3 })
        #expect(connected.withLock { $0 } == 0)
        try run("GRANT EXECUTE ON FUNCTION pg_notify(text, text) TO PUBLIC")
        #expect(waits { connected.withLock { $0 } == 1 })
        carrier.stop()
    }

    @Test("A connection that died without a word is given up by who only listens")
    func deaf() throws {
        let server = try PostgresServer()
        let address = try PostgresAddress(server.address)
        let admin = try PostgresConnection(address, application: "test", within: .patient)
        let carrier = try NotifyCarrier(
            node: "a",
            secret: "secret",
            address: address,
            idle: .milliseconds(100)
        )
        let connected = Locked(0)
        let broken = Locked(0)
        try carrier.start { event in
            if case .connected = event { connected.withLock { $0 += 1 } }
            if case .broken = event { broken.withLock { $0 += 1 } }
        }
        #expect(waits { connected.withLock { $0 } == 1 })
        let rows = try admin.execute(
            "SELECT pid::bigint FROM pg_stat_activity WHERE application_name = 'timerd relay a'",
            [],
            within: .patient
        )
        let process = try pid_t(#require(rows.integer(0, 0)))
        // Its own kernel answers, its own process does not, as a pooler's whose server is gone.
        kill(process, SIGSTOP)
        #expect(waits { broken.withLock { $0 } >= 1 })
        // It may hold what others wait for.
        kill(process, SIGCONT)
        #expect(waits { connected.withLock { $0 } >= 2 })
        carrier.stop()
    }

    @Test("A server that stands still is given up in time, and used again when it goes on")
    func paused() throws {
        let cluster = try PostgresCluster(silence: .seconds(2))
        let client = try cluster.follower.servedClient()
        cluster.server.pause()
        #expect(client.readAll() == [])
        cluster.server.resume()
        _ = try cluster.follower.servedClient()
    }
}
