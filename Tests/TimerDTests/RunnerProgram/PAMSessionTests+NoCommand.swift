// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import JobModel
import Testing

@testable import Runner
@testable import TimerD

/// Sessions that are opened for a command that never begins.
extension PAMSessionTests {
    @Test("A command that is killed before the runner knows its process has ended by a signal")
    func killedUnknown() async throws {
        let (service, fifo) = try waitingService()
        let runner = try RunnerProcess()
        let pid = runner.pid
        let peer = try runner.connect()
        try peer.send(ScriptedRun.start(request(1, "exit 0", service)))
        try await eventually("its session is being opened") { !children(of: pid).isEmpty }
        let holders = children(of: pid)
        // It hears of the end of a child first, and then of the session.
        kill(pid, SIGSTOP)
        kill(pid, SIGCHLD)
        try "go\n".write(toFile: fifo, atomically: false, encoding: .utf8)
        try await eventually("the command's process is there") {
            children(of: pid).contains { !holders.contains($0) }
        }
        let command = try #require(children(of: pid).first { !holders.contains($0) })
        kill(command, SIGKILL)
        try await eventually("it has ended") { !isAlive(command) }
        kill(pid, SIGCONT)
        let end = try peer.end(of: 1).end
        #expect(end.outcome == .signalled && end.code == SIGKILL)
        try await waitForEnd(of: service)
        withExtendedLifetime(runner) {}
    }

    @Test(
        "A run for whose process there is no room once its session is open is refused, while a daemon is still being told of others",
        .enabled(if: DurabilityTests.canTrace, "needs strace, which .ci/run installs")
    )
    func refusedLate() async throws {
        let (service, fifo) = try waitingService()
        let runner = try RunnerProcess()
        let pid = runner.pid
        let first = try runner.connect()
        // More than a connection takes.
        let others = 1...16 as ClosedRange<Int64>
        for run in others {
            var request = ScriptedRun.request(run, "head -c 100000 /dev/zero")
            request.output = RunOutput(limit: 1 << 20)
            try first.send(ScriptedRun.start(request))
            _ = try first.end(of: run)
        }
        try first.send(ScriptedRun.start(request(17, "exit 3", service)))
        try await eventually("its session is being opened") { !children(of: pid).isEmpty }
        let holder = try #require(children(of: pid).first)
        // Nothing is read but its first words.
        let next = try runner.connect()
        _ = try next.next()
        try await eventually("the opening waits") {
            children(of: holder).contains {
                readFile("/proc/\($0)/cmdline")?.contains("/wait") == true
            }
        }
        let tracer = try Strace(holder, "-e", "inject=clone,clone3:error=EAGAIN")
        try "go\n".write(toFile: fifo, atomically: false, encoding: .utf8)
        try await eventually("there is no process for it") { !isAlive(holder) }
        // It may get the memory of the one that was refused.
        try next.send(ScriptedRun.start(ScriptedRun.request(18, "exit 4")))
        var ended: Set<Int64> = []
        var refused: [Int64: Int32] = [:]
        while ended.count < others.count + 1 {
            switch try next.next() {
            case .ended(let run, _): ended.insert(run)
            case .refused(let run, let error): refused[run] = error
            default: break
            }
        }
        #expect(ended == Set(others).union([18]) && refused == [17: EAGAIN])
        withExtendedLifetime((runner, tracer, service)) {}
    }
}
