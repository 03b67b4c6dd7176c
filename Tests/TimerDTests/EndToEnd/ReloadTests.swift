// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Subprocess
import Testing
import TimerControl

@testable import TimerD

/// SIGHUP, sent to a real daemon with a configuration file.
@Suite("Reloading", .timeLimit(.minutes(2)))
struct ReloadTests {
    /// Starts the daemon with a file, and hands over what writes another one and sends the signal.
    private func with(
        _ configuration: String,
        _ body: (DaemonProcess, (String) throws -> Void) async throws -> Void
    ) async throws {
        try await DaemonProcess.with { daemon in
            await daemon.end(SIGTERM)
            let file = daemon.folder + "/timerd.json"
            try configuration.write(toFile: file, atomically: false, encoding: .utf8)
            try await daemon.start(["--config", file])
            try await body(daemon) { new in
                try new.write(toFile: file, atomically: false, encoding: .utf8)
                kill(daemon.pid, SIGHUP)
            }
        }
    }

    /// What `status --json` says once it has `text`, for which there is a minute.
    private func status(of daemon: DaemonProcess, with text: String) async throws -> String {
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
            let said = try await daemon.timerctl("status", "--json").output
            if said.contains(text) { return said }
            try #require(ContinuousClock.now < deadline, "'\(text)' is not in \(said)")
        }
    }

    @Test("Limits and the level of the log follow the file, and runs in progress go on")
    func limits() async throws {
        try await with(#"{"maxRuns": 1}"#) { daemon, reload in
            let gate = FileGate(daemon, "gate")
            for _ in 1...2 {
                try await daemon.timerctl("add", "--in", "1ms", "--", "sh", "-c", gate.wait)
            }
            _ = try await daemon.event(.runStarted)
            while try await !daemon.timerctl("runs", "--json").output
                .contains(#""state":"waiting""#)
            { try Task.checkCancellation() }
            try reload(#"{"maxRuns": 2, "logLevel": "error"}"#)
            let started = try await daemon.timerctl(
                "watch",
                "--json",
                "--since",
                "0",
                "-n",
                "2",
                "--type",
                "run.started"
            )
            #expect(started.status == 0)
            #expect(!daemon.log.contains("reloaded"), "that is below the level")
            try reload(#"{"maxRuns": 2, "logLevel": "info"}"#)
            try await eventually("it is logged") { daemon.log.contains("changed=logLevel") }
            gate.open()
        }
    }

    @Test("A file with a slip is told with its line, and changes nothing")
    func slip() async throws {
        try await with(#"{"maxRuns": 3}"#) { daemon, reload in
            try reload("{\n\"maxRuns\": 4,\n\"maxRun\": 5\n}")
            try await eventually("it is logged") {
                daemon.log.contains("the configuration stays as it was")
            }
            let slip = "timerd.json:3: there is no setting 'maxRun'"
            #expect(daemon.log.contains(slip))
            // Told a moment after it is logged.
            let status = try await self.status(of: daemon, with: slip)
            #expect(status.contains(#""refusedAt""#))
            let doctor = try await daemon.timerctl("doctor").output
            #expect(doctor.contains("the last reload was refused"), "\(doctor)")
            try reload(#"{"maxRuns": 3, "drainTime": "0s"}"#)
            try await eventually("it goes on from what was before") {
                daemon.log.contains("changed=drainTime")
            }
            let after = try await daemon.timerctl("status", "--json").output
            #expect(!after.contains(#""reload""#), "\(after)")
        }
    }

    @Test("The database and the socket stay until a restart, which is said")
    func places() async throws {
        try await DaemonProcess.with { daemon in
            await daemon.end(SIGTERM)
            let file = daemon.folder + "/timerd.json"
            func write(_ socket: String, _ maxRuns: Int) throws {
                try """
                {"database": "\(daemon.database)", "socket": "\(socket)", "maxRuns": \(maxRuns)}
                """.write(toFile: file, atomically: false, encoding: .utf8)
            }
            try write(daemon.socket, 1)
            try await daemon.start(["--config", file], isPlaced: false)
            try write(daemon.folder + "/other.sock", 2)
            kill(daemon.pid, SIGHUP)
            try await eventually("it is logged") { daemon.log.contains("changed=maxRuns") }
            #expect(daemon.log.contains("a changed setting needs a restart"))
            #expect(daemon.log.contains("setting=socket"))
            let status = try await daemon.timerctl("status")
            #expect(
                status.output.contains("changed, and not in force before a restart: 'socket'"),
                "\(status)"
            )
            try write(daemon.socket, 3)
            kill(daemon.pid, SIGHUP)
            let told = try await self.status(of: daemon, with: #""maxRuns":3"#)
            #expect(!told.contains(#""waiting":["#), "it is as it was")
        }
    }

    @Test("A daemon whose socket's file was removed listens anew, as doctor has said")
    func socketRemoved() async throws {
        try await DaemonProcess.with { daemon in
            #expect(unlink(daemon.socket) == 0)
            let doctor = try await daemon.timerctl("doctor")
            #expect(doctor.output.contains("kill -HUP \(daemon.pid)"), "\(doctor)")
            kill(daemon.pid, SIGHUP)
            try await eventually("it is logged") { daemon.log.contains("listening anew") }
            #expect(try await daemon.timerctl("status").status == 0)
        }
    }

    @Test("A daemon whose socket's file was removed listens anew, with a slip in its file too")
    func socketRemovedBesideSlip() async throws {
        try await with("{}") { daemon, reload in
            #expect(unlink(daemon.socket) == 0)
            try reload(#"{"maxRun": 5}"#)
            try await eventually("it is logged") { daemon.log.contains("listening anew") }
            #expect(daemon.log.contains("the configuration stays as it was"))
            #expect(!daemon.log.contains("reloaded"))
            #expect(try await daemon.timerctl("status").status == 0)
        }
    }

    @Test(
        "A watcher who is denied ends with 77, and is not told to go on",
        .enabled(if: geteuid() == 0)
    )
    func deniedWatcher() async throws {
        try await with("{}") { daemon, reload in
            async let watching = daemon.timerctl(as: 70_001, ["watch"])
            _ = try await self.status(of: daemon, with: #""watchers":1"#)
            try reload(#"{"deny": [70001]}"#)
            let ended = try await watching
            #expect(ended.status == 77 && !ended.errors.contains("go on with"), "\(ended)")
        }
    }

    @Test("Who may come in follows the file", .enabled(if: geteuid() == 0))
    func lists() async throws {
        try await with("{}") { daemon, reload in
            let user: UInt32 = 70_001
            #expect(try await daemon.timerctl(as: user, ["list"]).status == 0)
            try reload(#"{"deny": [70001]}"#)
            try await eventually("it is logged") { daemon.log.contains("changed=deny") }
            let refused = try await daemon.timerctl(as: user, ["list"])
            #expect(refused.status == 77, "\(refused)")
            try reload(#"{"deny": ["no-such-user-here"]}"#)
            try await eventually("a slip is told") {
                daemon.log.contains("allow or deny names nobody")
            }
            #expect(try await daemon.timerctl(as: user, ["list"]).status == 0)
        }
    }
}
