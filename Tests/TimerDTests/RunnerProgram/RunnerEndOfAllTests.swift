// SPDX-License-Identifier: Apache-2.0

import Glibc
import JobModel
import Testing

@testable import Runner
@testable import TimerD

/// What is told of runs that are ended because all are.
@Suite("The end of all runs", .timeLimit(.minutes(1))) struct RunnerEndOfAllTests {
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
        try begin(3, "trap 'exit 4' TERM; \(loop)", peer)
        try begin(4, "trap '' TERM; \(loop)", peer) {
            $0.teardown = .terminate(killAfter: .milliseconds(50))
        }
        // Its timeout came before, and has not ended it yet.
        try begin(5, loop, peer) {
            $0.timeout = .zero
            $0.teardown = Teardown(steps: [.init(signal: SIGWINCH, grace: .seconds(1))])
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
}
