// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1

/// Puts into a request's head what is lost behind it: so this stands before what makes requests of bytes.
///
/// Of a target with a host, such as "GET http://evil.example/", the path alone is kept: the host counts, as RFC 9112 (3.2.2)
/// says. Of the version nothing is kept, and the word "close" is looked for as it is written here. The answer to HTTP/1.0 is
/// of HTTP/1.0, and the last one of its connection: who knows no chunks would take their sizes for a part of a stream, and
/// knows by the connection's end alone where one ends. A file that ends early looks whole to him: only a reset would tell it,
/// and a Unix socket has no resets.
final class RequestHead: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// Whether requests of HTTP/1.0 wait for their answers, or for what is left of these, the oldest first.
    private var areOld: [Bool] = []

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = unwrapInboundIn(data) else {
            return context.fireChannelRead(data)
        }
        if let host = Self.host(of: head.uri) {
            // Others that are there stay: two hosts are refused.
            let others = head.headers["host"].dropFirst()
            head.headers.replaceOrAdd(name: "host", value: host)
            for other in others { head.headers.add(name: "host", value: other) }
        }
        let isOld = head.version == .http1_0
        areOld.append(isOld)
        // Who waits for the connection's end to know that of the answer has it.
        if isOld || !head.isKeepAlive {
            head.headers.replaceOrAdd(name: "connection", value: "close")
        }
        // It would take "100 Continue" for the answer.
        if isOld { head.headers.remove(name: "expect") }
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }

    func write(
        context: ChannelHandlerContext,
        data: NIOAny,
        promise: EventLoopPromise<Void>?
    ) {
        switch unwrapOutboundIn(data) {
        case .head(var head) where areOld.first == true:
            head.version = .http1_0
            head.headers.replaceOrAdd(name: "connection", value: "close")
            return context.write(wrapOutboundOut(.head(head)), promise: promise)
        // Of what was no request, which is refused, nothing waits.
        case .end where !areOld.isEmpty: areOld.removeFirst()
        case .head, .body, .end: break
        }
        context.write(data, promise: promise)
    }

    /// Nil for a target that is a path.
    static func host(of target: String) -> String? {
        guard target.first != "/", let mark = target.firstRange(of: "://") else { return nil }
        return String(target[mark.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" })
    }

    /// Puts it where it belongs, once the others are there.
    final class Installer: ChannelInboundHandler, RemovableChannelHandler {
        typealias InboundIn = HTTPRequestPart

        func handlerAdded(context: ChannelHandlerContext) {
            let pipeline = context.pipeline.syncOperations
            do {
                let codec = try pipeline.handler(type: HTTP1ToHTTPServerCodec.self)
                try pipeline.addHandler(RequestHead(), position: .before(codec))
            } catch {
                // Without it a host could be hidden: rather no connection.
                context.close(promise: nil)
            }
        }
    }
}
