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

    /// The most bytes of an address (RFC 5321, 4.5.3.1.3): a line of a mail's headers has room for one.
    private static let longestAddress = 254

    /// One address or some with commas between them: what a header line takes as it is.
    private static func isAddress(_ text: String) -> Bool {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        return parts.allSatisfy { part in
            !part.isEmpty && part.first != "-"
                && part.utf8.count <= longestAddress
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

    /// What is no place, as a message may repeat it: of what may be a URL with a slip no more than how it begins.
    package static func shown(_ text: String) -> String {
        if text.hasPrefix("command:") { return text }
        if let mark = text.firstRange(of: "://") { return text[..<mark.upperBound] + "…" }
        guard let end = text.firstIndex(where: { "/\\?#".contains($0) }) else { return text }
        let front = text[...end]
        return (front.lastIndex(of: "@").map { "…" + front[$0...] } ?? "\(front)") + "…"
    }

    /// The text as it may be shown, in quotes, with what keeps it from being a URL, where it begins as one.
    package static func refused(_ text: String) -> String {
        let quoted = shown(text).debugDescription
        let lowercased = text.lowercased()
        guard lowercased.hasPrefix("http://") || lowercased.hasPrefix("https://") else {
            return quoted
        }
        let wrong = text.unicodeScalars.firstIndex { !(0x21...0x7E).contains($0.value) }
        guard let wrong else { return "\(quoted), whose host or port cannot be read" }
        let number = text.unicodeScalars.distance(from: text.unicodeScalars.startIndex, to: wrong)
        return "\(quoted), whose character \(number + 1) stands in no URL"
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
        // What a fragment may hold is never sent: with an `@` it is the rest of a password.
        let rest = url.dropFirst(scheme.count + authority.count)
        guard Self.isHost(host), rest.first != "#" || !rest.contains("@") else { return nil }
        origin = scheme + host.lowercased()
        // FNV-1a, folded.
        let hash = url.utf8.reduce(UInt64(0xcbf2_9ce4_8422_2325)) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01b3
        }
        let folded = (hash ^ hash >> 16 ^ hash >> 32 ^ hash >> 48) & 0xFFFF
        let digits = String(folded, radix: 16)
        fingerprint = String(repeating: "0", count: 4 - digits.count) + digits
    }

    /// Whether it is a name or an address, perhaps with a port: what a slip puts here may be secret.
    private static func isHost(_ text: Substring) -> Bool {
        let (isSound, rest): (Bool, Substring)
        if text.first == "[" {
            guard let end = text.firstIndex(of: "]") else { return false }
            (isSound, rest) = (isIPv6(text[..<end].dropFirst()), text[end...].dropFirst())
        } else {
            let end = text.firstIndex(of: ":") ?? text.endIndex
            (isSound, rest) = (isName(text[..<end]), text[end...])
        }
        return isSound && (rest.isEmpty || rest.first == ":" && isPort(rest.dropFirst()))
    }

    private static func isName(_ text: Substring) -> Bool {
        !text.isEmpty && text.allSatisfy { $0.isLetter || $0.isNumber || "-._%".contains($0) }
    }

    /// Near enough: groups of hexadecimal digits, perhaps with a zone.
    private static func isIPv6(_ text: Substring) -> Bool {
        let mark = text.firstIndex(of: "%") ?? text.endIndex
        let (address, zone) = (text[..<mark], text[mark...])
        return address.count { $0 == ":" } >= 2
            && address.allSatisfy { $0.isHexDigit || $0 == ":" || $0 == "." }
            && (zone.isEmpty || zone.count > 1 && isName(zone))
    }

    private static func isPort(_ text: Substring) -> Bool {
        text.utf8.allSatisfy { (0x30...0x39).contains($0) } && (UInt16(text) ?? 0) > 0
    }

    /// `https://hooks.example/…`.
    package var description: String { "\(origin)/…" }

    /// Its description with what tells it from others: how a job's definition shows it.
    package var reference: String { "\(self)#\(fingerprint)" }

    /// Whether this is how a URL is shown, with or without its fingerprint, and not one itself.
    ///
    /// Nothing else may stand in it: what is shown is repeated in messages.
    package static func isMasked(_ text: String) -> Bool {
        guard let mark = text.firstRange(of: "/…") else { return false }
        let (front, rest) = (text[..<mark.lowerBound], text[mark.upperBound...])
        let isEnd =
            rest.isEmpty
            || rest.first == "#" && rest.utf8.count == 5
                && rest.utf8.dropFirst().allSatisfy { "0123456789abcdef".utf8.contains($0) }
        return isEnd && Self(of: String(front)).map { $0.origin == front } ?? false
    }
}
