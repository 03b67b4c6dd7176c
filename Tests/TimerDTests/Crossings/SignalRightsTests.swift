// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerControl

@testable import LinuxSystem
@testable import TimerD

/// A program that is setuid root and becomes root altogether: its caller may not signal it (kill(2)),
/// and so may not have the daemon do it.
@Suite("Rights of signals", .timeLimit(.minutes(3)), .enabled(if: geteuid() == 0 && Raised.works))
struct SignalRightsTests {
    /// Runs `body` with a program that becomes root, writes its pid to a file of that name in the
    /// daemon's folder, and waits; ends those that are left.
    ///
    /// Without `groups` runs have no control groups, with which whatever is left of them is ended by root.
    private func with(
        groups: Bool = false,
        _ body: (DaemonProcess, _ ann: TestUser, _ raised: String) async throws -> Void
    ) async throws {
        let runner = try RunnerProcess("--without-groups")
        defer { withExtendedLifetime(runner) {} }
        try await DaemonProcess.withUsers { daemon, ann, _ in
            if !groups {
                await daemon.end(SIGTERM)
                // Its own runner would make its socket anew.
                let runnersEnd = daemon.database + "-runner-epoch"
                try await eventually("its runner has ended") { access(runnersEnd, F_OK) == 0 }
                unlink(daemon.database + "-runner")
                symlink(runner.path, daemon.database + "-runner")
                try await daemon.start()
                #expect(daemon.runner == runner.pid)
            }
            let program = try await Raised.make(in: daemon.folder)
            do {
                try await body(daemon, ann, program)
            } catch {
                Raised.end(in: daemon.folder)
                throw error
            }
            Raised.end(in: daemon.folder)
        }
    }

    @Test("A run that has become root's is not its owner's to kill, and root's to")
    func kill() async throws {
        try await with { daemon, ann, raised in
            let job = try await daemon.begin([raised, "leader"], as: ann.uid)
            let pid = try #require(try await pid_t(daemon.line(in: "leader")))
            let number = "\(try #require(try await daemon.runningRun(job).id))"
            let refused = try await daemon.timerctl(as: ann, "kill", number)
            #expect(refused.status == 77, "\(refused.errors)")
            #expect(refused.errors.contains("not its owner's to end"), "\(refused.errors)")
            #expect(isAlive(pid))

            let ended = try await daemon.timerctl(as: ann, "invalidate", job, "--kill")
            #expect(ended.status == 0, "the job is hers: \(ended.errors)")
            #expect(try await daemon.runningRun(job).state == .running)
            #expect(isAlive(pid))

            #expect(try await daemon.timerctl("kill", number).status == 0)
            #expect(try await daemon.finishedRun(job).signal == SIGTERM)
            #expect(!isAlive(pid))
        }
    }

    @Test(
        "What has become root's ends with its run, where the run has a control group",
        .enabled(if: MachineGroups.areThere, MachineGroups.has)
    )
    func endOfGroup() async throws {
        try await with(groups: true) { daemon, ann, raised in
            let wait = "while [ ! -s \(daemon.folder)/child ]; do sleep 0.01; done; exit 3"
            let job = try await daemon.begin(
                ["sh", "-c", "\(raised) child & \(wait)"],
                as: ann.uid,
                options: ["--kill-after", "50ms"]
            )
            let run = try await daemon.finishedRun(job)
            #expect(run.status == 3 && run.survivors == nil, "\(run)")
            #expect(!isAlive(try #require(try await pid_t(daemon.line(in: "child")))))
        }
    }

