// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl

@testable import TimerD

/// Defaults of the daemon and of files of jobs, and the history of one job.
@Suite("Defaults", .timeLimit(.minutes(2)))
struct DefaultsTests {
    @Test(
        "The setting's handler is run for jobs that have none, as their runs end; a reload changes it for all at once"
    )
    func handlers() async throws {
        try await DaemonProcess.with { daemon in
            let (out, settings) = (daemon.folder + "/out", daemon.folder + "/timerd.json")
            func say(_ word: String) throws {
                try #"""
                {"defaults": {"onFailure": ["/bin/sh", "-c", "echo \#(word) >> '\#(out)'"], "retries": 1, "backoff": "0"}}
                """#.write(toFile: settings, atomically: true, encoding: .utf8)
            }
            for words in [
                [
                    "add", "--every", "1h", "--name", "silent", "--shell",
                    "echo try >> '\(out)'; exit 1",
                ],
                [
                    "add", "--every", "1h", "--name", "own", "--retries", "0", "--on-failure",
                    "echo own >> '\(out)'", "--", "false",
                ],
            ] { #expect(try await daemon.timerctl(words).status == 0) }
            _ = await daemon.end(SIGTERM)
            try say("first")
            try await daemon.start(["--config", settings])
            _ = try await daemon.timerctl("fire", "--wait", "silent")
            try await eventually("the daemon's handler has run after two attempts") {
                read(out) == "try\ntry\nfirst\n"
            }
            _ = try await daemon.timerctl("fire", "--wait", "own")
            try await eventually("the job's own handler has run") {
                read(out) == "try\ntry\nfirst\nown\n"
            }
            let shown = try await daemon.timerctl("show", "silent").output
            #expect(
                shown.contains("first >> ") && shown.contains("(the daemon's default)"),
                "\(shown)"
            )
            let own = try await daemon.timerctl("show", "own").output
            #expect(!own.contains("first >> "), "\(own)")
            try say("second")
            kill(daemon.pid, SIGHUP)
            try await eventually("the setting is read again") {
                daemon.log.contains("changed=defaults") || daemon.log.contains("defaults")
            }
            _ = try await daemon.timerctl("fire", "--wait", "silent")
            try await eventually("the new handler has run") {
                read(out).hasSuffix("try\ntry\nsecond\n")
            }
        }
    }

    @Test("A default handler whose program is not there is what doctor tells, before any run fails")
    func missingHandler() async throws {
        try await DaemonProcess.with { daemon in
            _ = await daemon.end(SIGTERM)
            let settings = daemon.folder + "/timerd.json"
            try #"{"defaults": {"onFailure": ["/no/such/alert"]}}"#
                .write(toFile: settings, atomically: true, encoding: .utf8)
            try await daemon.start(["--config", settings])
            let doctor = try await daemon.timerctl("doctor").output
            #expect(
                doctor.contains(
                    "onFailure '/no/such/alert' cannot be run: there is no '/no/such/alert'"
                ),
                "\(doctor)"
            )
        }
    }

    @Test(
        "A job that keeps fewer runs, or more, has as many; more than the setting allows is refused"
    )
    func history() async throws {
        try await DaemonProcess.with { daemon in
            _ = await daemon.end(SIGTERM)
            let settings = daemon.folder + "/timerd.json"
            try #"{"runsKept": 5, "maxRunsKept": 50}"#
                .write(toFile: settings, atomically: true, encoding: .utf8)
            try await daemon.start(["--config", settings])
            for (name, option) in [
                ("few", ["--keep-runs", "2"]), ("many", ["--keep-runs", "40"]), ("plain", []),
            ] {
                let words = ["add", "--every", "1h", "--name", name] + option + ["--", "true"]
                #expect(try await daemon.timerctl(words).status == 0)
                for _ in 0..<30 { _ = try await daemon.timerctl("fire", "--wait", name) }
            }
            func outputs(_ name: String) async throws -> Int {
                try await daemon.runs([name, "-n", "100"]).count { $0.outcome != nil }
            }
            #expect(try await outputs("few") == 2)
            #expect(try await outputs("many") == 30)
            #expect(try await outputs("plain") == 5)
            let refused = try await daemon.timerctl(
                "add",
                "--in",
                "1h",
                "--keep-runs",
                "51",
                "--",
                "true"
            )
            #expect(refused.status == 64)
            #expect(
                refused.errors.contains(
                    "--keep-runs is 51, accepted here is 1 to 50 (the setting maxRunsKept)"
                ),
                "\(refused.errors)"
            )
        }
    }

    @Test("A file's defaults are what its jobs have that do not say otherwise, shown in the plan")
    func file() async throws {
        try await DaemonProcess.with { daemon in
            let file = daemon.folder + "/jobs.yaml"
            try """
            label: ops
            jobs:
              one: {every: 1h, command: "true"}
              two: {every: 1h, command: "true", timeout: 5s, tags: [own]}
            defaults:
              timeout: 1min
              onFailure: "echo broken"
              tags: [ops]
            """.write(toFile: file, atomically: true, encoding: .utf8)
            let applied = try await daemon.timerctl("apply", "-f", file)
            #expect(applied.status == 0, "\(applied.errors)")
            let one = try await daemon.timerctl("show", "one", "--json").output
            #expect(
                one.contains(#""timeout":"1min""#) && one.contains("echo broken")
                    && one.contains(#""ops""#)
            )
            let two = try await daemon.timerctl("show", "two", "--json").output
            #expect(
                two.contains(#""timeout":"5s""#) && two.contains("echo broken")
                    && !two.contains(#""ops""#)
            )
            let again = try await daemon.timerctl("apply", "--dry-run", "-f", file)
            #expect(again.output.contains("0 to change"), "\(again.output)")
            let text = try String(contentsOfFile: file, encoding: .utf8)
            try text.replacing("1min", with: "2min").write(
                toFile: file,
                atomically: true,
                encoding: .utf8
            )
            let plan = try await daemon.timerctl("apply", "--dry-run", "-f", file)
            #expect(
                plan.output.contains("one") && plan.output.contains("2min")
                    && !plan.output.contains("two")
            )
        }
    }

    @Test(
        "The daemon's handler is run as the owner of the job, not as root, and is not exported",
        .enabled(if: geteuid() == 0)
    )
    func owner() async throws {
        try await DaemonProcess.withUsers { daemon, ann, _ in
            _ = await daemon.end(SIGTERM)
            let settings = daemon.folder + "/timerd.json"
            try #"{"defaults": {"onFailure": ["/bin/sh", "-c", "id -un > ~/who"]}}"#
                .write(toFile: settings, atomically: true, encoding: .utf8)
            try await daemon.start(["--config", settings])
            let words = ["add", "--in", "1h", "--name", "job", "--", "false"]
            #expect(try await daemon.timerctl(as: ann.uid, words).status == 0)
            let exported = try await daemon.timerctl(as: ann, "export").output
            #expect(exported.contains("job") && !exported.contains("onFailure"), "\(exported)")
            _ = try await daemon.timerctl(as: ann, "fire", "--wait", "job")
            try await eventually("the handler has run") {
                read(ann.home + "/who") == ann.name + "\n"
            }
        }
    }

    @Test(
        "Where the job's folder is gone the daemon's handler begins elsewhere, and the job's own one does not"
    )
    func noFolder() async throws {
        try await DaemonProcess.with { daemon in
            _ = await daemon.end(SIGTERM)
            let settings = daemon.folder + "/timerd.json"
            try #"{"defaults": {"onFailure": ["echo", "alarm"]}}"#
                .write(toFile: settings, atomically: true, encoding: .utf8)
            try await daemon.start(["--config", settings])
            let gone = ["--cwd", "/no/such", "--", "true"]
            for (job, own) in [("1", []), ("2", ["--on-failure", "echo own"])] {
                _ = try await daemon.timerctl(["add", "--in", "1ms"] + own + gone)
                let watch = ["watch", "--since", "0", "--type", "run.finished", "--job", job]
                _ = try await daemon.timerctl(watch + ["-n", "2"])
            }
            let logs = try await daemon.timerctl("logs", "1", "--on-failure")
            #expect(logs.output == "alarm\n")
            let said = "timerd: cannot enter '/no/such'; this command begins in '"
            #expect(logs.errors.contains(said), "\(logs.errors)")
            let runs = try await daemon.timerctl("runs", "2", "--json").output
            #expect(runs.split(separator: "cannot enter working directory").count == 3, "\(runs)")
        }
    }

    private func read(_ path: String) -> String {
        // try?: it may not be there yet.
        (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    }
}
