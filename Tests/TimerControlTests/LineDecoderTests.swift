// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing
import TimerControl

@Suite("LineDecoder") struct LineDecoderTests {
    /// All that a stream holds, cut after each so many bytes, and what its end adds.
    private func lines(_ text: String, limit: Int = 8, every size: Int) -> [LineDecoder.Line] {
        var decoder = LineDecoder(limit: limit)
        var lines: [LineDecoder.Line] = []
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            decoder.append(ByteBuffer(bytes: rest.prefix(size)))
            rest = rest.dropFirst(size)
            while let line = decoder.next() { lines.append(line) }
            #expect(decoder.count <= limit)
        }
        if let line = decoder.finish() { lines.append(line) }
        return lines
    }

    @Test(
        "Lines are the same wherever the bytes were cut",
        arguments: [
            ("a\nbc\n", ["a", "bc"]),
            ("a\r\nbc\r\n", ["a", "bc"]),
            ("\n\r\n\na\n", ["a"]),
            ("\n\r\na\n\n\n\r\n\rb\n\n", ["a", "\rb"]),
            ("a\rb\n", ["a\rb"]),
            ("a\nbc", ["a", "bc"]),
            ("", []),
            ("12345678\n1\n", ["12345678", "1"]),
            ("123456789\n1\n", [nil, "1"]),
            ("1\n12345678901234567890123456789012345678901234567890\n1\n\n", ["1", nil, "1"]),
            ("123456789", [nil]),
            ("123456789\n", [nil]),
            ("123456789\n123456789\n1", [nil, nil, "1"]),
        ] as [(String, [String?])]
    )
    func cuts(text: String, expected: [String?]) {
        let expected = expected.map { $0.map { LineDecoder.Line.line(Array($0.utf8)) } ?? .tooLong }
        for size in 1...max(text.utf8.count, 1) {
            #expect(lines(text, every: size) == expected, "cut every \(size) bytes")
        }
    }

    @Test("A line that is too long is reported as soon as it is, and takes no memory from then on")
    func longLine() {
        var decoder = LineDecoder(limit: 1000)
        var reports = 0
        for _ in 0..<10_000 {
            decoder.append(ByteBuffer(repeating: UInt8(ascii: "x"), count: 997))
            while let line = decoder.next() {
                #expect(line == .tooLong)
                reports += 1
            }
            #expect(decoder.count <= 1000)
        }
        #expect(reports == 1)
        decoder.append(ByteBuffer(string: "\nok\n"))
        #expect(decoder.next() == .line(Array("ok".utf8)))
    }
}
