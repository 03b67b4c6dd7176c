// SPDX-License-Identifier: Apache-2.0

/// The origin of a site, such as "https://timers.example.org", as browsers send it.
public struct Origin: Hashable, Sendable {
    public let text: String
    /// With the port, where it is not the scheme's own.
    let host: String

    /// Nil for what has another scheme, a path or no host, and for a port that browsers do not send: the scheme's own, or
    /// none that there is.
    public init?(_ text: String) {
        let lower = text.lowercased()
        guard let scheme = ["https://", "http://"].first(where: lower.hasPrefix) else { return nil }
        let host = String(lower.dropFirst(scheme.count))
        // Of another name browsers send the form of RFC 3492, "xn--…".
        let isPlain = host.allSatisfy {
            ($0.isASCII && ($0.isLetter || $0.isNumber)) || ".-:[]".contains($0)
        }
        guard !host.isEmpty, isPlain else { return nil }
        // Colons within brackets are an address's.
        let name = host.prefix(upTo: host.lastIndex(of: "]") ?? host.startIndex)
        if let colon = host[name.endIndex...].firstIndex(of: ":") {
            let text = host[host.index(after: colon)...]
            let usual = scheme == "https://" ? 443 : 80
            guard colon != host.startIndex, let port = Int(text), 1...65535 ~= port,
                port != usual, "\(port)" == text
            else { return nil }
        }
        (self.text, self.host) = (lower, host)
    }
}
