// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl
import TimerWords

@testable import timerctl

@Suite("OutputReader") struct OutputReaderTests {
    static func chunk(
        _ stream: StandardStream,
        _ text: String,
        at offset: Int64,
        date: Int64 = 0
    ) -> OutputReply.Chunk {
        OutputReply.Chunk(
            stream: stream,
            at: Timestamp(microseconds: date),
            offset: offset,
            text: text
        )
    }

    private func reply(
        _ chunks: [OutputReply.Chunk],
        _ stdout: Int64 = 0,
        _ stderr: Int64 = 0,
        more: Bool? = nil
    ) -> OutputReply {
        OutputReply(
            run: RunID(rawValue: 1),
            running: true,
            chunks: chunks,
            more: more,
            stdout: OutputReply.Total(bytes: stdout),
            stderr: OutputReply.Total(bytes: stderr)
        )
    }

    @Test("Replies that follow each other lose nothing, and each stream stands by itself")
    func gapless() {
        var reader = OutputReader()
        let (first, second) = (Self.chunk(.stdout, "é\n", at: 0), Self.chunk(.stderr, "x", at: 0))
        #expect(reader.read(reply([first], 3, 1, more: true)) == [.chunk(first)])
        #expect(reader.position == OutputPosition(stdout: 3, stderr: 0))
        #expect(!reader.isBehind(reply([], 3, 1)))
        #expect(reader.read(reply([second], 3, 1)) == [.chunk(second)])
        #expect(reader.isBehind(reply([], 3, 1)))
    }

    @Test("What is not there is counted, at the beginning, in between and at the end")
    func losses() {
        var reader = OutputReader()
        let head = Self.chunk(.stdout, "abc", at: 7)
        #expect(reader.read(reply([head], 10)) == [.gap(.stdout, 7), .chunk(head)])
        let (err, out) = (Self.chunk(.stderr, "x", at: 5), Self.chunk(.stdout, "z", at: 30))
        #expect(
            reader.read(reply([err, out], 31, 9)) == [
                .gap(.stderr, 5), .chunk(err), .gap(.stdout, 20), .chunk(out), .gap(.stderr, 3),
            ]
        )
        #expect(reader.position == OutputPosition(stdout: 31, stderr: 9))
    }

    @Test(
        "As lines, each has the date of its first byte and its stream, and half a line waits for the rest"
    )
    func lines() throws {
        let zone = try Zone(named: "Europe/Berlin")
        var lines = OutputLines(dates: LocalDate(now: Timestamp(microseconds: 0), zone: zone))
        func take(_ stream: StandardStream, _ text: String, _ date: Int64) -> String {
            let chunk = Self.chunk(stream, text, at: 0, date: date * 1000)
            return String(decoding: lines.take(chunk), as: UTF8.self)
        }
        #expect(take(.stdout, "a\nb", 1) == "1970-01-01 01:00:00.001 out a\n")
        #expect(take(.stderr, "x\n", 2) == "1970-01-01 01:00:00.002 err x\n")
        #expect(
            take(.stdout, "c\n\n", 3).split(separator: "\n").first
                == "1970-01-01 01:00:00.001 out bc"
        )
        #expect(take(.stdout, "d", 4).isEmpty)
        let gap = lines.gap(12, of: .stdout, at: Timestamp(microseconds: 5000))
        #expect(
            String(decoding: gap, as: UTF8.self) == """
                1970-01-01 01:00:00.004 out d
                1970-01-01 01:00:00.005 out [12 bytes are left out]

                """
        )
        #expect(take(.stderr, "end", 6).isEmpty)
        #expect(String(decoding: lines.end(), as: UTF8.self) == "1970-01-01 01:00:00.006 err end\n")
        #expect(lines.end().isEmpty)
    }
}
