// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOCore
import NIOHTTPTypes
import Schedules
import TimerWords

/// Puts the headers that keep other sites out on every answer.
///
/// The last one before the bytes: the parser's own refusals and what a fault leaves behind pass it as well.
final class SecurityHeaders: ChannelOutboundHandler, RemovableChannelHandler {
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    func write(
        context: ChannelHandlerContext,
        data: NIOAny,
        promise: EventLoopPromise<Void>?
    ) {
        // One that only says that a body may come is no answer.
        guard case .head(var head) = unwrapOutboundIn(data), head.status.kind != .informational
        else {
            return context.write(data, promise: promise)
        }
        Self.add(to: &head.headerFields)
        head.headerFields[.date] = HTTPDate.text(.now)
        context.write(wrapOutboundOut(.head(head)), promise: promise)
    }

    static let policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        + "font-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

    /// What is not there already: assets may be kept by a cache, pages may not.
    static func add(to fields: inout HTTPFields) {
        let all: [(HTTPField.Name?, String)] = [
            (.contentSecurityPolicy, policy),
            (.xContentTypeOptions, "nosniff"),
            // With no-referrer Chrome sends 'Origin: null' with a form.
            (HTTPField.Name("Referrer-Policy"), "same-origin"),
            (HTTPField.Name("Cross-Origin-Opener-Policy"), "same-origin"),
            (HTTPField.Name("Cross-Origin-Resource-Policy"), "same-origin"),
            (.cacheControl, "no-store"),
        ]
        for (name, value) in all {
            guard let name, fields[name] == nil else { continue }
            fields[name] = value
        }
    }
}
