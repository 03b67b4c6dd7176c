// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOEmbedded
import Testing

@testable import TimerWeb

/// How long a browser may take nothing of what is written, on a clock of the test's.
@Suite struct StallTests {
    /// With some bytes that the browser has not taken yet.
    private func connected(_ bytes: Int) throws -> EmbeddedChannel {
        let channel = EmbeddedChannel()
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 80)).wait()
        write(bytes, channel)
        return channel
    }

    /// They stay until they are flushed.
    private func write(_ bytes: Int, _ channel: EmbeddedChannel) {
        channel.write(ByteBuffer(repeating: 0, count: bytes), promise: nil)
    }

    private func advance(_ channel: EmbeddedChannel, _ seconds: Int64) {
        channel.embeddedEventLoop.advanceTime(by: .seconds(seconds))
    }

    @Test("A browser that takes nothing is let go")
    func nothing() throws {
        let channel = try connected(100)
        _ = channel.closingIfStalled()
        advance(channel, 30)
        #expect(channel.isActive)
        advance(channel, 1)
        #expect(!channel.isActive)
    }

    @Test("A browser that takes a little each time may take as long as it needs")
    func little() throws {
        let channel = try connected(100)
        _ = channel.closingIfStalled()
        for left in [90, 80, 70] {
            advance(channel, 25)
            #expect(channel.isActive)
            channel.flush()
            write(left, channel)
        }
        advance(channel, 100)
        #expect(!channel.isActive)
    }

    @Test("Whose answer is written nobody looks at any more")
    func cancelled() throws {
        let channel = try connected(100)
        channel.closingIfStalled().cancel()
        advance(channel, 100)
        #expect(channel.isActive)
    }
}
