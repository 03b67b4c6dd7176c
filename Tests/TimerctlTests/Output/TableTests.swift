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

    @Test("A terminal that shows ASCII alone has a mark of it where a text is cut")
    func ascii() {
        let rows: [[Table.Cell]] = [["1", "heartbeat", "curl --fail --silent http://localhost/"]]
        let narrow = Terminal(width: 30, hasColour: false, mark: "~")
        let line = table(rows).text(for: narrow).split(separator: "\n")[1]
        #expect(line == " 1  heartbeat  curl --fail --~")
    }

    @Test("No line is longer than the terminal, however narrow that is", arguments: 1...60)
    func tooNarrow(width: Int) {
        let rows: [[Table.Cell]] = [
            ["1", "a-name-of-thirty-characters-xx", "sleep 1000000000"],
            ["200", "e\u{301}東京 and more", "東京東京東京東京東京東京"],
        ]
        var table = table(rows)
        table.columns[1].narrowest = 8
        for isRanked in [false, true] {
            if isRanked { table.columns[2].rank = 1 }
            let lines = table.text(for: Terminal(width: width, hasColour: false)).split(
                separator: "\n",
                omittingEmptySubsequences: false
            )
            #expect(lines.count == 4, "a row is a line")
            #expect(lines.allSatisfy { Printable.width(String($0)) <= width })
        }
    }

    @Test("Where not all columns have room, those with the highest rank are left out first")
    func rank() {
        var table = table([["1", "heartbeat", "curl --fail"]])
        table.columns[1].rank = 1
        table.columns[2].rank = 2
        let texts = [30, 20, 10].map { width in
            table.text(for: Terminal(width: width, hasColour: false)).split(separator: "\n")[1]
        }
        #expect(texts == [" 1  heartbeat  curl --fail", " 1  heartbeat", "1"])
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
