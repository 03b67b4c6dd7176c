// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import timerctl

@Suite("Keys of top") struct TopKeyTests {
    private static let table: [(String, [TopKey])] = [
        ("jk", [.character("j"), .character("k")]),
        ("\u{1b}[A\u{1b}[B\u{1b}OA\u{1b}OB", [.up, .down, .up, .down]),
        ("\u{1b}[5~\u{1b}[6~\u{1b}[H\u{1b}[F", [.pageUp, .pageDown, .home, .end]),
        ("\u{1b}[1~\u{1b}[4~\u{1b}[7~\u{1b}[8~\u{1b}OH", [.home, .end, .home, .end, .home]),
        (
            "\u{1b}[20~\u{1b}OP\u{1b}[[A\u{1b}[11~",
            [.function(9), .function(1), .function(1), .function(1)]
        ),
        ("\r\n\t\u{1b}[Z\u{7f}\u{8}", [.enter, .enter, .tab, .backTab, .backspace, .backspace]),
        ("\u{3}\u{4}\u{1a}", [.control("c"), .control("d"), .control("z")]),
        ("é東🙂", [.character("é"), .character("東"), .character("🙂")]),
        ("\u{1b}f", [.other]), ("\u{1b}[1;5A", [.up]), ("\u{1b}[200~x", [.other, .character("x")]),
        ("\u{1b}\u{1b}[A", [.escape, .up]), ("\0", [.other]),
    ]

    @Test("Bytes are read as keys, whole or one by one", arguments: table)
    func keys(text: String, keys: [TopKey]) {
        var reader = TopKeyReader()
        #expect(reader.read(text.utf8) == keys)
        var slow = TopKeyReader()
        #expect(text.utf8.flatMap { slow.read([$0]) } == keys)
        #expect(slow.rest.isEmpty)
    }

    @Test("An Escape that nothing follows is the key; the beginning of another is none")
    func escape() {
        var reader = TopKeyReader()
        #expect(reader.read([0x1b]) == [])
        #expect(reader.finish() == [.escape])
        #expect(reader.finish() == [])
        #expect(reader.read([0x1b, 0x5b]) == [])
        #expect(reader.finish() == [.other])
    }

    @Test("Bytes that are no text, or an endless sequence, are passed over and not kept")
    func garbage() {
        var reader = TopKeyReader()
        #expect(reader.read([0xff, 0xc0, 0x41, 0x6a]).last == .character("j"))
        let endless = [0x1b, 0x5b] + [UInt8](repeating: 0x31, count: 1000)
        #expect(reader.read(endless).allSatisfy { $0 == .other || $0 == .character("1") })
        #expect(reader.rest.count < 100)
    }
}
