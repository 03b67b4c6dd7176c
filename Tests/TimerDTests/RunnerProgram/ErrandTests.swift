// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import JobModel
import Testing

@testable import Runner
@testable import TimerD

/// The processes by which a runner of root's signals as a run's owner: `timerd-runner/errands.c`.
@Suite("Signals of many runs at once", .timeLimit(.minutes(3)), .enabled(if: geteuid() == 0))
struct ErrandTests {
    @Test(
        "A signal that came before the process was its owner's is sent again, however late that is known",
        .enabled(if: DurabilityTests.canTrace, "needs strace, which .ci/run installs")
    )
    func lateRefusal() throws {
        let runner = try RunnerProcess("--without-groups")
        let peer = try runner.connect()
        // The command becomes its owner's after a while, and who signals it is heard of later still.
        let tracer = try Strace(
            runner.pid,
            "-f",
            "-e",
            "inject=setgroups:delay_enter=100000",
            "-e",
            "inject=kill:delay_exit=200000"
        )
        var request = ScriptedRun.request(1, "exec sleep 20")
        request.credentials = CredentialsTests.nobody
        try peer.send(ScriptedRun.start(request))
        try peer.send(.end(run: 1, .standard, asRunner: false))
        let answer = try peer.next { report in
            if case .signalled(1, let answer) = report { answer } else { nil }
        }
        #expect(answer == .sent)
        #expect(try peer.end(of: 1).end.code == SIGTERM)
        withExtendedLifetime((runner, tracer)) {}
    }

    @Test(
        "A run that ends by itself in time is not timed out, though a signal of another keeps its end from being noticed",
        .enabled(if: DurabilityTests.canTrace, "needs strace, which .ci/run installs")
    )
    func noticedLate() async throws {
        let runner = try RunnerProcess("--without-groups")
        let peer = try runner.connect()
        // Who signals is there for longer than the other run may take.
        let tracer = try Strace(runner.pid, "-f", "-e", "inject=kill:delay_exit=15000000:when=1")
        var other = ScriptedRun.request(1, "exec sleep 1000")
        other.credentials = CredentialsTests.nobody
        try peer.send(ScriptedRun.start(other))
        let pid = try peer.next { if case .started(1, let run) = $0 { run.pid } else { nil } }
        try peer.send(.end(run: 1, .kill, asRunner: false))
        try await eventually("the signal has arrived") { !isAlive(pid) }
        var request = ScriptedRun.request(2, "exit 4")
        request.timeout = .seconds(10)
        try peer.send(ScriptedRun.start(request))
        let end = try peer.end(of: 2).end
        #expect(end.outcome == .exited && end.code == 4)
        withExtendedLifetime((runner, tracer)) {}
    }

    @Test(
        "Runs that end together, each with something left of it, keep no later end from being noticed"
    )
    func together() throws {
        let count: Int64 = 100
        let folder = try TemporaryFolder()
        let gate = folder.file("go")
        let runner = try RunnerProcess("--without-groups")
        let peer = try runner.connect()
        // Each waits to open the pipe, and all do at once when somebody writes.
        let script = "sleep 1000 & echo; exec 3<\(gate); exit 3"
        chmod(folder.path, 0o755)
        mkfifo(gate, 0o644)
        for run in 1...count {
            var request = ScriptedRun.request(run, script)
            request.credentials = CredentialsTests.nobody
            try peer.send(ScriptedRun.start(request))
        }
        for _ in 1...count {
            try peer.next { if case .output = $0 { () } else { nil } }
        }
        let gates = open(gate, O_WRONLY)
        defer { close(gates) }
        var ends: [Int64: RunnerReport.End] = [:]
        while ends.count < count {
            let (run, end) = try peer.next { report in
                if case .ended(let run, let end) = report { (run, end) } else { nil }
            }
            ends[run] = end
        }
        #expect(ends.values.allSatisfy { $0.code == 3 && $0.survivors == [] })
        // Who waits for a process that another part has reaped waits for ever, and so does all behind it.
        try peer.send(ScriptedRun.start(ScriptedRun.request(count + 1, "exit 4")))
        #expect(try peer.end(of: count + 1).end.code == 4)
        withExtendedLifetime(runner) {}
    }
}
