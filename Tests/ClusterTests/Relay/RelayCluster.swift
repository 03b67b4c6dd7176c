// SPDX-License-Identifier: Apache-2.0

import Locks

@testable import Cluster

/// A node of a test: its relay, and the socket that its clients connect to.
final class TestNode: Sendable {
    let relay: Relay
    let listener: TestListener
    private let box = NewsBox()

    init(
        _ name: String,
        carrier: any NodeCarrier,
        limits: RelayLimits = RelayLimits(),
        userName: @escaping @Sendable (UInt32) throws -> String? = { "user\($0)" }
    ) throws {
        listener = try TestListener()
        relay = try Relay(
            node: name,
            carrier: carrier,
            limits: limits,
            Relay.Surroundings(
                refuse: { line, refusal in
                    Array("refused '\(String(decoding: line, as: UTF8.self))': \(refusal)\n".utf8)
                },
                report: { [box] in box.add($0) },
                userName: userName
            )
        )
    }

    deinit { relay.stop() }

    var reports: [RelayNews] { box.all }

    func follow(_ leader: String?) {
        relay.follow(leader: leader, listener: listener.descriptor)
    }

    func client() throws -> TestEnd { try TestEnd(connectedTo: listener.path) }

    /// A client that an echo has answered, for nodes that may be silent for a short time alone.
    ///
    /// On a busy machine a link may be given up, with right, before it has carried the first byte.
    func servedClient() throws -> TestEnd {
        for _ in 0..<100 {
            let client = try client()
            client.write([1])
            if client.read(exactly: 1) == [1] { return client }
        }
        throw TestFailure("no client is served")
    }
}

final class NewsBox: Sendable {
    private let news = Locked([RelayNews]())

    func add(_ one: RelayNews) { news.withLock { $0.append(one) } }

    var all: [RelayNews] { news.withLock { $0 } }
}

/// Two nodes, of which 'b' leads, with carriers in memory.
struct MemoryCluster {
    let network = MemoryNetwork()
    let follower: TestNode
    let leader: TestNode
    let followerCarrier: MemoryCarrier
    let daemon: TestDaemon

    init(_ daemon: TestDaemon = .echo(), limits: RelayLimits = RelayLimits()) throws {
        self.daemon = daemon
        followerCarrier = network.carrier("a")
        follower = try TestNode("a", carrier: followerCarrier, limits: limits)
        leader = try TestNode("b", carrier: network.carrier("b"), limits: limits)
        network.connect("a")
        network.connect("b")
        leader.relay.lead(adopt: daemon.adopt)
        follower.follow("b")
    }
}

extension RelayLimits {
    /// With times that a test can wait for; nobody is silent for too long on a busy machine.
    static func short(_ change: (inout Self) -> Void = { _ in }) -> Self {
        var limits = Self()
        limits.pingInterval = .milliseconds(100)
        limits.silence = .seconds(20)
        limits.retryPause = .milliseconds(10)
        change(&limits)
        return limits
    }
}
