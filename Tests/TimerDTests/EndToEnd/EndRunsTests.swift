// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Logging
import Subprocess
import SystemPackage
import Testing
import TimerControl

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
            try await daemon.start(["--drain", "10"])
            let (jobs, runner) = (try await begin(daemon), daemon.runner)
            try Data().write(to: URL(filePath: daemon.folder + "/go"))
            await daemon.end(SIGUSR1)
            try await eventually("the runner has nothing left") { !isAlive(runner) }
            try await daemon.start()
            #expect(!daemon.log.contains("taken up"), "\(daemon.log)")
            try await check(jobs, daemon)
        }
    }

    @Test("SIGTERM right behind SIGUSR1, as at a stop of the machine, does not have the runs go on")
    func bothSignals() async throws {
        try await DaemonProcess.with { daemon in
            // One try would have shown it now and then: which of two threads was first.
            for _ in 0..<4 {
                let pid = daemon.pid
                // As where the daemon gets no processor between the two.
                try await daemon.standStill()
                kill(pid, SIGUSR1)
                kill(pid, SIGTERM)
                await daemon.end(SIGCONT)
                let stop = daemon.log.split(separator: "\n").filter { $0.contains("runs=") }
                #expect(stop.count == 1 && stop[0].contains("end within"), "\(daemon.log)")
                try await daemon.start()
            }
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
            await daemon.end(SIGTERM)
            let file = daemon.folder + "/timerd.json"
            try #"{"maxRuns": 3}"#.write(toFile: file, atomically: false, encoding: .utf8)
            try await daemon.start(["--config", file])
            let jobs = try await begin(daemon)
            let (busy, told, refused) = try await timerd(daemon, "--end-runs")
            #expect(refused == 69 && busy.isEmpty && told.contains("in use"), "\(told)")
            let later = try await daemon.timerctl(
                ["add", "--in", "1ms", "--", "touch", daemon.folder + "/begun"]
            )
            let waiting = later.output.trimmingCharacters(in: .newlines)
            while try await daemon.runs([waiting]).first?.waitsFor != .place {
                try Task.checkCancellation()
            }
            let runner = daemon.runner
            await daemon.end(SIGKILL)
            try Data().write(to: URL(filePath: daemon.folder + "/go"))
            let (said, trouble, status) = try await timerd(daemon, "--end-runs", "--drain", "10")
            #expect(status == 0 && trouble.isEmpty, "\(trouble)")
            #expect(said.hasPrefix("ended 3 runs: run "), "\(said)")
            for name in ["willing", "polite", "deaf"] { #expect(said.contains("(\(name))")) }
            #expect(said.split(separator: "\n").count == 1)
            try await eventually("the runner has nothing left") { !isAlive(runner) }
            let again = try await timerd(daemon, "--end-runs")
            #expect(again == ("no run was in progress\n", "", 0))
            #expect(access(daemon.folder + "/begun", F_OK) != 0, "though there was room for it")
            try await daemon.start()
            try await check(jobs, daemon)
            try await eventually("what had waited") {
                access(daemon.folder + "/begun", F_OK) == 0
            }
        }
    }

    @Test(
        "A run that goes on after a restore to before it is named, and ends with all others",
        arguments: [false, true]
    )
    func stray(byEndRuns: Bool) async throws {
        try await DaemonProcess.with { daemon in
            let (backup, there) = (daemon.folder + "/backup", daemon.folder + "/there")
            #expect(try await daemon.timerctl("backup", backup).status == 0)
            let script = "echo >\(there); while :; do sleep 0.02; done"
            _ = try await daemon.timerctl("add", "--in", "1ms", "--", "sh", "-c", script)
            try await eventually("it runs") { access(there, F_OK) == 0 }
            let (run, runner) = (try await daemon.runs([]).first?.id, daemon.runner)
            let number = try #require(run)
            await daemon.end(SIGTERM)
            let (_, trouble, restored) = try await timerd(daemon, "--restore", backup)
            #expect(restored == 0, "\(trouble)")
            if byEndRuns {
                let (said, _, status) = try await timerd(daemon, "--end-runs", "--drain", "0")
                let words = "run \(number), which the database does not have in progress"
                #expect(status == 0 && said == "ended 1 run: \(words)\n", "\(said)")
            } else {
                try await daemon.start(["--drain", "0"])
                let status = try await daemon.timerctl("status").output
                #expect(status.contains("run \(number) (process "), "\(status)")
                await daemon.end(SIGUSR1)
            }
            try await eventually("the runner has nothing left") { !isAlive(runner) }
            try await daemon.start()
        }
    }

    @Test("--end-runs of a database that is not there says so, and makes nothing")
    func noDatabase() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("mispelt.db")
        let ender = RunEnder(
            TimerD.Configuration(database: path, socket: folder.file("s")),
            log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        let error = await #expect(throws: DaemonError.self) { try await ender.run() }
        #expect(error?.status == .configuration)
        #expect(
            error?.description
                == "cannot end runs: there is no database '\(path)'; accepted is the one that the daemon had"
        )
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
    }

    @Test(
        "A daemon that dies while it ends runs: the next one stores them as interrupted, and runs them again",
        arguments: [false, true]
    )
    func diesMeanwhile(byEndRuns: Bool) async throws {
        try await DaemonProcess.with { daemon in
            await daemon.end(SIGTERM)
            try await daemon.start(["--drain", "0"])
            let go = FileGate(daemon, "go")
            let (there, asked) = (daemon.folder + "/there", daemon.folder + "/asked")
            let failed = daemon.folder + "/failed"
            let script =
                "[ -e \(go.path) ] && exit 0; trap 'echo >\(asked)' TERM; echo >\(there); "
                + "\(go.wait); exit 3"
            let added = try await daemon.timerctl(
                ["add", "--in", "1ms", "--rerun-interrupted", "--kill-after", "1min"]
                    + ["--on-failure", "touch \(failed)", "--", "sh", "-c", script]
            )
            #expect(added.status == 0, "\(added.errors)")
            try await eventually("it runs") { access(there, F_OK) == 0 }
            if byEndRuns {
                await daemon.end(SIGKILL)
                // try?: this one ends before it could be ready.
                let ender = Task { try? await daemon.start(["--end-runs", "--drain", "0"]) }
                try await eventually("it ends the run") {
                    access(asked, F_OK) == 0 && daemon.pid != 0
                }
                await daemon.end(SIGKILL)
                _ = await ender.value
            } else {
                kill(daemon.pid, SIGUSR1)
                try await eventually("the run is ended") { access(asked, F_OK) == 0 }
                await daemon.end(SIGKILL)
            }
            go.open()
            try await daemon.start()
            let job = added.output.trimmingCharacters(in: .newlines)
            var runs: [Run] = []
            // Its limit is the suite's.
            while runs.count < 2 || runs.contains(where: { $0.outcome == nil }) {
                try Task.checkCancellation()
                runs = try await daemon.runs([job])
            }
            let first = runs.first { $0.attempt == 1 }
            #expect(first?.outcome == .interrupted, "\(runs)")
            #expect(runs.first { $0.attempt == 2 }?.status == 0, "\(runs)")
            #expect(runs.count == 2 && access(failed, F_OK) != 0, "\(runs)")
        }
    }
}
