// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Subprocess
import SystemPackage
import Testing

@testable import TimerD

/// Real processes: what ends the runs, and what is stored of it.
@Suite("Runs that are ended", .timeLimit(.minutes(2)))
struct EndRunsTests {
    /// One run that ends by itself once it is asked to go on, and two that do not: one heeds SIGTERM, one does not.
    private struct Three {
        var willing = ""
        var polite = ""
        var deaf = ""
    }

    private func begin(_ daemon: DaemonProcess) async throws -> Three {
        func add(_ name: String, _ script: String) async throws -> String {
            let there = daemon.folder + "/" + name
            let added = try await daemon.timerctl(
                ["add", "--in", "1ms", "--name", name, "--kill-after", "100ms"]
                    + ["--", "sh", "-c", "\(script.replacing("THERE", with: "echo >\(there)"))"]
            )
            try await eventually("\(name) runs") { access(there, F_OK) == 0 }
            return added.output.trimmingCharacters(in: .newlines)
        }
        let go = daemon.folder + "/go"
        return Three(
            willing: try await add(
                "willing",
                "THERE; while [ ! -e \(go) ]; do sleep 0.02; done; exit 3"
            ),
            polite: try await add("polite", "THERE; while :; do sleep 0.02; done"),
            deaf: try await add("deaf", "trap '' TERM; THERE; while :; do sleep 0.02; done")
        )
    }

    /// What `timerctl runs` says of the one run of a job.
    private func run(of job: String, _ daemon: DaemonProcess) async throws -> String {
        let lines = try await daemon.timerctl("runs", job, "--json").output.split(separator: "\n")
        #expect(lines.count == 1, "\(lines)")
        return lines.first.map(String.init) ?? ""
    }

    private func check(_ jobs: Three, _ daemon: DaemonProcess) async throws {
        #expect(try await run(of: jobs.willing, daemon).contains("\"status\":3"))
        for job in [jobs.polite, jobs.deaf] {
            #expect(try await run(of: job, daemon).contains("\"outcome\":\"interrupted\""))
        }
    }

    @Test("SIGUSR1 gives runs the drain time, ends them by their rules, and stores how they ended")
    func signal() async throws {
        try await DaemonProcess.with { daemon in
            await daemon.end(SIGTERM)
            try await daemon.start(["--drain", "2"])
            let (jobs, runner) = (try await begin(daemon), daemon.runner)
            try Data().write(to: URL(filePath: daemon.folder + "/go"))
            await daemon.end(SIGUSR1)
            try await eventually("the runner has nothing left") { !isAlive(runner) }
            try await daemon.start()
            #expect(!daemon.log.contains("taken up"), "\(daemon.log)")
            try await check(jobs, daemon)
        }
    }

    @Test(
        "A stop of the runner ends runs by their rules, and the daemon stores them as interrupted"
    )
    func runner() async throws {
        try await DaemonProcess.with { daemon in
            let (jobs, runner) = (try await begin(daemon), daemon.runner)
            try Data().write(to: URL(filePath: daemon.folder + "/go"))
            while try await !run(of: jobs.willing, daemon).contains("\"status\":3") {
                try Task.checkCancellation()
            }
            kill(runner, SIGTERM)
            try await eventually("the runner has nothing left") { !isAlive(runner) }
            try await check(jobs, daemon)
        }
    }

    /// What `timerd` said on standard output and standard error, and its exit status.
    private func timerd(_ daemon: DaemonProcess, _ words: String...) async throws -> (
        String, String, Int32
    ) {
        let result = try await Subprocess.run(
            .path(FilePath(DaemonProcess.programs + "/timerd")),
            arguments: Arguments(
                ["--database", daemon.database, "--socket", daemon.socket] + words
            ),
            output: .string(limit: 1 << 16),
            error: .string(limit: 1 << 16)
        )
        guard case .exited(let status) = result.terminationStatus else { return ("", "", -1) }
        return (result.standardOutput, result.standardError, status)
    }

    @Test("--end-runs ends what goes on without a daemon, stores it, and begins nothing")
    func endRuns() async throws {
        try await DaemonProcess.with { daemon in
            let jobs = try await begin(daemon)
            let (busy, told, refused) = try await timerd(daemon, "--end-runs")
            #expect(refused == 69 && busy.isEmpty && told.contains("in use"), "\(told)")
            let later = try await daemon.timerctl(
                ["add", "--in", "100ms", "--", "touch", daemon.folder + "/begun"]
            )
            let runner = daemon.runner
            await daemon.end(SIGKILL)
            try Data().write(to: URL(filePath: daemon.folder + "/go"))
            let (said, trouble, status) = try await timerd(daemon, "--end-runs", "--drain", "1")
            #expect(status == 0 && trouble.isEmpty, "\(trouble)")
            #expect(said.hasPrefix("ended 3 runs: run "), "\(said)")
            for name in ["willing", "polite", "deaf"] { #expect(said.contains("(\(name))")) }
            #expect(said.split(separator: "\n").count == 1)
            try await eventually("the runner has nothing left") { !isAlive(runner) }
            let again = try await timerd(daemon, "--end-runs")
            #expect(again == ("no run was in progress\n", "", 0))
            #expect(access(daemon.folder + "/begun", F_OK) != 0 || later.status != 0)
            try await daemon.start()
            try await check(jobs, daemon)
            try await eventually("what was due meanwhile") {
                access(daemon.folder + "/begun", F_OK) == 0
            }
        }
    }
}
