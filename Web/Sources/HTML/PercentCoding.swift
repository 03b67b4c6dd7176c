// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// Percent-encoding of paths, queries and forms (application/x-www-form-urlencoded).
public enum PercentCoding {
    private static let hexDigits = Array("0123456789ABCDEF".utf8)

    /// Everything but RFC 3986's unreserved characters as %XX.
    public static func encoded(_ text: String) -> String {
        if text.utf8.allSatisfy(isUnreserved) { return text }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count * 2)
        for byte in text.utf8 {
            if isUnreserved(byte) {
                bytes.append(byte)
            } else {
                bytes += [UInt8(ascii: "%"), hexDigits[Int(byte >> 4)], hexDigits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Nil for what is not UTF-8, for a % without two digits behind it, and for too many marks in a row, with which the daemon
    /// refuses a line, too: a form of 40 kB of them took most of a second for each comparison.
    ///
    /// `plusIsBlank`: as forms have it.
    public static func decoded(_ text: some StringProtocol, plusIsBlank: Bool = false) -> String? {
        guard let bytes = bytes(of: text, plusIsBlank: plusIsBlank),
            !CombiningMarks.areTooMany(in: bytes)
        else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }

    /// Which field of a form has a longer row of marks than is accepted, in words; nil where none has one.
    public static func tooManyMarks(in text: some StringProtocol) -> String? {
        for pair in text.split(separator: "&") {
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard halves.count > 1, let value = bytes(of: halves[1], plusIsBlank: true),
                CombiningMarks.areTooMany(in: value)
            else { continue }
            return
                "its field '\(decoded(halves[0], plusIsBlank: true) ?? "")' has more marks in a row that combine with one character, as accents do, than are accepted"
        }
        return nil
    }

    private static func bytes(
        of text: some StringProtocol,
        plusIsBlank: Bool
    ) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        var rest = text.utf8.makeIterator()
        while let byte = rest.next() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = rest.next().flatMap(digit), let low = rest.next().flatMap(digit)
                else { return nil }
                bytes.append(high << 4 | low)
            case UInt8(ascii: "+") where plusIsBlank: bytes.append(UInt8(ascii: " "))
            default: bytes.append(byte)
            }
        }
        return bytes
    }

    /// The fields of a query or a form, in order; nil where one cannot be decoded.
    public static func fields(_ text: some StringProtocol) -> [Link.Field]? {
        var fields: [Link.Field] = []
        for pair in text.split(separator: "&") {
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = decoded(halves[0], plusIsBlank: true),
                let value = halves.count > 1 ? decoded(halves[1], plusIsBlank: true) : ""
            else { return nil }
            fields.append(Link.Field(name, value))
        }
        return fields
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "_"), UInt8(ascii: "~"):
            true
        default: false
        }
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
