// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import timerctl

@Suite("Printable") struct PrintableTests {
    @Test(
        "What a terminal would obey is spelled out",
        arguments: [
            ("plain Größe 東京", "plain Größe 東京"),
            ("\u{1b}[31mred\u{1b}[0m", "^[[31mred^[[0m"),
            ("a\nb\tc\rd\u{7f}\0", "a^Jb^Ic^Md^?^@"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("a\u{202e}b\u{2066}c\u{200b}", "a\\u{202e}b\\u{2066}c\\u{200b}"),
            ("line\u{2028}separator", "line\\u{2028}separator"),
            ("👩\u{200d}💻", "👩\u{200d}💻"),
            ("a\r\nb", "a^M^Jb"),
        ]
    )
    func escaped(text: String, shown: String) {
        #expect(Printable.escaped(text) == shown)
    }

    @Test("Metrics are spelled out on a terminal alone: a program gets them as they are")
    func metrics() {
        let text = "timerd_jobs{node=\"a\u{1b}[2Jb\"} 1\n# EOF\n"
        #expect(Metrics.text(text, isForTerminal: false) == text)
        #expect(
            Metrics.text(text, isForTerminal: true) == "timerd_jobs{node=\"a^[[2Jb\"} 1\n# EOF\n"
        )
    }

    @Test(
        "Width counts the columns of a terminal",
        arguments: [
            ("", 0), ("abc", 3), ("Größe", 5), ("東京", 4), ("한국", 4), ("ｶﾅ", 2), ("ＡＢ", 4),
            ("e\u{301}", 1), ("🙂", 2), ("❤\u{fe0f}", 2), ("1\u{fe0f}\u{20e3}", 2),
            ("👩\u{200d}💻", 2), ("…", 1),
        ]
    )
    func width(text: String, columns: Int) {
        #expect(Printable.width(text) == columns)
    }

    @Test(
        "A cut text fits, and ends in an ellipsis only when something is missing",
        arguments: [
            ("abcdef", 6, "abcdef"), ("abcdef", 5, "abcd…"), ("東京都", 6, "東京都"),
            ("東京都", 5, "東京…"), ("東京都", 4, "東…"), ("abc", 1, "…"),
            // Neither a part of a number nor one without its unit.
            ("in 400 days", 6, "in …"), ("in 400 days", 7, "in …"), ("in 400 days", 8, "in …"),
            ("in 400 days", 9, "in 400 d…"), ("12345", 4, "…"), ("every 90m", 8, "every …"),
            ("is 1.5 MB", 5, "is …"), ("80% full", 3, "…"), ("backup-2026", 9, "backup-2…"),
            ("cron 0 0 1 1 *", 11, "cron 0 0 1…"),
            // Another word is no unit.
            ("exit 12 after 3 s", 8, "exit 12…"), ("exit 12 after 3 s", 9, "exit 12 …"),
            ("exit 12 after 3 s", 16, "exit 12 after …"), ("12345 backup", 6, "12345…"),
            ("12345 hourly", 7, "12345 …"), ("12345 h", 6, "…"),
        ]
    )
    func cut(text: String, columns: Int, shown: String) {
        #expect(Printable.cut(text, to: columns) == shown)
        #expect(Printable.width(Printable.cut(text, to: columns)) <= columns)
    }

    @Test(
        "A wrapped text is broken at blanks where it can be, and fits",
        arguments: [
            ("one two three", 20, ["one two three"]), ("one two three", 8, ["one two", "  three"]),
            ("one two three", 7, ["one two", "  three"]),
            ("abcdefghij", 4, ["abcd", "efgh", "ij"]), ("東京都内", 5, ["東京", "都内"]),
            ("a 東京東京東京", 6, ["a 東京", "東京東", "京"]),
        ]
    )
    func wrapped(text: String, columns: Int, lines: [String]) {
        let shown = Printable.wrapped(text, to: columns, indent: 2)
        #expect(shown.allSatisfy { Printable.width($0) <= columns })
        #expect(shown.joined().filter { $0 != " " } == text.filter { $0 != " " })
        if columns > 6 { #expect(shown == lines) }
    }
}
