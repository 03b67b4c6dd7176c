// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerControl

@testable import Runner
@testable import TimerD

@Suite("OutputLog") struct OutputLogTests {
    /// "out@0+3" for each piece: its stream, its date in ms and how many bytes.
    private static func words(_ log: OutputLog) -> [String] {
        log.read(after: OutputPosition(), most: .max).pieces.map {
            "\($0.stream == .stdout ? "out" : "err")@\($0.atMicroseconds / 1000)+\($0.bytes.count)"
        }
    }

    private static func write(
        _ log: inout OutputLog,
        _ stream: StandardStream,
        _ count: Int,
        at milliseconds: Int64
    ) {
        let bytes = [UInt8](repeating: 120, count: count)
        _ = log.append(bytes[...], from: log[stream].end, at: milliseconds * 1000, to: stream)
    }

    @Test("Pieces stand in the order in which they came; those of one stream within 5 ms are one")
    func order() {
        var log = OutputLog(limit: 4096)
        Self.write(&log, .stdout, 3, at: 0)
        Self.write(&log, .stdout, 4, at: 4)
        Self.write(&log, .stderr, 1, at: 4)
        Self.write(&log, .stdout, 2, at: 5)
        Self.write(&log, .stdout, 2, at: 20)
        #expect(Self.words(log) == ["out@0+7", "err@4+1", "out@5+2", "out@20+2"])
    }

    @Test("A clock that is set back changes no order")
    func clockSetBack() {
        var log = OutputLog(limit: 4096)
        Self.write(&log, .stdout, 1, at: 1000)
        Self.write(&log, .stderr, 1, at: 10)
        Self.write(&log, .stdout, 1, at: 11)
        Self.write(&log, .stdout, 1, at: .min / 1000)
        #expect(Self.words(log).prefix(3) == ["out@1000+1", "err@10+1", "out@11+1"])
        #expect(Self.words(log).count == 4)
    }

    @Test("Where there are too many pieces, the nearest ones join, and no byte goes")
    func tooMany() {
        var log = OutputLog(limit: 65_536)
        for number in 0..<5000 {
            Self.write(&log, .stdout, 2, at: Int64(number) * 20)
            Self.write(&log, .stderr, 1, at: Int64(number) * 20 + 1)
        }
        let pieces = log.read(after: OutputPosition(), most: .max).pieces
        #expect(pieces.count <= OutputNotes.limit(for: 65_536))
        #expect(pieces.count >= OutputNotes.limit(for: 65_536) / 4)
        for (stream, size) in [(StandardStream.stdout, 10_000), (.stderr, 5000)] {
            var end: Int64 = 0
            for piece in pieces where piece.stream == stream {
                #expect(piece.offset == end)
                end = piece.end
            }
            #expect(end == size)
        }
        #expect(pieces.map(\.atMicroseconds) == pieces.map(\.atMicroseconds).sorted())
    }

    @Test("A stream that goes on and on keeps the dates of what is kept of it")
    func longStream() {
        var log = OutputLog(limit: 1024)
        for number in 0..<100_000 { Self.write(&log, .stdout, 64, at: Int64(number) * 1000) }
        let pieces = log.read(after: OutputPosition(), most: .max).pieces
        #expect(pieces.first?.atMicroseconds == 0)
        #expect(pieces.last?.atMicroseconds == 99_999_000_000)
        #expect(pieces.reduce(0) { $0 + $1.bytes.count } == 1024)
    }

    @Test("A page goes on behind a position, and says whether there is more")
    func pages() {
        var log = OutputLog(limit: 16)
        Self.write(&log, .stdout, 3, at: 0)
        Self.write(&log, .stderr, 20, at: 100)
        Self.write(&log, .stdout, 3, at: 200)
        let whole = log.read(after: OutputPosition(), most: .max).pieces
        #expect(whole.map(\.offset) == [0, 0, 8, 3])
        for size in 1...30 {
            var position = OutputPosition()
            var bytes = 0
            while true {
                let page = log.read(after: position, most: size)
                for piece in page.pieces {
                    bytes += piece.bytes.count
                    switch piece.stream {
                    case .stdout: position.stdout = piece.end
                    case .stderr: position.stderr = piece.end
                    }
                }
                if !page.hasMore { break }
                #expect(!page.pieces.isEmpty)
                guard !page.pieces.isEmpty else { return }
            }
            #expect(bytes == 22)
            #expect(position == log.end)
        }
    }

    @Test("The captured output has the same bytes in the same order, also when it was stored")
    func stored() throws {
        var log = OutputLog(limit: 200_000)
        for number in 0..<300 {
            let stream: StandardStream = number % 3 == 0 ? .stderr : .stdout
            let bytes = (0..<1500).map { UInt8(truncatingIfNeeded: $0 &* number) }
            _ = log.append(
                bytes[...],
                from: log[stream].end,
                at: Int64(number) * 10_000,
                to: stream
            )
        }
        let captured = log.captured
        #expect(captured.total(of: .stdout) == 300_000)
        #expect(captured.stdoutDropped == Int(log.stdout.notShown))
        var page = OutputPage(after: OutputPosition(), most: .max)
        let parts = OutputPart.parts(of: captured, orAt: 0)
        #expect(parts.allSatisfy { $0.bytes.count <= OutputPart.size + 21 })
        for part in parts {
            let isWhole = OutputPart.forEach(in: part.bytes) { span, bytes in
                page.take(span) { Array(bytes.dropFirst(Int($0 - span.offset)).prefix($1)) }
            }
            #expect(isWhole)
        }
        #expect(page.pieces == log.read(after: OutputPosition(), most: .max).pieces)
        #expect(parts.last?.end == log.end)
    }

    @Test("A row that is cut or damaged is read as far as it can be", arguments: 0..<60)
    func damaged(length: Int) {
        let output = CapturedOutput(stdout: Array("abc".utf8), stderr: Array("defg".utf8))
        let row = OutputPart.parts(of: output, orAt: 7)[0].bytes
        var text: [UInt8] = []
        let isWhole = OutputPart.forEach(in: Array(row.prefix(length))) { _, bytes in
            text += bytes
            return true
        }
        #expect(isWhole == [0, 24, 49].contains(min(length, row.count)))
        #expect(text.count == (length < 24 ? 0 : length < 49 ? 3 : 7))
    }
}