    @Test("Without a control group it outlives its run, which says so, and so does the log")
    func survivor() async throws {
        try await with { daemon, ann, raised in
            let script = "\(raised) child & sleep 1000 & while [ ! -s \(daemon.folder)/child ]; "
            let job = try await daemon.begin(
                ["sh", "-c", script + "do sleep 0.01; done; exit 3"],
                as: ann.uid,
                options: ["--name", "raiser", "--kill-after", "50ms"]
            )
            let run = try await daemon.finishedRun(job)
            let pid = try #require(try await pid_t(daemon.line(in: "child")))
            #expect(run.status == 3)
            #expect(run.survivors == 1, "\(run)")
            #expect(isAlive(pid))
            let own = try #require(ProcessStatus.allProcesses).filter {
                ProcessStatus.user(of: $0) == ann.uid && isAlive($0)
            }
            #expect(own == [], "what is hers is ended")

            let sentence = "1 process of its group could not be ended"
            for words in [["runs", job], ["show", job]] {
                let told = try await daemon.timerctl(as: ann.uid, words).output
                #expect(told.contains(sentence), "\(words): \(told)")
            }
            #expect(try await daemon.timerctl(as: ann, "logs", job).errors.contains(sentence))
            let line = daemon.log.split(separator: "\n").first { $0.contains("could not be ended") }
            for word in ["name=raiser", "owner=\(ann.uid)", "pids=\(pid)", "job=\(job)"] {
                #expect(line?.contains(word) == true, "\(daemon.log)")
            }
        }
    }

    @Test("A timeout ends what is the owner's, and leaves what has become root's")
    func timeout() async throws {
        try await with { daemon, ann, raised in
            let wait = "while [ ! -s \(daemon.folder)/child ]; do sleep 0.01; done; sleep 1000"
            let job = try await daemon.begin(
                ["sh", "-c", "\(raised) child & \(wait)"],
                as: ann.uid,
                options: ["--timeout", "12s", "--kill-after", "50ms"]
            )
            let run = try await daemon.finishedRun(job)
            let pid = try #require(try await pid_t(daemon.line(in: "child")))
            #expect(run.outcome == .timedOut)
            #expect(run.survivors == 1, "\(run)")
            #expect(isAlive(pid))
        }
    }

    @Test("A timeout that may end nothing of its run says so once, in the log and with the run")
    func timeoutOfRaised() async throws {
        try await with { daemon, ann, raised in
            let job = try await daemon.begin(
                [raised, "leader"],
                as: ann.uid,
                options: ["--name", "raiser", "--timeout", "12s", "--kill-after", "50ms"]
            )
            let pid = try #require(try await pid_t(daemon.line(in: "leader")))
            let told = { @Sendable in
                daemon.log.split(separator: "\n").filter { $0.contains("be ended") }
            }
            try await eventually("it is logged") { !told().isEmpty }
            let run = try await daemon.runningRun(job)
            let number = try #require(run.id)
            for word in ["name=raiser", "job=\(job)", "run=\(number)", "pids=\(pid)"] {
                #expect(told().first?.contains(word) == true, "\(daemon.log)")
            }
            while try await daemon.runningRun(job).survivors != 1 { try Task.checkCancellation() }
            let words = try await daemon.timerctl(as: ann, "runs", job).output
            #expect(words.contains("1 process of its group could not be ended"), "\(words)")
            #expect(isAlive(pid))
            #expect(try await daemon.timerctl("kill", "\(number)").status == 0)
            let ended = try await daemon.finishedRun(job)
            #expect(ended.outcome == .timedOut && ended.survivors == nil, "\(ended)")
            #expect(told().count == 1, "\(daemon.log)")
        }
    }

    @Test("invalidate --kill ends a run, but not what of it has become root's")
    func invalidation() async throws {
        try await with { daemon, ann, raised in
            let job = try await daemon.begin(
                ["sh", "-c", "\(raised) child & sleep 1000; true"],
                as: ann.uid,
                options: ["--kill-after", "50ms"]
            )
            let pid = try #require(try await pid_t(daemon.line(in: "child")))
            let ended = try await daemon.timerctl(as: ann, "invalidate", job, "--kill")
            #expect(ended.status == 0, "\(ended.errors)")
            let run = try await daemon.finishedRun(job)
            #expect(run.outcome == .signalled && run.survivors == 1, "\(run)")
            #expect(isAlive(pid))
        }
    }

    @Test("A run that is taken up is ended with its owner's rights, as any other")
    func takenUp() async throws {
        try await with { daemon, ann, raised in
            let job = try await daemon.begin(
                ["sh", "-c", "echo $$ >$HOME/own; \(raised) child & sleep 1000; true"],
                as: ann.uid,
                options: ["--kill-after", "50ms"]
            )
            let pid = try #require(try await pid_t(daemon.line(in: "child")))
            let own = try #require(try await pid_t(daemon.line(in: "ann/own")))
            let number = try #require(try await daemon.runningRun(job).id)
            await daemon.end(SIGKILL)
            try await daemon.start()
            let killed = try await daemon.timerctl(as: ann, "kill", "\(number)")
            #expect(killed.status == 0, "\(killed.errors)")
            let run = try await daemon.finishedRun(job)
            #expect(run.outcome == .signalled && run.survivors == 1, "\(run)")
            #expect(isAlive(pid))
            #expect(!isAlive(own))
        }
    }

    @Test("A run that its owner may not end goes on, whichever daemon is there")
    func stop() async throws {
        try await with { daemon, ann, raised in
            let job = try await daemon.begin(
                [raised, "leader"],
                as: ann.uid,
                options: ["--kill-after", "10ms"]
            )
            let pid = try #require(try await pid_t(daemon.line(in: "leader")))
            let number = try #require(try await daemon.runningRun(job).id)
            #expect(await daemon.end(SIGTERM) == .exited(0))
            #expect(isAlive(pid))
            try await daemon.start()
            let refused = try await daemon.timerctl(as: ann, "kill", "\(number)")
            #expect(refused.status != 0)
            #expect(try await daemon.runningRun(job).id == number)
            #expect(isAlive(pid))
            // The daemon's own user may.
            #expect(try await daemon.timerctl("kill", "\(number)").status == 0)
            #expect(try await daemon.finishedRun(job).outcome == .signalled)
        }
    }
}

extension ProcessStatus {
    /// The real uid of a process; nil if there is none.
    fileprivate static func user(of pid: pid_t) -> UInt32? {
        guard let bytes = contents(of: pid, "status") else { return nil }
        let lines = bytes.split(separator: UInt8(ascii: "\n"))
        let words = lines.first { $0.starts(with: "Uid:".utf8) }?.split(
            separator: UInt8(ascii: "\t")
        )
        guard let words, words.count > 1 else { return nil }
        return UInt32(String(decoding: words[1], as: UTF8.self))
    }
}
