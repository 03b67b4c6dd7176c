// SPDX-License-Identifier: Apache-2.0

/// Text as quoted-printable, for mails (RFC 2045, 6.7); pure.
enum QuotedPrintable {
    /// The longest line, with the `=` at its end where it goes on in the next one.
    private static let longest = 76

    /// `text` in lines of ASCII that are short enough; lines end with `\n`, as in `text`.
    static func encoded(_ text: String) -> String {
        text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .map { encoded(line: Array($0)) }
            .joined(separator: "\n")
    }

    private static func encoded(line: [UInt8]) -> String {
        var (text, length) = ("", 0)
        for (place, byte) in line.enumerated() {
            let word = encoded(byte, isLast: place == line.count - 1)
            if length + word.utf8.count >= longest {
                text += "=\n"
                length = 0
            }
            text += word
            length += word.utf8.count
        }
        return text
    }

    /// `isLast`: at the end of its line a blank would be lost on the way.
    private static func encoded(_ byte: UInt8, isLast: Bool) -> String {
        let isBlank = byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
        let isPlain = (0x21..<0x7F).contains(byte) && byte != UInt8(ascii: "=")
        guard isPlain || isBlank && !isLast else {
            return (byte < 0x10 ? "=0" : "=") + String(byte, radix: 16, uppercase: true)
        }
        return String(UnicodeScalar(byte))
    }
}
