// SPDX-License-Identifier: Apache-2.0

import Glibc
import JobModel
import Testing

/// A daemon that does not answer, and one that takes its time.
@Suite("Silent daemon", .timeLimit(.minutes(3))) struct SilentDaemonTests {
    @Test("Clients of a daemon that is stuck end with a sentence, doctor among them")
    func stuck() async throws {
        try await DaemonProcess.with { daemon in
            defer { kill(daemon.pid, SIGCONT) }
            try await daemon.standStill()
            async let list = daemon.timerctl("list")
            async let watch = daemon.timerctl("watch")
            async let doctor = daemon.timerctl("doctor")
            for (answer, request) in [
                (try await list, "job.list"), (try await watch, "events.subscribe"),
            ] {
                #expect(answer.status == 69)
                let words = "no answer to '\(request)' at '\(daemon.socket)' for"
                #expect(answer.errors.contains(words), "\(answer.errors)")
            }
            let findings = try await doctor
            #expect(findings.status == 1)
            #expect(findings.output.contains("BROKEN   socket"), "\(findings.output)")
        }
    }

    @Test("An answer that rightly takes long is waited for")
    func slow() async throws {
        try await DaemonProcess.with { daemon in
            let job = try await daemon.timerctl(
                "add",
                "--quiet",
                "--in",
                "1ms",
                "--",
                "sh",
                "-c",
                "sleep 7; echo over"
            )
            let id = job.output.split(separator: "\n").first.map(String.init) ?? "1"
            let logs = try await daemon.timerctl("logs", "-f", id)
            #expect(logs.status == 0)
            #expect(logs.output.contains("over"), "\(logs.output) \(logs.errors)")
        }
    }
}
