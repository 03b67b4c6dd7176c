// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// A daemon that whoever starts it gives no standard input and no standard output.
@Suite("Closed descriptors", .timeLimit(.minutes(2))) struct ClosedDescriptorTests {
    @Test("What is meant for a standard output that was closed at the start is written nowhere")
    func closed() async throws {
        try await DaemonProcess.with { daemon in
            await daemon.end(SIGTERM)
            daemon.endRunner()
            let script = "TIMERD_OUTPUT_ON_STDOUT=true exec \"$@\" 0<&- 1>&-"
            try await daemon.start(through: ["sh", "-c", script, "sh"])
            for number in 0...1 {
                let file = try FileManager.default.destinationOfSymbolicLink(
                    atPath: "/proc/\(daemon.pid)/fd/\(number)"
                )
                #expect(file == "/dev/null")
            }
            // Each byte of it would be a signal, if the number were that of the signals' pipe.
            let added = try await daemon.timerctl("add", "--in", "1h", "--", "echo", "text")
            try #require(added.status == 0, "\(added.errors)")
            let ended = try await daemon.timerctl("fire", "--wait", "1")
            #expect(ended.status == 0, "\(ended.errors)")
            #expect(await daemon.end(SIGTERM) == .exited(0))
        }
    }
}
