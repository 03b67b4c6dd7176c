// SPDX-License-Identifier: Apache-2.0

import Glibc
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import TimerControl

/// Serves the metrics over HTTP on a loopback address: `GET /metrics`, and nothing else.
///
/// Whoever is on this machine may ask, for there is no telling users apart here. A connection is
/// for one request, of a few KiB and a few seconds.
final class MetricsEndpoint: Sendable {
    /// Connections beyond this are closed at once.
    static let maxConnections = 16
    /// How long a connection may take, from its beginning to its end.
    static let timeLimit = TimeAmount.seconds(10)

    private let listener: any Channel

    /// The address with the port that it has.
    let address: ListenAddress

    private init(_ listener: any Channel, _ address: ListenAddress) {
        self.listener = listener
        self.address = address
    }

    /// Begins to listen; `loop` serves all connections.
    ///
    /// - Throws: `SocketError`, with the address and what is in the way.
    static func start(
        at address: ListenAddress,
        on loop: any EventLoop,
        logger: Logger,
        metrics: @escaping @Sendable () async -> MetricsReply
    ) async throws -> MetricsEndpoint {
        let open = NIOLoopBoundBox.makeBoxSendingValue(0, as: Int.self, eventLoop: loop)
        do {
            let listener = try await ServerBootstrap(group: loop)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .serverChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(
                            AcceptTrouble(logger: logger)
                        )
                    }
                }
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try admit(channel, open, metrics)
                    }
                }
                .bind(host: address.host.rawValue, port: address.port).get()
            var bound = address
            bound.port = listener.localAddress?.port ?? address.port
            return MetricsEndpoint(listener, bound)
        } catch let error as IOError {
            errno = error.errnoCode
            throw SocketError.failed("\(address)", "bind to it")
        } catch {
            throw SocketError("\(address)", "\(error)")
        }
    }

    /// Listens no more; connections that are open end with the loop.
    func stop() async {
        // try?: fails where it is closed already, which is what is wanted.
        try? await listener.close()
    }

    private static func admit(
        _ channel: any Channel,
        _ open: NIOLoopBoundBox<Int>,
        _ metrics: @escaping @Sendable () async -> MetricsReply
    ) throws {
        guard open.value < maxConnections else { throw TooMany() }
        open.value += 1
        let deadline = channel.eventLoop.scheduleTask(in: timeLimit) {
            channel.close(promise: nil)
        }
        channel.closeFuture.assumeIsolated().whenComplete { _ in
            open.value -= 1
            deadline.cancel()
        }
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(RequestLimit())
        try pipeline.configureHTTPServerPipeline()
        try pipeline.addHandler(MetricsRequest(metrics))
    }
}

/// Why a connection is closed at once; nobody is told.
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

    private let metrics: @Sendable () async -> MetricsReply
    private var isAnswering = false

    init(_ metrics: @escaping @Sendable () async -> MetricsReply) { self.metrics = metrics }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(let head) = unwrapInboundIn(data), !isAnswering else { return }
        isAnswering = true
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
        context.value.eventLoop.makeFutureWithTask { [metrics] in await metrics().openMetrics }
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
