// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import Testing

@testable import TimerWeb

/// How long a request may take, on a clock of the test's.
@Suite struct RequestDeadlineTests {
    private func connected() throws -> EmbeddedChannel {
        let channel = EmbeddedChannel()
        let pipeline = channel.pipeline.syncOperations
        try pipeline.configureHTTPServerPipeline()
        try pipeline.addHandler(HTTP1ToHTTPServerCodec(secure: false))
        try pipeline.addHandler(RequestDeadline())
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 80)).wait()
        return channel
    }

    /// Sends one request whole, with the beginning of another, and answers it.
    private func exchange(_ channel: EmbeddedChannel, and next: String = "") throws {
        try channel.writeInbound(ByteBuffer(string: "GET / HTTP/1.1\r\nHost: x\r\n\r\n\(next)"))
        try answer(channel)
    }

    private func answer(_ channel: EmbeddedChannel) throws {
        let head = HTTPResponse(status: .ok, headerFields: [.contentLength: "0"])
        try channel.writeOutbound(HTTPResponsePart.head(head))
        try channel.writeOutbound(HTTPResponsePart.end(nil))
    }

    private func advance(_ channel: EmbeddedChannel, _ seconds: Int64) {
        channel.embeddedEventLoop.advanceTime(by: .seconds(seconds))
    }

    @Test("Who begins with nothing is let go")
    func silent() throws {
        let channel = try connected()
        advance(channel, 9)
        #expect(channel.isActive)
        advance(channel, 1)
        #expect(!channel.isActive)
    }

    @Test(
        "A head that is dripped has its time from the first byte on, also behind another request",
        arguments: [0, 1, 3]
    )
    func dripped(_ before: Int) throws {
        let channel = try connected()
        for _ in 0..<before {
            try exchange(channel)
            // Between two requests there is no such limit.
            advance(channel, 30)
            #expect(channel.isActive)
        }
        for letter in "GET / HTT" {
            #expect(channel.isActive)
            try channel.writeInbound(ByteBuffer(string: String(letter)))
            advance(channel, 1)
        }
        #expect(channel.isActive)
        try channel.writeInbound(ByteBuffer(string: "P"))
        advance(channel, 1)
        #expect(!channel.isActive)
    }

    @Test("What comes in the same bytes as the end of another request has its time from then on")
    func behind() throws {
        let channel = try connected()
        try exchange(channel, and: "G")
        advance(channel, 9)
        try channel.writeInbound(ByteBuffer(string: "ET / HTTP/1.1\r\nHost: x\r\n\r\n"))
        try answer(channel)
        // It had come whole: nothing is under way.
        advance(channel, 30)
        #expect(channel.isActive)
        try exchange(channel, and: "GET / HTT")
        advance(channel, 9)
        #expect(channel.isActive)
        advance(channel, 1)
        #expect(!channel.isActive)
    }

    @Test("A body has the time of its head")
    func body() throws {
        let channel = try connected()
        try exchange(channel)
        let head = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n"
        try channel.writeInbound(ByteBuffer(string: head))
        advance(channel, 6)
        try channel.writeInbound(ByteBuffer(string: "\r\nbody"))
        #expect(channel.isActive)
        advance(channel, 4)
        #expect(!channel.isActive)
    }
}
