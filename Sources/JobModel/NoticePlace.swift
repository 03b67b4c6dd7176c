// SPDX-License-Identifier: Apache-2.0

/// Where notices of a job go.
package enum NoticePlace: Hashable, Sendable {
    /// A mail to that address; nil for the job's owner.
    case mail(String?)
    /// A POST of JSON to that URL.
    case web(String)
    /// A line for `/bin/sh -c`, with the notice as JSON on standard input.
    case command(String)
    /// `notify-send` as the job's owner.
    case desktop
    /// Nowhere: stands alone, and keeps the daemon's default places from the job.
    case none
    /// A URL as jobs are shown: it stands for the one that a job has already.
    case masked(String)

    /// Reads a place as it is typed; nil for what is none.
    package init?(_ text: String) {
        let isOnOneLine = !text.unicodeScalars.contains {
            $0.value < 0x20 || (0x7F...0x9F).contains($0.value)
        }
        guard isOnOneLine else { return nil }
        if MaskedURL.isMasked(text) {
            self = .masked(text)
        } else if text == "mail" {
            self = .mail(nil)
        } else if text == "desktop" {
            self = .desktop
        } else if text == "none" {
            self = .none
        } else if text.hasPrefix("mail:") {
            let address = String(text.dropFirst(5))
            guard Self.isAddress(address) else { return nil }
            self = .mail(address)
        } else if text.hasPrefix("command:") {
            let line = text.dropFirst(8)
            guard !line.allSatisfy({ $0 == " " }) else { return nil }
            self = .command(String(line))
        } else if MaskedURL(of: text) != nil {
            self = .web(text)
        } else {
            return nil
        }
    }

    /// One address or some with commas between them: what a header line takes as it is.
    private static func isAddress(_ text: String) -> Bool {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        return parts.allSatisfy { part in
            !part.isEmpty && part.first != "-"
                && part.unicodeScalars.allSatisfy {
                    $0.value > 0x20 && !"<>()[]\"\\;:".unicodeScalars.contains($0)
                }
        }
    }

    /// As it was typed; with all that is secret in it.
    package var text: String {
        switch self {
        case .mail(nil): "mail"
        case .mail(let address?): "mail:\(address)"
        case .web(let url), .masked(let url): url
        case .command(let line): "command:\(line)"
        case .desktop: "desktop"
        case .none: "none"
        }
    }

    /// As everybody may read it who sees the job.
    package var masked: String {
        guard case .web(let url) = self else { return text }
        return MaskedURL(of: url)?.description ?? "…"
    }
}

/// A URL without what may be secret in it: its user, password, path and query.
package struct MaskedURL: Hashable, Sendable, CustomStringConvertible {
    /// `https://hooks.example`.
    package let origin: String
    /// Tells two URLs of one origin apart: so a file that has another token than the job is seen to differ.
    ///
    /// 16 bits of a hash: far too few to find the URL by.
    package let fingerprint: String

    /// Nil for what is no URL of HTTP.
    package init?(of url: String) {
        guard
            let scheme = ["http://", "https://"].first(where: { url.lowercased().hasPrefix($0) }),
            url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else { return nil }
        let authority = url.dropFirst(scheme.count).prefix { !"/?#".contains($0) }
        let host =
            authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] }
            ?? authority
        let isHost = host.allSatisfy { $0.isLetter || $0.isNumber || "-._:[]%".contains($0) }
        guard let first = host.first, first != ":", isHost else { return nil }
        origin = scheme + host.lowercased()
        // FNV-1a, folded.
        let hash = url.utf8.reduce(UInt64(0xcbf2_9ce4_8422_2325)) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01b3
        }
        let folded = (hash ^ hash >> 16 ^ hash >> 32 ^ hash >> 48) & 0xFFFF
        let digits = String(folded, radix: 16)
        fingerprint = String(repeating: "0", count: 4 - digits.count) + digits
    }

    /// `https://hooks.example/…`.
    package var description: String { "\(origin)/…" }

    /// The same with what tells it from others: how a job's definition shows it.
    package var reference: String { "\(self)#\(fingerprint)" }

    /// Whether this is how a URL is shown, and not one itself.
    package static func isMasked(_ text: String) -> Bool {
        (text.hasPrefix("http://") || text.hasPrefix("https://")) && text.contains("/…")
    }
}
