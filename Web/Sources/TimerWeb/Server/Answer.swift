// SPDX-License-Identifier: Apache-2.0

import HTML
import HTTPTypes
import HummingbirdCore
import NIOCore

/// What a browser is answered.
enum Answer: Sendable {
    case page(HTTPResponse.Status, Node)
    /// Go and get that (303), with a cookie perhaps.
    case redirect(Link, cookie: String?)
    /// A page that goes on to that by itself, with a cookie.
    case welcome(Link, cookie: String)
    case asset(Asset)
    /// One that has a place of the site's `streams`, which is given back when it is over.
    case stream(any ServedStream)
    case notAllowed(String)

    static func page(_ node: Node) -> Self { .page(.ok, node) }
    static func redirect(_ link: Link) -> Self { .redirect(link, cookie: nil) }

    /// Of all but streams.
    var response: Response {
        switch self {
        case .page(let status, let node):
            return Self.response(status, "text/html; charset=utf-8", node.document)
        case .redirect(let link, let cookie):
            var response = Response(status: .seeOther, headers: [.location: link.text])
            if let cookie { response.headers[.setCookie] = cookie }
            return response
        case .welcome(let link, let cookie):
            var response = Self.response(
                .ok,
                "text/html; charset=utf-8",
                WelcomePage.document(link).document
            )
            response.headers[.setCookie] = cookie
            return response
        case .asset(let asset):
            var response = Self.response(.ok, asset.type, asset.bytes)
            // Its path has a hash of it: another content has another path.
            response.headers[.cacheControl] = "public, max-age=31536000, immutable"
            return response
        case .stream: return Response(status: .internalServerError)
        case .notAllowed(let methods):
            var response = Plain.answer(.methodNotAllowed, "Only \(methods) is accepted here.")
                .response
            response.headers[.allow] = methods
            return response
        }
    }

    private static func response(
        _ status: HTTPResponse.Status,
        _ type: String,
        _ bytes: [UInt8]
    ) -> Response {
        Response(
            status: status,
            headers: [.contentType: type],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes))
        )
    }
}

/// An answer that goes on until the browser goes away, or the program ends.
protocol ServedStream: Sendable {
    func serve(
        _ request: Request,
        _ writer: consuming ResponseWriter,
        _ channel: any Channel
    ) async throws
}
