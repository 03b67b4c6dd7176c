// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Schedules
import Testing
import TimerControl

@testable import TimerD

/// Real processes: the daemon dies, is stopped, comes back; the runs do not care.
@Suite("Runs outlive the daemon", .timeLimit(.minutes(2)))
struct RunnerLifeTests {
    /// A command that waits until the test says go on, and then ends with that status; it says when it is there.
    private struct Gate {
        let folder: String
        var status = 3
        var script: String {
            "echo before; echo >\(folder)/there; while [ ! -e \(folder)/go ]; do sleep 0.02; done; echo after; exit \(status)"
        }

        func wait() async throws {
            try await eventually("the command runs") { access("\(folder)/there", F_OK) == 0 }
        }

        func open() { _ = FileManager.default.createFile(atPath: "\(folder)/go", contents: nil) }
    }

    /// Adds a job that waits at a gate; its id and its run's.
    private func begin(
        _ daemon: DaemonProcess,
        _ gate: Gate,
        _ options: [String] = []
    ) async throws -> (job: String, run: String) {
        let words = ["add", "--in", "1ms", "--name", "backup"] + options
        let added = try await daemon.timerctl(words + ["--", "sh", "-c", gate.script])
        let job = added.output.trimmingCharacters(in: .newlines)
        let run = try await daemon.runningRun(job)
        try await gate.wait()
        return (job, "\(try #require(run.id))")
    }

    /// The one run of a job, once it has ended.
    private func ended(_ daemon: DaemonProcess, _ job: String) async throws -> Run {
        let run = try await daemon.finishedRun(job)
        let runs = try await daemon.runs([job])
        #expect(runs.count == 1, "\(runs)")
        return run
    }

    @Test(
        "A run goes on while the daemon is killed or stopped, and its true end and whole output are told",
        arguments: [SIGKILL, SIGTERM],
        [false, true]
    )
    func goesOn(signal: Int32, endsMeanwhile: Bool) async throws {
        try await DaemonProcess.with { daemon in
            let gate = Gate(folder: daemon.folder)
            let (job, run) = try await begin(daemon, gate)
            let runner = daemon.runner
            await daemon.end(signal)
            if endsMeanwhile {
                gate.open()
                try await eventually("its shell has ended") { !hasChild(runner) }
            }
            try await daemon.start()
            #expect(daemon.runner == runner, "the runner is the same")
            #expect(daemon.log.contains("a run is taken up"))
            gate.open()
            #expect(try await ended(daemon, job).status == 3)
            let output = try await daemon.timerctl("logs", "--run", run)
            #expect(output.output == "before\nafter\n", "\(output)")
        }
    }

    @Test("A run is taken up also where the file of the runner's socket was removed before")
    func socketRemoved() async throws {
        try await DaemonProcess.with { daemon in
            let gate = Gate(folder: daemon.folder)
            let (job, _) = try await begin(daemon, gate)
            let runner = daemon.runner
            #expect(unlink(daemon.database + "-runner") == 0)
            await daemon.end(SIGKILL)
            try await daemon.start()
            #expect(daemon.runner == runner, "the runner is the same")
            gate.open()
            #expect(try await ended(daemon, job).status == 3)
        }
    }

    @Test("A run whose job has no command any more is taken up, and its true end is told")
    func changedMeanwhile() async throws {
        try await DaemonProcess.with { daemon in
            let gate = Gate(folder: daemon.folder)
            let added = try await daemon.timerctl(
                "add",
                "--every",
                "1h",
                "--name",
                "backup",
                "--",
                "sh",
                "-c",
                gate.script
            )
            let job = added.output.trimmingCharacters(in: .newlines)
            _ = try await daemon.timerctl("fire", job)
            let run = try await daemon.runningRun(job)
            try await gate.wait()
            let changed = try await daemon.timerctl("change", job, "--event")
            #expect(changed.status == 0, "\(changed.errors)")
            await daemon.end(SIGKILL)
            try await daemon.start()
            #expect(daemon.log.contains("a run is taken up"))
            gate.open()
            #expect(try await ended(daemon, job).status == 3)
            let output = try await daemon.timerctl("logs", "--run", "\(try #require(run.id))")
            #expect(output.output == "before\nafter\n", "\(output)")
        }
    }

