// SPDX-License-Identifier: Apache-2.0

import Glibc
import JobModel
import Testing

@testable import Runner
@testable import TimerD

/// How soon what a command leaves behind is ended, where somebody says so: its own rules give it an hour here.
@Suite("timerd-runner and ends of what is left", .timeLimit(.minutes(3)))
struct RunnerEndRestTests {
    private static let patient = Teardown.terminate(killAfter: .seconds(3600))
    private static let hasty = Teardown.terminate(killAfter: .milliseconds(50))

    /// Begins a run with these rules of its own; returns its process once that is its command.
    @discardableResult
    private func begin(_ script: String, _ peer: RunnerPeer) throws -> Int32 {
        var request = ScriptedRun.request(1, script)
        request.teardown = Self.patient
        try peer.send(ScriptedRun.start(request))
        return try peer.next { report in
            if case .started(1, let known) = report { known.pid } else { nil }
        }
    }

    /// A connection of a daemon that was told that the run's own process has ended, and others of it have not.
    private func awaitRest(_ runner: RunnerProcess) throws -> RunnerPeer {
        while true {
            let peer = try runner.connect()
            let known = try peer.next { report in
                if case .known(1, let known) = report { known } else { nil }
            }
            if known.phase == .surviving { return peer }
            try #require(known.phase != .ended)
        }
    }

    private func answer(_ peer: RunnerPeer) throws -> SignalAnswer {
        try peer.next { if case .signalled(1, let answer) = $0 { answer } else { nil } }
    }

    @Test(
        "What is left already is ended as is asked, with the owner's rights and with the runner's",
        arguments: [false, true]
    )
    func left(asRunner: Bool) throws {
        let runner = try RunnerProcess()
        defer { withExtendedLifetime(runner) {} }
        try begin("trap '' TERM; (while :; do sleep 0.01; done) & exit 3", try runner.connect())
        let peer = try awaitRest(runner)
        // As it was asked before: that is for the run's own process.
        try peer.send(.end(run: 1, Self.hasty, asRunner: asRunner))
        #expect(try answer(peer) == .gone)
        try peer.send(.end(run: 1, Self.hasty, asRunner: asRunner, withRest: true))
        #expect(try answer(peer) == .sent)
        let end = try peer.end(of: 1).end
        #expect(end.outcome == .exited && end.code == 3 && end.survivors == [])
    }

    @Test("What a command leaves behind that is ended so is ended by the same")
    func withCommand() throws {
        let runner = try RunnerProcess()
        defer { withExtendedLifetime(runner) {} }
        let peer = try runner.connect()
        let script = """
            trap 'exit 4' TERM
            (trap '' TERM; echo ready; while :; do sleep 0.01; done) &
            while :; do sleep 0.01; done
            """
        try begin(script, peer)
        _ = try peer.next { if case .output = $0 { true } else { nil } }
        // Time for the shell to run its trap.
        let teardown = Teardown.terminate(killAfter: .seconds(5))
        try peer.send(.end(run: 1, teardown, asRunner: false, withRest: true))
        #expect(try answer(peer) == .sent)
        let end = try peer.end(of: 1).end
        #expect(end.outcome == .exited && end.code == 4 && end.survivors == [])
    }

    @Test(
        "It is ended as soon where a later order asks for its end by its own rules",
        arguments: [false, true]
    )
    func keepsHaste(asBegun: Bool) throws {
        let runner = try RunnerProcess()
        defer { withExtendedLifetime(runner) {} }
        let peer = try runner.connect()
        try begin("trap '' TERM; echo ready; while :; do sleep 0.01; done", peer)
        _ = try peer.next { if case .output = $0 { true } else { nil } }
        try peer.send(.end(run: 1, Self.hasty, asRunner: false, withRest: true))
        try peer.send(.end(run: 1, Self.patient, asRunner: false, asBegun: asBegun))
        let end = try peer.end(of: 1).end
        #expect(end.outcome == .signalled && end.code == SIGKILL)
    }

    @Test("A later order that ends it sooner is carried out")
    func sooner() throws {
        let runner = try RunnerProcess()
        defer { withExtendedLifetime(runner) {} }
        let peer = try runner.connect()
        try begin("trap '' TERM; echo ready; while :; do sleep 0.01; done", peer)
        _ = try peer.next { if case .output = $0 { true } else { nil } }
        try peer.send(.end(run: 1, Self.patient, asRunner: false, withRest: true))
        try peer.send(.end(run: 1, Self.hasty, asRunner: false))
        let end = try peer.end(of: 1).end
        #expect(end.outcome == .signalled && end.code == SIGKILL)
    }

    @Test("What is left heeds a signal that it has got already, and does not get it again")
    func notAgain() throws {
        let runner = try RunnerProcess()
        defer { withExtendedLifetime(runner) {} }
        let script = """
            trap 'exit 4' USR1
            (trap 'echo told' TERM; echo ready; while :; do sleep 0.01; done) &
            while :; do sleep 0.01; done
            """
        var peer = try runner.connect()
        let command = try begin(script, peer)
        _ = try peer.next { if case .output = $0 { true } else { nil } }
        // It ends by itself; what it leaves is ended by its rules.
        kill(command, SIGUSR1)
        _ = try peer.next { report in
            guard case .output(_, _, _, _, let bytes) = report else { return Bool?.none }
            return String(decoding: bytes, as: UTF8.self).contains("told") ? true : nil
        }
        peer = try awaitRest(runner)
        try peer.send(.end(run: 1, Self.hasty, asRunner: false, withRest: true))
        #expect(try answer(peer) == .sent)
        let end = try peer.end(of: 1).end
        #expect(end.outcome == .exited && end.code == 4)
        // The runner tells the next daemon all that it keeps.
        let told = try runner.connect().end(of: 1).stdout
        #expect(told == Array("ready\ntold\n".utf8))
    }
}
