// SPDX-License-Identifier: Apache-2.0

import Foundation
import Schedules
import Testing
import TimerControl

@testable import TimerD

/// Mails as the programs on their way take them.
@Suite("Mails of notices") struct NoticeMailTests {
    private static func text(_ change: (inout NoticeDocument) -> Void) -> NoticeText {
        let job = JobID(rawValue: 7)
        var document = NoticeDocument(reason: .failed, job: job, name: "backup", owner: "ann")
        change(&document)
        return NoticeText(document: document, host: "mars")
    }

    private static func mail(_ text: NoticeText) throws -> (headers: String, body: String) {
        let mail = NoticeMail.text(to: "ops", text, notice: "3", at: TestScheduler.start)
        let end = try #require(mail.firstRange(of: "\n\n"))
        return (String(mail[..<end.lowerBound]), String(mail[end.upperBound...]))
    }

    private static func x(_ count: Int) -> String { String(repeating: "x", count: count) }

    /// The text of what is quoted-printable.
    private static func decoded(_ text: String) throws -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.replacing("=\n", with: "").utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "=") else {
                bytes.append(byte)
                continue
            }
            let digits = String(decoding: rest.prefix(2), as: UTF8.self)
            bytes.append(try #require(UInt8(digits, radix: 16)))
            rest = rest.dropFirst(2)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test("Short lines of ASCII go as they are")
    func plain() throws {
        let text = Self.text { $0.stdout = "one\ta=b\n" + Self.x(998) }
        let mail = try Self.mail(text)
        #expect(mail.body == text.body)
        #expect(mail.headers.hasSuffix("\nContent-Transfer-Encoding: 7bit"))
    }

    @Test(
        "A body with a long line, or with more than ASCII, goes as quoted-printable, and loses nothing",
        arguments: [
            x(999), String(repeating: "a= ", count: 500), "grün \t\n ",
            "\u{1b}[31mred\u{1b}[0m\r", String(repeating: "→", count: 100),
        ]
    )
    func encoded(output: String) throws {
        let text = Self.text { $0.stdout = output }
        let mail = try Self.mail(text)
        #expect(mail.headers.hasSuffix("\nContent-Transfer-Encoding: quoted-printable"))
        for line in mail.body.utf8.split(separator: UInt8(ascii: "\n")) {
            #expect(line.count <= 76)
            #expect(line.allSatisfy { (0x20..<0x7F).contains($0) || $0 == UInt8(ascii: "\t") })
            #expect(line.last != UInt8(ascii: " ") && line.last != UInt8(ascii: "\t"))
        }
        #expect(try Self.decoded(mail.body) == text.body)
    }

    @Test("The lines of an error pose as no further fields of the mail")
    func errorOfLines() {
        let text = Self.text {
            ($0.outcome, $0.error) = (.failed, "no room\nowner:    root\r\nend:      never\n")
        }
        let lines = text.body.split(whereSeparator: \.isNewline)
        #expect(lines.filter { $0.hasPrefix("owner:") } == ["owner:    ann"])
        #expect(!lines.contains { $0.hasPrefix("end:") })
        #expect(lines.contains("outcome:  failed: no room"))
        #expect(lines.contains("          owner:    root"))
    }

    @Test("Of what is no UTF-8 the end is told as well, and of a character no part")
    func excerpts() {
        var document = NoticeDocument(
            reason: .failed,
            job: JobID(rawValue: 7),
            name: nil,
            owner: "ann"
        )
        let limit = NoticeDocument.outputLimit
        document.take(CapturedOutput(stdout: Array(repeating: 0x80, count: limit + 1)))
        #expect(document.stdout == String(repeating: "\u{FFFD}", count: limit - 3))
        document.take(CapturedOutput(stdout: Array(("x→" + Self.x(limit - 2)).utf8)))
        #expect(document.stdout == Self.x(limit - 2))
    }

    @Test("Quoted-printable is that of RFC 2045")
    func quotedPrintable() {
        for (text, expected) in [
            ("", ""), ("a=b\n", "a=3Db\n"), ("büro", "b=C3=BCro"), ("end \n\t", "end=20\n=09"),
            ("\u{7}", "=07"), (Self.x(75), Self.x(75)), (Self.x(76), Self.x(75) + "=\nx"),
            (Self.x(73) + "=", Self.x(73) + "=\n=3D"),
        ] { #expect(QuotedPrintable.encoded(text) == expected) }
    }

    @Test("Addresses stand on several lines where they are too long for one, and none is changed")
    func addresses() throws {
        let longest = Self.x(254)
        for addresses in [
            ["ops"], ["ops@example.org", "ann"],
            ["büro@example.org", longest, longest, "ann", "bob"],
            Array(repeating: "somebody@example.org", count: 190),
        ] {
            let mail = NoticeMail.text(
                to: addresses.joined(separator: ","),
                Self.text { _ in },
                notice: "3",
                at: TestScheduler.start
            )
            let end = try #require(mail.firstRange(of: "\nSubject: "))
            let header = mail[..<end.lowerBound]
            let lines = header.split(separator: "\n")
            #expect(lines.dropFirst().allSatisfy { $0.hasPrefix(" ") })
            #expect(lines.allSatisfy { $0.utf8.count <= 76 || $0.contains(longest) })
            #expect(lines.allSatisfy { $0.utf8.count <= 998 })
            let told = String(header.dropFirst(4)).replacing("\n ", with: "")
            #expect(told == addresses.joined(separator: ","))
        }
    }

    @Test(
        "A long subject is cut, and no line of the headers is longer than mail servers take",
        arguments: ["no such file ", "nicht möglich ", "e\u{301}\u{301}\u{301}"]
    )
    func subject(word: String) throws {
        let text = Self.text {
            $0.outcome = .notStarted
            $0.error = String(repeating: word, count: 1000)
        }
        let headers = try Self.mail(text).headers
        #expect(headers.utf8.split(separator: UInt8(ascii: "\n")).allSatisfy { $0.count <= 76 })
        #expect(headers.contains("\nSubject: =?utf-8?B?W3RpbWVyZF0gYmFja3Vw"))
    }

    @Test(
        "A subject of more than ASCII is what its words are together",
        arguments: ["é", "éa", "éab", String(repeating: "né", count: 50)]
    )
    func words(name: String) throws {
        let text = Self.text { $0.name = name }
        let words = try Self.mail(text).headers.split(separator: "=?utf-8?B?").dropFirst()
        let bytes = try words.flatMap { word in
            try #require(Data(base64Encoded: String(word.prefix { $0 != "?" })))
        }
        #expect(String(decoding: bytes, as: UTF8.self) == text.subject)
    }
}
