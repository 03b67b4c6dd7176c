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
        #expect(connections.letIn(first))
        let strangers = try (0..<2).map { _ in try connected(connections) }
        #expect(strangers.filter { !$0.isActive }.isEmpty)
        let third = try connected(connections)
        #expect(first.isActive && !strangers[0].isActive && strangers[1].isActive)
        strangers[0].embeddedEventLoop.run()
        // Who goes by itself makes room.
        end(third)
        let fourth = try connected(connections)
        #expect(strangers[1].isActive && fourth.isActive)
        #expect(connections.letIn(strangers[1]))
        #expect(connections.letIn(fourth))
        // Of those that were let in none goes for another.
        let last = try connected(connections)
        #expect([first, strangers[1], fourth, last].filter { !$0.isActive }.isEmpty)
    }

    @Test("One that goes for another is not let in any more, and keeps no place once it is closed")
    func leaving() throws {
        let connections = Connections(most: 1)
        let first = try connected(connections)
        let second = try connected(connections)
        // What it had sent before it was told to go may be read only now.
        #expect(!connections.letIn(first))
        first.embeddedEventLoop.run()
        #expect(connections.letIn(second))
        #expect(second.isActive)
    }
}
