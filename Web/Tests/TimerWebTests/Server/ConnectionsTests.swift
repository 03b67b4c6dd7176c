// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOEmbedded
import Testing

@testable import TimerWeb

/// Which connection goes where there are too many.
@Suite struct ConnectionsTests {
    private func connected(_ connections: Connections) throws -> EmbeddedChannel {
        let channel = EmbeddedChannel()
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 80)).wait()
        connections.open(channel)
        return channel
    }

    private func end(_ channel: EmbeddedChannel) {
        channel.close(promise: nil)
        channel.embeddedEventLoop.run()
    }

    @Test("At the limit the oldest that was not let in goes, and none that was")
    func oldest() throws {
        let connections = Connections(most: 3)
        let first = try connected(connections)
        connections.letIn(first)
        let strangers = try (0..<2).map { _ in try connected(connections) }
        #expect(strangers.filter { !$0.isActive }.isEmpty)
        let third = try connected(connections)
        #expect(first.isActive && !strangers[0].isActive && strangers[1].isActive)
        strangers[0].embeddedEventLoop.run()
        // Who goes by itself makes room.
        end(third)
        let fourth = try connected(connections)
        #expect(strangers[1].isActive && fourth.isActive)
        connections.letIn(strangers[1])
        connections.letIn(fourth)
        // Of those that were let in none goes for another.
        let last = try connected(connections)
        #expect([first, strangers[1], fourth, last].filter { !$0.isActive }.isEmpty)
    }
}
