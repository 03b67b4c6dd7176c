// SPDX-License-Identifier: Apache-2.0

import Glibc
import JobModel
import Testing

@testable import Runner
@testable import TimerD

/// What is told of runs that are ended because all are, by the runner or by a daemon.
@Suite("The end of all runs", .timeLimit(.minutes(3))) struct RunnerEndOfAllTests {
    private func begin(
        _ run: Int64,
        _ script: String,
        _ peer: RunnerPeer,
        _ change: (inout RunRequest) -> Void = { _ in }
    ) throws {
        var request = ScriptedRun.request(run, script)
        change(&request)
        try peer.send(ScriptedRun.start(request))
        _ = try peer.next { if case .output(run, _, _, _, _) = $0 { true } else { nil } }
    }

    @Test(
        "What it ends is interrupted, also where that chose its status; what had ended before is not"
    )
    func outcomes() throws {
        let runner = try RunnerProcess()
        var peer = try runner.connect()
        let loop = "echo there; while :; do sleep 0.01; done"
        try peer.send(ScriptedRun.start(ScriptedRun.request(1, "exit 3")))
        #expect(try peer.end(of: 1).end.outcome == .exited)
        try begin(2, loop, peer)
        try begin(3, "trap 'exit 4' TERM; \(loop)", peer) {
            $0.teardown = .terminate(killAfter: .seconds(30))
        }
        try begin(4, "trap '' TERM; \(loop)", peer) {
            $0.teardown = .terminate(killAfter: .milliseconds(50))
        }
        // Its timeout came before, and has hardly ended it yet.
        var timed = ScriptedRun.request(5, loop)
        timed.timeout = .zero
        timed.teardown = Teardown(steps: [.init(signal: SIGWINCH, grace: .seconds(1))])
        try peer.send(ScriptedRun.start(timed))
        _ = try peer.next { report -> Bool? in
            switch report {
            case .started(5, _), .ended(5, _): true
            default: nil
            }
        }
        // The time for what it leaves behind is not its own.
        try begin(6, loop, peer) {
            $0.teardown = Teardown(steps: [.init(signal: SIGCONT, grace: .seconds(3600))])
        }
        kill(runner.pid, SIGTERM)
        // To which all of them are told.
        peer = try runner.connect()
        var ends: [Int64: RunnerReport.End] = [:]
        while ends.count < 6 {
            if case .ended(let run, let end) = try peer.next() { ends[run] = end }
        }
        #expect(ends[1]?.outcome == .exited && ends[1]?.code == 3)
        #expect(ends[2]?.outcome == .interrupted && ends[2]?.code == SIGTERM)
        #expect(ends[3]?.outcome == .interrupted && ends[3]?.code == 4)
        #expect(ends[4]?.outcome == .interrupted && ends[4]?.code == SIGKILL)
        #expect(ends[5]?.outcome == .timedOut)
        #expect(ends[6]?.outcome == .interrupted && ends[6]?.code == SIGKILL)
        for run in ends.keys { try peer.send(.stored(run: run)) }
        #expect(runner.wait() == 0)
    }

    @Test(
        "What a daemon ends with all is interrupted by the same rules, also for the next daemon; what it ends otherwise is not"
    )
    func asked() throws {
        let runner = try RunnerProcess()
        defer { withExtendedLifetime(runner) {} }
        var peer = try runner.connect()
        let loop = "echo there; while :; do sleep 0.01; done"
        let deaf = "trap '' TERM; \(loop)"
        // Returns what came of the first signal, once it is sent.
        func end(
            _ run: Int64,
            by teardown: Teardown = .terminate(killAfter: .seconds(3600)),
            withAll: Bool = true
        ) throws -> SignalAnswer {
            try peer.send(.end(run: run, teardown, asRunner: false, withAll: withAll))
            return try peer.next {
                if case .signalled(run, let answer) = $0 { answer } else { nil }
            }
        }
        try peer.send(ScriptedRun.start(ScriptedRun.request(1, "exit 3")))
        #expect(try peer.end(of: 1).end.outcome == .exited)
        #expect(try end(1) == .gone)
        try begin(2, loop, peer)
        #expect(try end(2) == .sent)
        try begin(3, "trap 'exit 4' TERM; \(loop)", peer)
        #expect(try end(3) == .sent)
        try begin(4, deaf, peer)
        #expect(try end(4, by: .terminate(killAfter: .milliseconds(50))) == .sent)
        // Its timeout came before, and has not ended it yet.
        try begin(5, loop, peer) {
            $0.timeout = .zero
            $0.teardown = Teardown(steps: [.init(signal: SIGWINCH, grace: .seconds(3600))])
        }
        #expect(try end(5) == .sent)
        // Whoever ends it behind that, and with whatever signal.
        try begin(6, deaf, peer)
        #expect(try end(6) == .sent)
        #expect(try end(6, by: .kill, withAll: false) == .sent)
        // One that somebody wants to end, and that ends with all.
        try begin(7, deaf, peer)
        #expect(try end(7, withAll: false) == .sent)
        #expect(try end(7, by: .kill) == .sent)
        try begin(8, loop, peer)
        #expect(try end(8, withAll: false) == .sent)
        // The daemon is gone, and this one is told all of them.
        peer = try runner.connect()
        var ends: [Int64: RunnerReport.End] = [:]
        while ends.count < 8 {
            if case .ended(let run, let end) = try peer.next() { ends[run] = end }
        }
        #expect(ends[1]?.outcome == .exited && ends[1]?.code == 3)
        #expect(ends[2]?.outcome == .interrupted && ends[2]?.code == SIGTERM)
        #expect(ends[3]?.outcome == .interrupted && ends[3]?.code == 4)
        #expect(ends[4]?.outcome == .interrupted && ends[4]?.code == SIGKILL)
        #expect(ends[5]?.outcome == .timedOut)
        #expect(ends[6]?.outcome == .interrupted && ends[6]?.code == SIGKILL)
        #expect(ends[7]?.outcome == .interrupted && ends[7]?.code == SIGKILL)
        #expect(ends[8]?.outcome == .signalled && ends[8]?.code == SIGTERM)
        // It is no end of all: others begin.
        try peer.send(ScriptedRun.start(ScriptedRun.request(9, "exit 5")))
        #expect(try peer.end(of: 9).end.code == 5)
    }

    @Test(
        "A run that ends by itself before the signal is sent keeps its end",
        arguments: [false, true]
    )
    func endedBefore(byDaemon: Bool) async throws {
        let runner = try RunnerProcess()
        defer { withExtendedLifetime(runner) {} }
        let peer = try runner.connect()
        let go = runner.folder.file("go")
        try peer.send(
            ScriptedRun.start(
                ScriptedRun.request(1, "while [ ! -e \(go) ]; do sleep 0.01; done; exit 3")
            )
        )
        let pid = try peer.next { if case .started(1, let run) = $0 { run.pid } else { nil } }
        // It reads the order, or takes its signal, once the process has ended.
        let program = runner.pid
        kill(program, SIGSTOP)
        try await eventually("it is stopped") {
            readFile("/proc/\(program)/stat")?.contains(") T ") == true
        }
        if byDaemon {
            try peer.send(.end(run: 1, .standard, asRunner: false, withAll: true))
        } else {
            kill(program, SIGTERM)
        }
        close(open(go, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600))
        try await eventually("it has ended") { !isAlive(pid) }
        kill(program, SIGCONT)
        let end = try peer.end(of: 1).end
        #expect(end.outcome == .exited && end.code == 3)
    }
}
