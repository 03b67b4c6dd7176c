// SPDX-License-Identifier: Apache-2.0

/// Where the passwords are in an address as a user wrote it, by the rules of libpq's own parsers
/// (conninfo_parse and conninfo_uri_parse of fe-connect.c).
struct AddressSecrets {
    /// What is not shown; where it is a file's name (`passfile`, `sslkey`), it may be.
    private static let keywords: Set<String> = [
        "password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key",
    ]

    private let text: String
    private var places: [Range<String.Index>] = []

    init(in text: String) {
        self.text = text
        if let scheme = ["postgresql://", "postgres://"].first(where: text.hasPrefix) {
            findInURI(behind: text.index(text.startIndex, offsetBy: scheme.count))
        } else {
            findInKeywords()
        }
    }

    var isEmpty: Bool { places.isEmpty }

    var redacted: String {
        var result = ""
        var end = text.startIndex
        for place in places {
            result += text[end..<place.lowerBound]
            result += "***"
            end = place.upperBound
        }
        return result + text[end...]
    }

    /// libpq's message of what is wrong in the text, without what it quotes unless that stands before all passwords.
    ///
    /// It quotes what it could not read: the end of a password with a space, or one with a wrong '%'.
    func hidden(in message: String) -> String {
        let known = text[..<firstPossible]
        let parts = message.split(separator: "\"", omittingEmptySubsequences: false)
        return parts.enumerated()
            .map { number, part in
                number % 2 == 0 || part == "=" || known.contains(part) ? part : "..."
            }
            .joined(separator: "\"")
    }

    /// Where the first password may begin, of a text that may be wrong.
    private var firstPossible: String.Index {
        let byName = text.firstRange(of: "pass")?.lowerBound ?? text.endIndex
        guard let scheme = text.firstRange(of: "://") else { return byName }
        let rest = text[scheme.upperBound...]
        guard rest.contains("@"), let colon = rest.firstIndex(of: ":") else { return byName }
        return min(byName, colon)
    }

    // MARK: - URI

    private mutating func findInURI(behind start: String.Index) {
        let rest = text[start...]
        // A user is said where an '@' comes before a '/'.
        if let end = rest.firstIndex(where: { $0 == "@" || $0 == "/" }), rest[end] == "@",
            let colon = rest[..<end].firstIndex(of: ":")
        {
            let place = rest.index(after: colon)..<end
            if !place.isEmpty { places.append(place) }
        }
        let behindUser = places.last?.upperBound ?? start
        guard let question = text[behindUser...].firstIndex(of: "?") else { return }
        for parameter in text[text.index(after: question)...].split(separator: "&") {
            guard let equals = parameter.firstIndex(of: "="),
                Self.keywords.contains(Self.decoded(parameter[..<equals]))
            else { continue }
            let place = parameter.index(after: equals)..<parameter.endIndex
            if !place.isEmpty { places.append(place) }
        }
    }

    /// With each `%41` as the letter that it means.
    private static func decoded(_ text: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = text.utf8
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2)
            // Swift takes a sign as well.
            if byte == UInt8(ascii: "%"), digits.count == 2, digits.first != UInt8(ascii: "+"),
                digits.first != UInt8(ascii: "-"),
                let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
            {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    // MARK: - Keywords

    private mutating func findInKeywords() {
        var rest = text[...]
        while true {
            rest = rest.drop(while: \.isWhitespace)
            let keyword = rest.prefix { $0 != "=" && !$0.isWhitespace }
            rest = rest[keyword.endIndex...].drop(while: \.isWhitespace)
            guard rest.first == "=" else { return }
            rest = rest.dropFirst().drop(while: \.isWhitespace)
            let value = rest.prefix(Self.lengthOfValue(rest))
            if Self.keywords.contains(String(keyword)), !value.isEmpty, value != "''" {
                places.append(value.startIndex..<value.endIndex)
            }
            rest = rest[value.endIndex...]
        }
    }

    /// Of the value that `rest` begins with: up to a space, or in quotes; a backslash takes the next as it is.
    private static func lengthOfValue(_ rest: Substring) -> Int {
        let isQuoted = rest.first == "'"
        var isEscaped = false
        for (number, letter) in rest.enumerated() {
            if isEscaped {
                isEscaped = false
            } else if letter == "\\" {
                isEscaped = true
            } else if isQuoted, number > 0, letter == "'" {
                return number + 1
            } else if !isQuoted, letter.isWhitespace {
                return number
            }
        }
        return rest.count
    }
}
