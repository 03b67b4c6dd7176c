// SPDX-License-Identifier: Apache-2.0

import Foundation
import Schedules
import TimerControl

/// A notice as a mail, in the form that sendmail(8) reads with -i and -t (RFC 5322); pure.
enum NoticeMail {
    static func text(
        to address: String,
        _ text: NoticeText,
        notice: String,
        at date: Timestamp
    ) -> String {
        let isPlain = isPlain(text.body)
        let headers = [
            "To: \(folded(address))",
            "Subject: \(encoded(shortened(text.subject)))",
            // The same for each try: what comes twice can be told.
            "Message-ID: <timerd.\(notice).\(date.microseconds)@\(domain(text.host))>",
            // No answer of a holiday to a machine (RFC 3834).
            "Auto-Submitted: auto-generated",
            "X-Timerd-Job: \(text.document.job)",
            "X-Timerd-Reason: \(text.document.reason)",
            "MIME-Version: 1.0",
            "Content-Type: text/plain; charset=utf-8",
            "Content-Transfer-Encoding: \(isPlain ? "7bit" : "quoted-printable")",
        ]
        let body = isPlain ? text.body : QuotedPrintable.encoded(text.body)
        return headers.joined(separator: "\n") + "\n\n" + body
    }

    /// The most bytes of a line, without its end (RFC 5322, 2.1.1): mail servers cut or refuse what is longer.
    private static let longestLine = 998
    /// The most bytes of a line of the headers, where there is a place to fold it.
    private static let longestHeader = 76
    /// The most characters of a subject.
    private static let longestSubject = 200

    /// Whether a body may go as it is: short lines of printable ASCII.
    private static func isPlain(_ body: String) -> Bool {
        body.utf8.split(separator: UInt8(ascii: "\n")).allSatisfy { line in
            line.count <= longestLine
                && line.allSatisfy { (0x20..<0x7F).contains($0) || $0 == UInt8(ascii: "\t") }
        }
    }

    /// Addresses on several lines where they are too long for one; each goes as it is, as RFC 6532 has it.
    private static func folded(_ addresses: String) -> String {
        var (text, length) = ("", "To: ".utf8.count)
        for address in addresses.split(separator: ",") {
            // With the comma behind it.
            let size = address.utf8.count + 1
            if !text.isEmpty {
                let isFull = length + size > longestHeader
                text += isFull ? ",\n " : ","
                if isFull { length = 1 }
            }
            text += address
            length += size
        }
        return text
    }

    private static func shortened(_ subject: String) -> String {
        let characters = subject.unicodeScalars
        guard characters.count > longestSubject else { return subject }
        return String(characters.prefix(longestSubject - 1)) + "…"
    }

    /// What a header may hold: ASCII, else words in base 64 (RFC 2047).
    private static func encoded(_ text: String) -> String {
        guard !text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) else { return text }
        var words: [String] = []
        var word: [UInt8] = []
        for character in text.unicodeScalars {
            // A line with an encoded word is at most 76 bytes long, and no character stands in two.
            if word.count + character.utf8.count > 39 {
                words.append(base64(word))
                word = []
            }
            word += character.utf8
        }
        if !word.isEmpty { words.append(base64(word)) }
        return words.joined(separator: "\n ")
    }

    private static func base64(_ bytes: [UInt8]) -> String {
        "=?utf-8?B?\(Data(bytes).base64EncodedString())?="
    }

    /// The host as the right side of a message's number may have it.
    private static func domain(_ host: String) -> String {
        let name = host.filter {
            $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "." || $0 == "-")
        }
        return name.isEmpty ? "localhost" : name
    }
}
