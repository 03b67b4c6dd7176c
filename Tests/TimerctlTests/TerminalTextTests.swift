// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl
import TimerWords

@testable import timerctl

@Suite("Output on a terminal") struct TerminalTextTests {
    private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    /// What a terminal has of bytes that come in pieces of `size`.
    private func shown(_ bytes: [UInt8], size: Int, keepsReturns: Bool = true) -> String {
        var text = TerminalText(keepsReturns: keepsReturns)
        var shown: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            shown += text.take(bytes[start..<min(start + size, bytes.count)])
        }
        return String(decoding: shown + text.end(), as: UTF8.self)
    }

    @Test(
        "Colours stay, and what else a terminal would obey is spelled out, however the bytes come",
        arguments: [
            (bytes("plain Größe 東京 👩\u{200d}💻\n\tx\n"), "plain Größe 東京 👩\u{200d}💻\n\tx\n"),
            (bytes("\u{1b}[31mred\u{1b}[0m"), "\u{1b}[31mred\u{1b}[0m\u{1b}[0m"),
            (bytes("\u{1b}[38;5;1m\u{1b}[K1"), "\u{1b}[38;5;1m\u{1b}[K1\u{1b}[0m"),
            (bytes("\u{1b}]0;title\u{7}\u{1b}[2J\u{1b}[6n\u{1b}c"), "^[]0;title^G^[[2J^[[6n^[c"),
            (bytes("\u{1b}[1K\u{1b}[?25l"), "^[[1K^[[?25l"),
            (bytes("\u{9b}31m\u{202e}a\u{2028}\u{e0041}"), #"\u{9b}31m\u{202e}a\u{2028}\u{e0041}"#),
            (
                [0x41, 0x9b, 0x33, 0xe2, 0x80],
                #"A\x9b3"# + String(decoding: [0xe2], as: UTF8.self) + #"\x80"#
            ),
            (bytes("10%\r20%\r\na\u{8}b\0"), "10%\r20%\r\na^Hb^@"),
            (bytes("end \u{1b}"), "end ^["), (bytes("end \u{1b}[3"), "end ^[[3"),
            (
                bytes("\u{1b}[" + String(repeating: "1", count: 80) + "m"),
                "^[[" + String(repeating: "1", count: 80) + "m"
            ),
        ]
    )
    func shown(bytes: [UInt8], expected: String) {
        for size in [1, 2, 3, 1000] { #expect(shown(bytes, size: size) == expected) }
    }

    @Test("A character that has begun waits for its end")
    func pending() {
        var text = TerminalText(keepsReturns: true)
        #expect(text.take([0x61, 0xe2, 0x80]) == [0x61])
        #expect(text.take([0xae]) == Array(#"\u{202e}"#.utf8))
        #expect(text.end().isEmpty)
    }

    @Test("A line writes over its own date neither by a return nor by a sequence")
    func line() throws {
        let zone = try Zone(named: "Europe/Berlin")
        let dates = LocalDate(now: Timestamp(microseconds: 0), zone: zone)
        var lines = OutputLines(dates: dates, isForTerminal: true)
        let chunk = OutputReaderTests.chunk(
            .stdout,
            "a\rb\u{1b}[2K\r\n\u{1b}[31mred\nplain\n",
            at: 0,
            date: 1000
        )
        let text = String(decoding: lines.take(chunk), as: UTF8.self)
        #expect(
            text.split(separator: "\n", omittingEmptySubsequences: false) == [
                "1970-01-01 01:00:00.001 out a^Mb^[[2K",
                "1970-01-01 01:00:00.001 out \u{1b}[31mred\u{1b}[0m",
                "1970-01-01 01:00:00.001 out plain", "",
            ]
        )
    }
}
