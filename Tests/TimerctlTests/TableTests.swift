// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import timerctl

@Suite("Table") struct TableTests {
    private func table(_ rows: [[Table.Cell]]) -> Table {
        Table(
            columns: [
                .init(title: "ID", isRightAligned: true), .init(title: "NAME"),
                .init(title: "COMMAND"),
            ],
            rows: rows
        )
    }

    @Test("Columns are aligned, wide characters and escapes included")
    func aligned() {
        let text = table([
            ["1", "a", "true"], ["10", "東京", "x"], ["2", .init("\u{1b}[0m"), "y"],
        ]).text(for: .plain)
        #expect(
            text == """
                ID  NAME   COMMAND
                 1  a      true
                10  東京   x
                 2  ^[[0m  y

                """
        )
    }

    @Test("Only the last column is cut, and only for a terminal")
    func cut() {
        let rows: [[Table.Cell]] = [["1", "heartbeat", "curl --fail --silent http://localhost/"]]
        let narrow = Terminal(width: 30, hasColour: false)
        let line = table(rows).text(for: narrow).split(separator: "\n")[1]
        #expect(line == " 1  heartbeat  curl --fail --…")
        #expect(line.count == 30)
        #expect(table(rows).text(for: .plain).contains("http://localhost/\n"))
    }

    @Test("A terminal too narrow for the first columns keeps them whole")
    func tooNarrow() {
        let rows: [[Table.Cell]] = [["1", "a-name-of-thirty-characters-xx", "sleep 1000000000"]]
        let text = table(rows).text(for: Terminal(width: 20, hasColour: false))
        #expect(text.contains("a-name-of-thirty-characters-xx  sleep 10000…\n"))
    }

    @Test("Colour takes no room and is there for a terminal alone")
    func colour() {
        let rows: [[Table.Cell]] = [["1", .init("a", .yellow), "true"]]
        let coloured = table(rows).text(for: Terminal(width: 80, hasColour: true))
        #expect(coloured.contains(" 1  \u{1b}[33ma\u{1b}[0m     true\n"))
        #expect(!table(rows).text(for: .plain).contains("\u{1b}"))
    }
}

@Suite("Terminal") struct TerminalTests {
    @Test(
        "NO_COLOR and a dumb terminal keep the output plain",
        arguments: [
            (nil, "xterm-256color", true), ("", "xterm", true), ("1", "xterm", false),
            (nil, "dumb", false), (nil, nil, false), (nil, "", false),
        ] as [(String?, String?, Bool)]
    )
    func colour(noColour: String?, term: String?, allowed: Bool) {
        #expect(Terminal.allowsColour(noColour: noColour, term: term) == allowed)
    }
}
