// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerD

@Suite("What a connection holds") struct ConnectionOutputTests {
    @Test("A line counts whole until the socket has taken its last byte")
    func lines() {
        var output = ConnectionOutput()
        for count in [300, 100, 50] { output.add(count) }
        let kept = [450, 449, 151, 150, 149, 51, 50, 1, 0].map { rest in
            output.left(rest)
            return output.kept
        }
        #expect(kept == [450, 450, 450, 150, 150, 150, 50, 50, 0])
        #expect(output.unsent == 0)
        output.add(10)
        #expect(output.kept == 10)
    }
}
