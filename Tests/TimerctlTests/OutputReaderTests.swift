// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerControl

@testable import timerctl

@Suite("OutputReader") struct OutputReaderTests {
    private func reply(
        _ stdout: OutputReply.Stream,
        _ stderr: OutputReply.Stream = text("", at: 0)
    ) -> OutputReply {
        OutputReply(run: RunID(rawValue: 1), running: true, stdout: stdout, stderr: stderr)
    }

    private static func text(_ text: String, at offset: Int64) -> OutputReply.Stream {
        OutputReply.Stream(text: text, base64: nil, offset: offset, dropped: offset)
    }

    @Test("Replies that follow each other lose nothing, and each stream stands by itself")
    func gapless() {
        var reader = OutputReader()
        #expect(reader.read(reply(Self.text("é\n", at: 0))) == OutputPosition())
        #expect(reader.position == OutputPosition(stdout: 3, stderr: 0))
        let binary = OutputReply.Stream(text: nil, base64: "/wAB", offset: 0, dropped: 0)
        #expect(reader.read(reply(Self.text("", at: 3), binary)) == OutputPosition())
        #expect(reader.position == OutputPosition(stdout: 3, stderr: 3))
    }

    @Test("What is no longer kept is counted, from the beginning and in between")
    func losses() {
        var reader = OutputReader()
        #expect(reader.read(reply(Self.text("abc", at: 7))) == OutputPosition(stdout: 7))
        #expect(reader.position.stdout == 10)
        let lost = reader.read(reply(Self.text("", at: 10), Self.text("x", at: 5)))
        #expect(lost == OutputPosition(stdout: 0, stderr: 5))
        #expect(reader.read(reply(Self.text("z", at: 30), Self.text("", at: 6))).stdout == 20)
        #expect(reader.position == OutputPosition(stdout: 31, stderr: 6))
    }
}
