// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Runner

@Suite("OutputCapture") struct OutputCaptureTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var limit: Int
        var pieces: [String]
        var kept: String
        var dropped: Int

        init(_ limit: Int, _ pieces: [String], _ kept: String, _ dropped: Int) {
            self.limit = limit
            self.pieces = pieces
            self.kept = kept
            self.dropped = dropped
        }

        var testDescription: String { "\(pieces) into \(limit) bytes" }
    }

    static let cases = [
        Case(4, [], "", 0),
        Case(4, [""], "", 0),
        Case(4, ["a"], "a", 0),
        Case(4, ["abcd"], "abcd", 0),
        Case(4, ["abcde"], "acde", 1),
        Case(4, ["ab", "cd"], "abcd", 0),
        Case(4, ["ab", "cde"], "acde", 1),
        Case(4, ["abc", "def"], "adef", 2),
        Case(4, ["abcd", "e", "f", "g", "h", "i"], "aghi", 5),
        Case(4, ["abcd", "ef", "ghi"], "aghi", 5),
        Case(4, ["abcd", "efg", "hij"], "ahij", 6),
        Case(4, ["abcd", "ef", "ghijk", "l"], "ajkl", 8),
        Case(4, ["abcdefghij", "", "k"], "aijk", 7),
        Case(8, ["a", "b", "c", "defghijkl"], "abghijkl", 4),
        Case(3, ["abcdefgh"], "fgh", 5),
        Case(1, ["a", "b", "cd"], "d", 3),
        Case(0, ["a", "", "bc"], "", 3),
    ]

    @Test(
        "The first quarter and the last bytes are kept, and those between counted",
        arguments: cases
    )
    func keepsBothEnds(of each: Case) {
        var capture = OutputCapture(limit: each.limit)
        for piece in each.pieces { capture.append(piece) }
        #expect(String(decoding: capture.bytes, as: UTF8.self) == each.kept)
        #expect(capture.dropped == each.dropped)
    }

    @Test("Any cutting of a stream into pieces keeps the same bytes", arguments: 1...40)
    func cutting(piece: Int) {
        let stream = (0..<200).map { UInt8($0) }
        var capture = OutputCapture(limit: 33)
        for start in stride(from: 0, to: stream.count, by: piece) {
            stream[start..<min(start + piece, stream.count)].withUnsafeBytes { capture.append($0) }
        }
        #expect(capture.bytes == stream.prefix(8) + stream.suffix(25))
        #expect(capture.dropped == 167)
        for start in Int(capture.tailStart)..<200 {
            #expect(capture.copy(from: Int64(start), count: 200) == Array(stream[start...]))
        }
        #expect(capture.copy(from: 3, count: 4) == [3, 4, 5, 6])
    }

    @Test(
        "Beside a gap there is no half of a line, where a line ends near it",
        arguments: [
            // Without a gap nothing is cut.
            ("a\nbcdefghij", 16, "a\nbcdefghij"),
            ("a\nbc|defghijklmnop\nqrs|tuvw\nxyz", 16, "a\nqrstuvw\nxyz"),
            ("abcd|efghijklmnopqrs|tuvwxyz01234", 16, "abcdtuvwxyz01234"),
            // What ends with the only end of a line is shown.
            ("abcd|efghijklmnopqrs|tuvwxyz0123\n", 16, "abcdtuvwxyz0123\n"),
        ]
    )
    func lineEnds(text: String, limit: Int, shown: String) {
        var capture = OutputCapture(limit: limit)
        capture.append(text.filter { $0 != "|" })
        let (headEnd, tailStart) = capture.shown
        let bytes =
            capture.head.prefix(Int(headEnd))
            + capture.copy(from: tailStart, count: Int(capture.end - tailStart))
        #expect(String(decoding: bytes, as: UTF8.self) == shown)
        #expect(Int(capture.notShown) + bytes.count == Int(capture.end))
    }

    @Test("What was lost on the way leaves the head, and a tail that begins anew")
    func lost() {
        var capture = OutputCapture(limit: 16)
        capture.append("ab")
        capture.skip(to: 10)
        capture.append("kl")
        #expect(capture.bytes == Array("abkl".utf8))
        #expect(capture.dropped == 8)
        capture.skip(to: 5)
        #expect(capture.end == 12)
    }
}

extension OutputCapture {
    fileprivate mutating func append(_ text: String) {
        Array(text.utf8).withUnsafeBytes { append($0) }
    }
}