    @Test("A run that is taken up is killed as any other")
    func killed() async throws {
        try await DaemonProcess.with { daemon in
            let gate = Gate(folder: daemon.folder)
            let (job, run) = try await begin(daemon, gate)
            await daemon.end(SIGKILL)
            try await daemon.start()
            try await daemon.timerctl("kill", run)
            #expect(try await ended(daemon, job).signal == SIGTERM)
        }
    }

    @Test("A timeout is kept while there is no daemon")
    func timeout() async throws {
        try await DaemonProcess.with { daemon in
            let gate = Gate(folder: daemon.folder)
            let words = ["add", "--in", "1ms", "--timeout", "4s", "--", "sh", "-c", gate.script]
            let job = try await daemon.timerctl(words).output.trimmingCharacters(in: .newlines)
            // Not until the daemon says so: it may have timed out by then.
            try await gate.wait()
            let runner = daemon.runner
            await daemon.end(SIGKILL)
            try await eventually("it has timed out") { !hasChild(runner) }
            try await daemon.start()
            #expect(try await ended(daemon, job).outcome == .timedOut)
        }
    }

    @Test(
        "Only the runner's death interrupts runs: their processes end with it, and new ones begin",
        arguments: [false, true]
    )
    func runnerDies(withDaemon: Bool) async throws {
        try await DaemonProcess.with { daemon in
            let gate = Gate(folder: daemon.folder)
            let (job, _) = try await begin(daemon, gate)
            let runner = daemon.runner
            if withDaemon { await daemon.end(SIGKILL) }
            let children = children(of: runner)
            #expect(children.count == 1)
            kill(runner, SIGKILL)
            try await eventually("what it ran has ended") { !children.contains(where: isAlive) }
            if withDaemon { try await daemon.start() }
            #expect(try await ended(daemon, job).outcome == .interrupted)
            let next = try await daemon.timerctl("add", "--in", "1ms", "--", "true")
            let after = try await ended(daemon, next.output.trimmingCharacters(in: .newlines))
            #expect(after.status == 0)
            #expect(daemon.runner != runner)
        }
    }

    @Test(
        "A command that ended while no daemon was there has its true end, also where its runner was stopped since, and does not run again"
    )
    func runnerStopped() async throws {
        try await DaemonProcess.with { daemon in
            let gate = Gate(folder: daemon.folder, status: 0)
            let (job, run) = try await begin(daemon, gate, ["--rerun-interrupted"])
            let runner = daemon.runner
            await daemon.end(SIGKILL)
            gate.open()
            try await eventually("its shell has ended") { !hasChild(runner) }
            kill(runner, SIGTERM)
            try await eventually("the runner has ended") { !isAlive(runner) }
            let before = Timestamp(Date())
            let kept = daemon.database + "-runner-ends"
            #expect(access(kept, F_OK) == 0)
            try await daemon.start()
            #expect(daemon.runner != runner)
            let after = try await ended(daemon, job)
            #expect(after.outcome == .exited && after.status == 0)
            let (number, date) = (try #require(after.id), try #require(after.endedAt))
            #expect("\(number)" == run)
            #expect(date <= before)
            try await eventually("the runner has heard that it is stored") {
                access(kept, F_OK) != 0
            }
            // What it wrote has gone with its runner, which is said.
            let output = try await daemon.timerctl("logs", "--run", run)
            #expect(output.output == "", "\(output)")
            #expect(output.errors.contains("13 bytes are left out"), "\(output)")
        }
    }

    @Test("Jobs of a new database have nothing to do with runs that are left of the old one")
    func newDatabase() async throws {
        try await DaemonProcess.with { daemon in
            let gate = Gate(folder: daemon.folder)
            let (_, run) = try await begin(daemon, gate)
            let runner = daemon.runner
            await daemon.end(SIGTERM)
            for end in ["", "-wal", "-shm"] { unlink(daemon.database + end) }
            try await daemon.start()
            #expect(daemon.runner == runner)
            let next = try await daemon.timerctl("add", "--in", "1ms", "--", "sh", "-c", "exit 4")
            let job = next.output.trimmingCharacters(in: .newlines)
            let after = try await ended(daemon, job)
            #expect(after.status == 4)
            #expect(after.id.map(String.init) != run)
            gate.open()
        }
    }
}

/// The children of a process.
func children(of pid: pid_t) -> [pid_t] {
    (readFile("/proc/\(pid)/task/\(pid)/children") ?? "").split(separator: " ").compactMap {
        pid_t($0)
    }
}

private func hasChild(_ pid: pid_t) -> Bool { !children(of: pid).isEmpty }
