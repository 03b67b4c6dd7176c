// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing

@testable import TimerControl

@Suite("OutputReply") struct OutputReplyTests {
    @Test("Output comes as the bytes it was")
    func bytes() {
        func chunk(_ text: String?, base64: String? = nil) -> OutputReply.Chunk {
            OutputReply.Chunk(
                stream: .stdout,
                at: Timestamp(microseconds: 0),
                offset: 0,
                text: text,
                base64: base64
            )
        }
        #expect(chunk("é\n").bytes == [0xc3, 0xa9, 0x0a])
        #expect(chunk(nil, base64: "/wAB").bytes == [0xff, 0x00, 0x01])
        #expect(chunk(nil).bytes.isEmpty)
        #expect(chunk(nil, base64: "Y!").bytes.isEmpty)
    }

    @Test(
        "Base 64 of any length is read, and what is none is nil",
        arguments: [
            ("", []), ("/wBh", [0xff, 0, 0x61]), ("YQ==", [0x61]), ("YWI=", [0x61, 0x62]),
            ("+/+/", [0xfb, 0xff, 0xbf]), ("Y!", nil), ("Y Q", nil),
        ] as [(String, [UInt8]?)]
    )
    func base64(_ text: String, _ bytes: [UInt8]?) {
        #expect(Base64.decoded(text) == bytes)
    }

    @Test("How far each stream has been read is told by the stream")
    func position() {
        var position = OutputPosition(stdout: 3, stderr: 5)
        #expect(position[.stdout] == 3 && position[.stderr] == 5)
        position[.stderr] += 2
        #expect(position == OutputPosition(stdout: 3, stderr: 7))
    }
}
