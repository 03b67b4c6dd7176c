// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LinuxSystem

@Suite("What proc(5) says of a process") struct ProcessStatusTests {
    @Test(
        "A process has ended once all its threads have, the first of which may have before",
        arguments: [
            ("S", 1, false), ("Z", 1, true), ("Z", 0, true), ("Z", 2, false), ("X", 0, true),
        ]
    )
    func threads(state: String, threads: Int, hasEnded: Bool) throws {
        let line =
            "7 (a) S 9) \(state) 1 7 7 0 -1 4228172 0 0 0 0 0 0 0 0 20 0 \(threads) 0 4711 0 0"
        let status = try #require(ProcessStatus(line))
        #expect(status.hasEnded == hasEnded && status.ticks == 4711)
        #expect(!status.isStopped)
    }
}
