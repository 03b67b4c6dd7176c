// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import Platform
import SystemPackage
import TimerControl

/// Serves the metrics over HTTP on a loopback address: `GET /metrics`, and nothing else.
///
/// Any user of this machine may ask, because a TCP connection does not tell who it is; a page in a browser
/// may not (`RequestOrigin`). A connection is for one request, of a few KiB and a few seconds.
final class MetricsEndpoint: Sendable {
    /// Beyond this, the oldest connection without a request is closed; the newest if all have sent theirs.
    static let maxConnections = 16
    /// How long a request may take to come.
    static let requestTimeLimit = TimeAmount.seconds(2)
    /// How long a connection may take, from its beginning to its end.
    static let timeLimit = TimeAmount.seconds(10)

    private let listener: any Channel

    /// The address, with the port that it was given.
    let address: ListenAddress

    private init(_ listener: any Channel, _ address: ListenAddress) {
        self.listener = listener
        self.address = address
    }

    /// Begins to listen; `loop` serves all connections, and `page` has the text that each is answered with.
    ///
    /// - Throws: `SocketError`, with the address and what is in the way.
    static func start(
        at address: ListenAddress,
        on loop: any EventLoop,
        logger: Logger,
        page: @escaping @Sendable () async -> String
    ) async throws -> MetricsEndpoint {
        let open = NIOLoopBoundBox.makeBoxSendingValue([], as: [Open].self, eventLoop: loop)
        do {
            let listener = try await ServerBootstrap(group: loop)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .serverChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(
                            AcceptBackoff(logger: logger)
                        )
                    }
                }
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try admit(channel, open, page)
                    }
                }
                .bind(host: address.host.rawValue, port: address.port).get()
            var bound = address
            bound.port = listener.localAddress?.port ?? address.port
            return MetricsEndpoint(listener, bound)
        } catch let error as IOError {
            let reason = Errno(rawValue: error.errnoCode).text
            throw SocketError("\(address)", "cannot bind to it: \(reason)")
        } catch {
            throw SocketError("\(address)", "\(error)")
        }
    }

    /// Stops listening; open connections go on, and end with the loop at the latest.
    func stop() async {
        // try?: fails only if the channel is closed already.
        try? await listener.close()
    }

    /// A connection, the oldest first.
    private struct Open {
        var channel: any Channel
        var hasAsked = false
    }

    private static func admit(
        _ channel: any Channel,
        _ open: NIOLoopBoundBox<[Open]>,
        _ page: @escaping @Sendable () async -> String
    ) throws {
        if DescriptorLimit.refusal(isAdministrator: true) != nil { throw TooMany() }
        if open.value.count >= maxConnections {
            // A client that opens connections and sends nothing keeps nobody out.
            guard let silent = open.value.firstIndex(where: { !$0.hasAsked }) else {
                throw TooMany()
            }
            open.value.remove(at: silent).channel.close(promise: nil)
        }
        open.value.append(Open(channel: channel))
        let id = ObjectIdentifier(channel)
        let silence = channel.eventLoop.scheduleTask(in: requestTimeLimit) {
            channel.close(promise: nil)
        }
        let deadline = channel.eventLoop.scheduleTask(in: timeLimit) {
            channel.close(promise: nil)
        }
        channel.closeFuture.assumeIsolated().whenComplete { _ in
            open.value.removeAll { ObjectIdentifier($0.channel) == id }
            silence.cancel()
            deadline.cancel()
        }
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(RequestLimit())
        try pipeline.configureHTTPServerPipeline()
        try pipeline.addHandler(
            MetricsRequest(page) {
                silence.cancel()
                guard
                    let index = open.value.firstIndex(where: {
                        ObjectIdentifier($0.channel) == id
                    })
                else { return }
                open.value[index].hasAsked = true
            }
        )
    }
}

/// Why a connection is closed at once; neither sent nor logged.
private struct TooMany: Error {}

/// Closes a connection that sends more than a request for metrics may be long.
private final class RequestLimit: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private static let bytes = 8192
    private var received = 0

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received += unwrapInboundIn(data).readableBytes
        guard received <= Self.bytes else { return context.close(promise: nil) }
        context.fireChannelRead(data)
    }
}

/// Answers the first request of a connection, and ends it.
private final class MetricsRequest: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let page: @Sendable () async -> String
    private let asked: () -> Void
    private var isAnswering = false

    /// `asked` is called once the request is there.
    init(_ page: @escaping @Sendable () async -> String, asked: @escaping () -> Void) {
        (self.page, self.asked) = (page, asked)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(let head) = unwrapInboundIn(data), !isAnswering else { return }
        isAnswering = true
        asked()
        if let refusal = RequestOrigin.refusal(of: head) {
            return answer(context, refusal.status, refusal.text)
        }
        guard head.uri.prefix(while: { $0 != "?" }) == "/metrics" else {
            return answer(context, .notFound, "The metrics are at /metrics.\n")
        }
        guard head.method == .GET || head.method == .HEAD else {
            return answer(
                context,
                .methodNotAllowed,
                "Accepted is GET.\n",
                [("Allow", "GET, HEAD")]
            )
        }
        let isHead = head.method == .HEAD
        let context = NIOLoopBound(context, eventLoop: context.eventLoop)
        let handler = NIOLoopBound(self, eventLoop: context.value.eventLoop)
        context.value.eventLoop.makeFutureWithTask { [page] in await page() }
            .whenSuccess { text in
                handler.value.answer(
                    context.value,
                    .ok,
                    text,
                    [("Content-Type", MetricsReply.contentType)],
                    isHead: isHead
                )
            }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func answer(
        _ context: ChannelHandlerContext,
        _ status: HTTPResponseStatus,
        _ text: String,
        _ fields: [(String, String)] = [("Content-Type", "text/plain; charset=utf-8")],
        isHead: Bool = false
    ) {
        var headers = HTTPHeaders(fields)
        headers.replaceOrAdd(name: "Content-Length", value: "\(text.utf8.count)")
        headers.replaceOrAdd(name: "Connection", value: "close")
        let head = HTTPResponseHead(version: .http1_1, status: status, headers: headers)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        if !isHead {
            context.write(
                wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: text)))),
                promise: nil
            )
        }
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { _ in context.close(promise: nil) }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: written)
    }
}
