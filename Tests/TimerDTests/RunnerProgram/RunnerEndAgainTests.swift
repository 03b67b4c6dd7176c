// SPDX-License-Identifier: Apache-2.0

import Glibc
import JobModel
import Testing

@testable import Runner
@testable import TimerD

/// What a daemon says to the runner of a run that the daemon before it has told to end, or was about to.
@Suite("timerd-runner and ends that are asked for again", .timeLimit(.minutes(3)))
struct RunnerEndAgainTests {
    private static let patient = Teardown(steps: [.init(signal: SIGTERM, grace: .seconds(1000))])

    @Test(
        "A run that is being ended is left at that where the next daemon asks again; else it is ended",
        arguments: [true, false]
    )
    func again(isBeingEnded: Bool) throws {
        let runner = try RunnerProcess()
        var peer = try runner.connect()
        let script =
            "trap 'echo told' TERM; trap 'exit 5' URG; echo ready; while :; do sleep 0.01; done"
        try peer.send(ScriptedRun.start(ScriptedRun.request(1, script)))
        try wait(for: "ready\n", peer)
        if isBeingEnded {
            try peer.send(.end(run: 1, Self.patient, asRunner: false))
            try wait(for: "told\n", peer)
        }
        peer = try runner.connect()
        try peer.send(.end(run: 1, Self.patient, asRunner: false, isAgain: true))
        let answer = try peer.next { report in
            if case .signalled(1, let answer) = report { answer } else { nil }
        }
        #expect(answer == .sent)
        // A shell takes what has come of signals by their numbers, and this one's is higher.
        let last = Teardown(steps: [.init(signal: SIGURG, grace: .seconds(1000))])
        try peer.send(.end(run: 1, last, asRunner: false))
        let (end, _, _) = try peer.end(of: 1)
        #expect(end.code == 5)
        // The runner tells the next daemon all that it keeps.
        let told = try runner.connect().end(of: 1).stdout
        #expect(told == Array("ready\ntold\n".utf8))
    }

    @Test("What a daemon before has begun is ended by the rules that it was begun with")
    func asBegun() throws {
        let runner = try RunnerProcess()
        var peer = try runner.connect()
        let script = "trap 'exit 5' USR1; echo ready; while :; do sleep 0.01; done"
        var request = ScriptedRun.request(1, script)
        request.teardown = Teardown(steps: [.init(signal: SIGUSR1, grace: .seconds(1000))])
        try peer.send(ScriptedRun.start(request))
        try wait(for: "ready\n", peer)
        peer = try runner.connect()
        try peer.send(.end(run: 1, .kill, asRunner: false, asBegun: true))
        let end = try peer.end(of: 1).end
        #expect(end.outcome == .exited && end.code == 5)
        withExtendedLifetime(runner) {}
    }

    private func wait(for text: String, _ peer: RunnerPeer) throws {
        _ = try peer.next { report in
            guard case .output(_, .stdout, _, _, let bytes) = report else { return Bool?.none }
            return Array(bytes) == Array(text.utf8) ? true : nil
        }
    }
}
