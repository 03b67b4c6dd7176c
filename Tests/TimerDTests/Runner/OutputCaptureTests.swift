// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerD

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
        Case(4, ["abcde"], "bcde", 1),
        Case(4, ["ab", "cd"], "abcd", 0),
        Case(4, ["ab", "cde"], "bcde", 1),
        Case(4, ["abc", "def"], "cdef", 2),
        Case(4, ["abcd", "e", "f", "g", "h", "i"], "fghi", 5),
        Case(4, ["abcd", "ef", "ghi"], "fghi", 5),
        Case(4, ["abcd", "efg", "hij"], "ghij", 6),
        Case(4, ["abcd", "ef", "ghij"], "ghij", 6),
        Case(4, ["abcd", "ef", "ghijk", "l"], "ijkl", 8),
        Case(4, ["abcdefghij", "", "k"], "hijk", 7),
        Case(1, ["a", "b", "cd"], "d", 3),
        Case(0, ["a", "", "bc"], "", 3),
    ]

    @Test("The last bytes are kept, and those before them counted", arguments: cases)
    func keepsTail(of each: Case) {
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
        #expect(capture.bytes == Array(stream.suffix(33)))
        #expect(capture.dropped == 167)
    }
}

extension OutputCapture {
    fileprivate mutating func append(_ text: String) {
        Array(text.utf8).withUnsafeBytes { append($0) }
    }
}
