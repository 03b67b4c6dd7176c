// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import JobModel
import Testing

@testable import Runner
@testable import TimerD

/// Signals that the runner sends with the rights of a run's owner.
@Suite(
    "timerd-runner and signals",
    .enabled(if: geteuid() == 0 && Raised.works),
    .timeLimit(.minutes(2))
)
struct RunnerSignalsTests {
    private func request(_ run: Int64, _ script: String) -> RunRequest {
        var request = ScriptedRun.request(run, script)
        request.credentials = CredentialsTests.nobody
        return request
    }

    private func begin(_ request: RunRequest, _ peer: RunnerPeer, file: String = "/bin/sh") throws {
        try peer.send(.start(request, files: [file]))
        _ = try peer.next { if case .started(request.run, _) = $0 { true } else { nil } }
    }

    @Test("However many runs are ended at once, each gets its signal")
    func many() throws {
        let runner = try RunnerProcess()
        let peer = try runner.connect()
        let runs = Int64(1)...300
        for run in runs { try begin(request(run, "exec sleep 1000"), peer) }
        let rules = Teardown(steps: [.init(signal: SIGTERM, grace: .seconds(1000))])
        try peer.send(runs.flatMap { RunnerOrder.end(run: $0, rules, asRunner: false).frame })
        var answers: [Int64: SignalAnswer] = [:]
        var ended: Set<Int64> = []
        while ended.count < runs.count {
            switch try peer.next() {
            case .signalled(let run, let answer): answers[run] = answer
            case .ended(let run, let end):
                #expect(end.code == SIGTERM)
                ended.insert(run)
            default: break
            }
        }
        #expect(answers.count == runs.count && answers.values.allSatisfy { $0 == .sent })
    }

    /// A run whose owner may not signal it, of a runner without control groups, by which it would be ended.
    ///
    /// `beside`: what else is in its process group, and its owner's.
    private func withRaised(
        beside command: String? = nil,
        _ change: (inout RunRequest) -> Void = { _ in },
        _ body: (RunnerProcess, RunnerPeer, RunRequest) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        chmod(folder.path, 0o777)
        let program = try await Raised.make(in: folder.path)
        defer { Raised.end(in: folder.path) }
        let runner = try RunnerProcess("--without-groups")
        let peer = try runner.connect()
        var request = request(1, "")
        request.argv = [program, "leader"]
        if let command {
            request.argv = ["sh", "-c", "\(command) & exec '\(program)' leader"]
        }
        change(&request)
        try begin(request, peer, file: command == nil ? program : "/bin/sh")
        let file = folder.file("leader")
        try await eventually("it is root's") { readFile(file)?.isEmpty == false }
        try await body(runner, peer, request)
    }

    @Test("Who outlasts a timeout is told to each daemon, for as long as the run goes on")
    func outlasted() async throws {
        try await withRaised { request in
            // By then it is root's, on any machine.
            request.timeout = .seconds(12)
            request.teardown = .kill
        } _: { runner, peer, request in
            let pids = try peer.next { if case .outlasted(1, let pids) = $0 { pids } else { nil } }
            #expect(pids.count == 1)
            for _ in 0..<2 {
                let next = try runner.connect()
                _ = try next.next { if case .synced = $0 { true } else { nil } }
                let again = try next.next {
                    if case .outlasted(1, let pids) = $0 { pids } else { nil }
                }
                #expect(again == pids)
            }
            // A daemon that takes the run up later is told then.
            let program = RunnerProgram(socket: runner.path)
            let daemon = ProgramRunner(on: .test, now: RunnerReleaseTests.now) {
                () throws(RunnerUnreachable) in
                try program.connect()
            }
            _ = try await daemon.attach { _ in }
            let told = AsyncStream<[Int32]>.makeStream()
            var taken = request
            taken.outlasted = { told.continuation.yield($0) }
            let end = Task { [taken] in try await daemon.takeUp(taken) { _ in } }
            for await again in told.stream {
                #expect(again == pids)
                break
            }
            _ = await daemon.kill(1, by: .kill, asDaemon: true)
            #expect(try await end.value.outcome == .timedOut)
            await daemon.detach()
        }
    }

    @Test(
        "Who outlasts the end that was asked for is told, also where others of the run have got it"
    )
    func outlastedInPart() async throws {
        try await withRaised(beside: "sleep 1000") { _ in
        } _: { _, peer, _ in
            try peer.send(.end(run: 1, .kill, asRunner: false))
            let answer = try peer.next {
                if case .signalled(1, let answer) = $0 { answer } else { nil }
            }
            #expect(answer == .sent)
            let pids = try peer.next { if case .outlasted(1, let pids) = $0 { pids } else { nil } }
            #expect(!pids.isEmpty)
            try peer.send(.end(run: 1, .kill, asRunner: true))
            let end = try peer.end(of: 1).end
            #expect(end.outcome == .signalled && end.code == SIGKILL && end.survivors == [])
        }
    }

    @Test("The end of all ends also what its owner may not signal, and what the daemon could not")
    func endOfAll() async throws {
        try await withRaised { request in
            request.teardown = .terminate(killAfter: .milliseconds(50))
        } _: { runner, peer, _ in
            kill(runner.pid, SIGTERM)
            // Refused to the owner; it does not stand in the way of the end of all.
            try peer.send(.end(run: 1, .standard, asRunner: false))
            let end = try peer.end(of: 1).end
            #expect(end.outcome == .interrupted && end.code == SIGKILL)
            try peer.send(.stored(run: 1))
            #expect(runner.wait() == 0)
        }
    }
}
