// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1

/// Has the host of a request's target count where it has one, as RFC 9112 (3.2.2) says: "GET http://evil.example/".
///
/// What makes requests of bytes keeps the path of such a target alone: so this stands before it.
final class TargetHost: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = unwrapInboundIn(data), let host = Self.host(of: head.uri)
        else {
            return context.fireChannelRead(data)
        }
        // Others that are there stay: two hosts are refused.
        let others = head.headers["host"].dropFirst()
        head.headers.replaceOrAdd(name: "host", value: host)
        for other in others { head.headers.add(name: "host", value: other) }
        context.fireChannelRead(wrapInboundOut(.head(head)))
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
                try pipeline.addHandler(TargetHost(), position: .before(codec))
            } catch {
                // Without it a host could be hidden: rather no connection.
                context.close(promise: nil)
            }
        }
    }
}
