// SPDX-License-Identifier: Apache-2.0

import NIOHTTP1

/// Refuses a request for metrics that a page in a browser may have sent.
///
/// Any site can have its own name lead to 127.0.0.1 (DNS rebinding), and its pages could then read what is
/// served there. So only names that always mean this machine are answered.
struct RequestOrigin {
    struct Refusal: Hashable {
        var status: HTTPResponseStatus
        var text: String
    }

    /// Nil for a request that is answered.
    static func refusal(of head: HTTPRequestHead) -> Refusal? {
        let hosts = head.headers["Host"]
        guard let host = hosts.first else {
            // HTTP before 1.1 had no such field (RFC 9112, section 3.2).
            if head.version == .http1_0 { return nil }
            return Refusal(status: .badRequest, text: "A request has a field 'Host'.\n")
        }
        guard hosts.count == 1 else {
            return Refusal(status: .badRequest, text: "A request has one field 'Host'.\n")
        }
        guard isLoopback(host) else {
            return Refusal(
                status: .misdirectedRequest,
                text: "Accepted as host are 127.0.0.1, localhost and [::1].\n"
            )
        }
        let sites = head.headers["Sec-Fetch-Site"]
        let isOwn = sites.allSatisfy { isASCII($0) && ["none", "same-origin"].contains($0) }
        guard isOwn, !head.headers.contains(name: "Origin") else {
            return Refusal(status: .forbidden, text: "Pages of other sites are not answered.\n")
        }
        return nil
    }

    /// Of other texts a comparison may take long, see `CombiningMarks`, and the loop serves all clients.
    private static func isASCII(_ text: String) -> Bool { text.utf8.allSatisfy { $0 < 0x80 } }

    /// Whether a field names the loopback, with or without a port.
    static func isLoopback(_ host: String) -> Bool {
        guard isASCII(host) else { return false }
        for name in ["127.0.0.1", "localhost", "[::1]"]
        where host.lowercased().hasPrefix(name) {
            let rest = host.dropFirst(name.count)
            if rest.isEmpty { return true }
            let isPort = rest.dropFirst().utf8.allSatisfy { 0x30...0x39 ~= $0 }
            return rest.first == ":" && isPort && UInt16(rest.dropFirst()) != nil
        }
        return false
    }
}
