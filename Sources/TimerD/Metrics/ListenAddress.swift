// SPDX-License-Identifier: Apache-2.0

/// Where the metrics are served: an address of this machine that no other can reach.
struct ListenAddress: Hashable, Sendable, CustomStringConvertible {
    enum Host: String, CaseIterable, Sendable {
        case ipv4 = "127.0.0.1"
        case ipv6 = "::1"
    }

    var host: Host
    /// 0 for any that is free.
    var port: Int

    static let accepted = #""127.0.0.1:PORT", "[::1]:PORT", or "" for none"#

    /// `127.0.0.1:9292` or `[::1]:9292`; nil for what is neither.
    init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":") else { return nil }
        let digits = text[text.index(after: colon)...]
        guard !digits.isEmpty, digits.utf8.allSatisfy({ 0x30...0x39 ~= $0 }),
            let port = UInt16(digits),
            let host = Host.allCases.first(where: { Self.written($0) == text[..<colon] })
        else { return nil }
        self.host = host
        self.port = Int(port)
    }

    var description: String { "\(Self.written(host)):\(port)" }

    private static func written(_ host: Host) -> String {
        host == .ipv6 ? "[\(host.rawValue)]" : host.rawValue
    }
}
