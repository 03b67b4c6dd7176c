// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl

@testable import TimerD

/// What the log, and logs, say of runs that were in progress when the daemon ended.
@Suite("Runs in progress in the log", .timeLimit(.minutes(2)))
struct InterruptedRunTests {
    /// Starts a run of a named job that goes on until it is ended; its number.
    private func begin(_ daemon: DaemonProcess) async throws -> String {
        let added = try await daemon.timerctl(
            "add",
            "--in",
            "1ms",
            "--name",
            "nightly",
            "--",
            "sleep",
            "1000"
        )
        let run = try await daemon.runningRun(added.output.trimmingCharacters(in: .newlines))
        return "\(try #require(run.id))"
    }

    private func requireLine(_ log: String, _ text: String, of run: String) throws {
        let line = log.split(separator: "\n").first { $0.contains(text) }
        let words = try #require(line, "\(log)")
        for word in ["notice", "job=1", "name=nightly", "run=\(run)", "owner=\(geteuid())"] {
            #expect(words.contains(word), "\(words)")
        }
    }

    @Test(
        "After the runner's death each of them is told with its job, name, number and owner, and none of them is said to have written nothing"
    )
    func crash() async throws {
        try await DaemonProcess.with { daemon in
            let run = try await begin(daemon)
            let runner = daemon.runner
            await daemon.end(SIGKILL)
            kill(runner, SIGKILL)
            try await daemon.start()
            try await eventually("it is logged") { daemon.log.contains("a run was interrupted") }
            try requireLine(daemon.log, "a run was interrupted", of: run)
            // Its end is stored behind that line.
            let logs = try await daemon.timerctl("logs", "-f", "nightly")
            #expect(logs.errors.contains("nothing is known of what run \(run) of job 1"))
            #expect(!logs.errors.contains("wrote nothing"))
        }
    }

    @Test("A stop says of each that it goes on, and the next start that it is taken up")
    func stop() async throws {
        try await DaemonProcess.with { daemon in
            let run = try await begin(daemon)
            await daemon.end(SIGTERM)
            try requireLine(daemon.log, "a run goes on", of: run)
            try await daemon.start()
            try requireLine(daemon.log, "a run is taken up", of: run)
        }
    }
}
