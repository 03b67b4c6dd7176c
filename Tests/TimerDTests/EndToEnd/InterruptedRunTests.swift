// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl

@testable import TimerD

/// What the log says of runs that the daemon's end has interrupted.
@Suite("Interrupted runs in the log", .timeLimit(.minutes(2)))
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

    private func requireLine(_ log: String, of run: String) throws {
        let line = log.split(separator: "\n").first { $0.contains("a run was interrupted") }
        let words = try #require(line, "\(log)")
        for word in ["notice", "job=1", "name=nightly", "run=\(run)", "owner=\(geteuid())"] {
            #expect(words.contains(word), "\(words)")
        }
    }

    @Test("After a crash each of them is told with its job, name, number and owner")
    func crash() async throws {
        try await DaemonProcess.with { daemon in
            let run = try await begin(daemon)
            await daemon.end(SIGKILL)
            try await daemon.start()
            try await eventually("it is logged") { daemon.log.contains("a run was interrupted") }
            try requireLine(daemon.log, of: run)
        }
    }

    @Test("A stop that ends them tells the same")
    func stop() async throws {
        try await DaemonProcess.with { daemon in
            await daemon.end(SIGTERM)
            let file = daemon.folder + "/timerd.json"
            try #"{"drainTime": "0s"}"#.write(toFile: file, atomically: false, encoding: .utf8)
            try await daemon.start(["--config", file])
            let run = try await begin(daemon)
            await daemon.end(SIGTERM)
            try requireLine(daemon.log, of: run)
        }
    }
}
