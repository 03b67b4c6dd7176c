// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHTTPTypes

/// Closes a connection that has not sent a whole request in time, so that who says nothing keeps nobody out.
///
/// The time of the first request begins with the connection, that of each later one with its first byte: between two
/// there is the server's own limit of idleness.
final class RequestDeadline: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart

    private var deadline: Scheduled<Void>?

    func handlerAdded(context: ChannelHandlerContext) {
        do {
            let bytes = FirstByte { [weak self] in self?.begin($0) }
            try context.pipeline.syncOperations.addHandler(bytes, position: .first)
        } catch {
            // Without it a head could take for ever: rather no connection.
            context.close(promise: nil)
        }
        if context.channel.isActive { begin(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        begin(context)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .end = unwrapInboundIn(data) { end() }
        context.fireChannelRead(data)
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    private func begin(_ context: ChannelHandlerContext) {
        // What is dripped does not have the time begin anew; of what came at once a part may have ended the connection.
        guard deadline == nil, context.channel.isActive else { return }
        let channel = context.channel
        deadline = context.eventLoop.scheduleTask(in: WebLimits.request) {
            channel.close(promise: nil)
        }
    }

    private func end() {
        deadline?.cancel()
        deadline = nil
    }

    /// Tells of bytes before the parser has made a head of them.
    ///
    /// The last byte of what comes at once goes on alone: one request may end in it and the next one begin, and where that
    /// ended before the last byte, another one has begun.
    private final class FirstByte: ChannelInboundHandler, RemovableChannelHandler {
        typealias InboundIn = ByteBuffer
        typealias InboundOut = ByteBuffer

        private let tell: (ChannelHandlerContext) -> Void

        init(_ tell: @escaping (ChannelHandlerContext) -> Void) { self.tell = tell }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            var last = unwrapInboundIn(data)
            if let others = last.readSlice(length: last.readableBytes - 1),
                others.readableBytes > 0
            {
                tell(context)
                context.fireChannelRead(wrapInboundOut(others))
            }
            tell(context)
            context.fireChannelRead(wrapInboundOut(last))
        }
    }
}
