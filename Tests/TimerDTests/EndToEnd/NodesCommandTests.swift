// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerControl

@testable import TimerD

@Suite("nodes and drain", .timeLimit(.minutes(2)))
struct NodesCommandTests {
    @Test("A daemon alone has no nodes, which is no error, and none to drain, which is one")
    func alone() async throws {
        try await DaemonProcess.with { daemon in
            let sentence = "this daemon shares its jobs with no other host (setting 'database')\n"
            for options in [[], ["--json"]] as [[String]] {
                let nodes = try await daemon.timerctl(["nodes"] + options)
                #expect(nodes.status == 0 && nodes.errors == sentence && nodes.output == "")
            }
            let drain = try await daemon.timerctl("drain", "alpha")
            #expect(drain.status == 1 && drain.errors == "timerctl: \(sentence)")
            let words = try await daemon.timerctl("complete", "nodes")
            #expect(words.status == 0 && words.output == "")
            #expect(try await !daemon.timerctl("metrics").output.contains("timerd_node"))
        }
    }
}
