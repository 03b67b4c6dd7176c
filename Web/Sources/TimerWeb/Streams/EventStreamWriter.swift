// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import HummingbirdCore
import NIOCore
import NIOHTTPTypes
import ServiceLifecycle

/// Server-sent events to one browser.
///
/// What it does not take waits where it comes from: here there is one message at a time. One that takes nothing
/// for a while is cut, and begins anew by itself where it was.
// Unchecked: the one writer there is holds a Sendable channel writer; its protocol does not say so. One task uses it
// at a time.
struct EventStreamWriter: @unchecked Sendable {
    private var writer: any ResponseBodyWriter
    private let channel: any Channel

    init(_ writer: any ResponseBodyWriter, _ channel: any Channel) {
        (self.writer, self.channel) = (writer, channel)
    }

    /// Half of what haproxy waits for as Debian sets it up, 50 s; nginx waits for 60 s, unless it is told otherwise.
    private static let silence = TimeAmount.seconds(25)

    /// Writes one message.
    ///
    /// `data`: on one line, as JSON is.
    mutating func send(id: String? = nil, event: String? = nil, data: String) async throws {
        var text = id.map { "id: \($0)\n" } ?? ""
        if let event { text += "event: \(event)\n" }
        text += "data: \(data)\n\n"
        try await write(text)
    }

    /// How soon a browser that lost the stream asks for it again.
    mutating func begin() async throws { try await write("retry: 1000\n\n") }

    private mutating func write(_ text: String) async throws {
        let guardian = channel.closingIfStalled()
        defer { guardian.cancel() }
        do {
            try await writer.write(ByteBuffer(string: text))
        } catch {
            throw BrowserGone()
        }
    }

    /// Answers a request with a stream, until `body` is over, the browser is gone, or the program is stopped.
    ///
    /// `isKeptAlive`: whether it says something now and then, for a proxy that would else end it; who listens on loopback does not, and nothing wakes up.
    static func serve(
        _ request: Request,
        _ writer: consuming ResponseWriter,
        _ channel: any Channel,
        isKeptAlive: Bool = false,
        _ body: @escaping @Sendable (inout Self) async throws -> Void
    ) async throws {
        let head = HTTPResponse(
            status: .ok,
            headerFields: [
                .contentType: "text/event-stream",
                // A proxy is to hand on each message at once.
                HTTPField.Name("X-Accel-Buffering") ?? .vary: "no",
            ]
        )
        try await channel.setOption(.socketOption(.so_sndbuf), value: WebLimits.sendBuffer).get()
        let bodyWriter = try await writer.writeHead(head)
        let stream = Self(bodyWriter, channel)
        // Each message is one part: another one may stand between any two.
        let keeper =
            isKeptAlive
            ? channel.eventLoop.scheduleRepeatedTask(initialDelay: silence, delay: silence) { _ in
                channel.writeAndFlush(
                    HTTPResponsePart.body(ByteBuffer(string: ":\n\n")),
                    promise: nil
                )
            } : nil
        defer { keeper?.cancel() }
        try await request.body.consumeWithCancellationOnInboundClose { _ in
            await cancelWhenGracefulShutdown {
                var stream = stream
                do {
                    try await stream.begin()
                    try await body(&stream)
                } catch {
                    // The browser has gone, or the program is to stop: nobody is left to be told.
                }
            }
        }
        let guardian = channel.closingIfStalled()
        defer { guardian.cancel() }
        try await bodyWriter.finish(nil)
        // It may have sent what was not read.
        throw ConnectionEnds()
    }
}

/// The browser has gone: no reason for a stream to look for the daemon again.
struct BrowserGone: Error {}
