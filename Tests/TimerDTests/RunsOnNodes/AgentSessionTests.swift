// SPDX-License-Identifier: Apache-2.0

import Glibc
import Locks
import SystemPackage
import Testing

@testable import LinuxSystem
@testable import Runner
@testable import TimerD

/// One connection of an agent, with a real runner; the test is the node that leads.
@Suite("A connection of an agent", .timeLimit(.minutes(3)))
struct AgentSessionTests {
    /// What says whether a request is still kept by anybody.
    private struct Trace { weak var start: RunStart? }

    @Test("What the runner is asked with is kept until it has begun that, or refused it")
    func released() async throws {
        let runner = try RunnerProcess()
        let program = RunnerProgram(socket: runner.path)
        // A second start of a run that is known is refused.
        let before = try runner.connect()
        try before.send(ScriptedRun.start(ScriptedRun.request(7, "exec sleep 1000")))
        _ = try before.next { if case .started(7, _) = $0 { true } else { nil } }
        var ends: [CInt] = [-1, -1]
        let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        try #require(socketpair(AF_UNIX, type, 0, &ends) == 0)
        let own = FileDescriptor(rawValue: ends[0])
        let leader = RunnerPeer(FileDescriptor(rawValue: ends[1]))
        let traces = Locked<[Int64: Trace]>([:])
        let surroundings = AgentSession.Surroundings(
            limit: 2,
            connect: { () throws(RunnerUnreachable) in try program.connect() },
            prepare: { run, _ throws(StartRefusal) in
                let request = ScriptedRun.request(run, "exec sleep 1000")
                traces.withLock { $0[run] = Trace(start: request.start) }
                return request
            },
            ended: { _, _ in }
        )
        let session = try await withCheckedThrowingContinuation {
            (made: CheckedContinuation<AgentSession, any Error>) in
            EpollLoop.test.perform {
                do {
                    made.resume(returning: try AgentSession(on: .test, own, surroundings))
                } catch {
                    made.resume(throwing: error)
                }
            }
        }
        try leader.send(.hello(version: RunnerProtocol.current.version))
        for run in [7, 8] as [Int64] {
            try leader.send(.offer(run: run, []))
            _ = try leader.next { if case .ready(run) = $0 { true } else { nil } }
            try leader.send(.go(run: run, within: 60_000_000))
            let error = try leader.next { report -> Int32? in
                switch report {
                case .refused(run, let error): error
                case .started(run, _): 0
                default: nil
                }
            }
            #expect(error == (run == 7 ? EEXIST : 0))
            try await eventually("nobody keeps run \(run)") {
                traces.withLock { $0[run]?.start == nil }
            }
        }
        withExtendedLifetime((runner, session)) {}
    }
}
