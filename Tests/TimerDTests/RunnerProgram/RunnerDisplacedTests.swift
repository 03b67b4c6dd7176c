// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import JobModel
import Testing

@testable import Runner
@testable import TimerD

/// What a runner leaves to the next one in whose place another listens by now, as systemd does once its socket unit is started
/// beside the runner of a daemon that was not of a unit.
@Suite("A runner in whose place another listens", .timeLimit(.minutes(3)))
struct RunnerDisplacedTests {
    @Test("The end of a run that went on is told by the next one, in the same epoch")
    func trueEnd() throws {
        let first = try RunnerProcess("--until-idle")
        let folder = first.folder
        let go = folder.file("go")
        var epoch: Int64 = 0
        do {
            let peer = try first.connect()
            epoch = try Self.epoch(peer)
            try Self.begin(peer, "while ! [ -e '\(go)' ]; do sleep 0.02; done; echo done")
        }
        try Self.displace(first) { second in #expect(second.wait() == 1) }
        try Data().write(to: URL(filePath: go))
        #expect(first.wait() == 0)
        #expect(access(folder.file("runner-ends"), F_OK) == 0)
        let next = try RunnerProcess(in: folder)
        let peer = try next.connect()
        #expect(try Self.epoch(peer) == epoch)
        let hasEnded = try peer.next { report -> Bool? in
            if case .known(1, let known) = report { known.phase == .ended } else { nil }
        }
        #expect(hasEnded)
        let end = try peer.end(of: 1).end
        #expect(end.outcome == .exited && end.code == 0 && end.stdout == 5)
        try peer.send(.stored(run: 1))
        try peer.send(.ping)
        _ = try peer.next { if case .pong = $0 { true } else { nil } }
        #expect(access(folder.file("runner-ends"), F_OK) != 0)
        withExtendedLifetime(next) {}
    }

    @Test("One that has nothing left hands its epoch on")
    func idle() throws {
        let first = try RunnerProcess()
        var epoch: Int64 = 0
        do {
            let peer = try first.connect()
            epoch = try Self.epoch(peer)
        }
        try Self.displace(first) { second in #expect(second.wait() == 1) }
        #expect(first.wait() == 0)
        let next = try RunnerProcess(in: first.folder)
        #expect(try Self.epoch(try next.connect()) == epoch)
        withExtendedLifetime(next) {}
    }

    @Test("Where its lock is gone too another may live there, whose files it leaves alone")
    func withoutLock() throws {
        let first = try RunnerProcess()
        let folder = first.folder
        do {
            let peer = try first.connect()
            try Self.begin(peer, "exit 3")
            #expect(try peer.end(of: 1).end.code == 3)
        }
        try Self.displace(first, removing: folder.file("runner-lock")) { second in
            // It lives: it has said who it is.
            _ = try Self.epoch(try second.connect())
            kill(first.pid, SIGCONT)
            #expect(first.wait() == 0)
            for file in ["runner-ends", "runner-epoch"] {
                #expect(access(folder.file(file), F_OK) != 0, "\(file)")
            }
        }
    }

    @Test("A daemon to which nobody answers is told which process has the runner's place")
    func named() async throws {
        let stopped = try RunnerProcess()
        kill(stopped.pid, SIGSTOP)
        defer { kill(stopped.pid, SIGCONT) }
        var status: CInt = 0
        #expect(waitpid(stopped.pid, &status, WUNTRACED) == stopped.pid)
        let other = getpid()
        let words = "has its place, and no other begins before that has ended"
        let ends: [(holder: Int32, end: String)] = [
            (other, "; process \(other) \(words): 'kill \(other)' ends it and its runs"),
            (0, "; a process that has no number here \(words)"),
            (
                stopped.pid,
                "; process \(stopped.pid) has its place, and is stopped: 'kill -CONT \(stopped.pid)' has it go on"
            ),
        ]
        for (holder, end) in ends {
            let script = ScriptedRunner(holder: holder)
            let daemon = ProgramRunner(on: script) { 5_000_000 }
            async let attached = daemon.attach { _ in }
            _ = try await script.connection(0)
            await script.pass()
            #expect(try await attached.silence == "it has not answered within 10 s" + end)
            await daemon.detach()
        }
    }

    // MARK: -

    /// Has another begin on a socket of its own in the place of that one's, as systemd's does; then `first` goes on.
    ///
    /// Stopped: it would make its own anew in between.
    private static func displace(
        _ first: RunnerProcess,
        removing file: String? = nil,
        _ body: (RunnerProcess) throws -> Void
    ) throws {
        kill(first.pid, SIGSTOP)
        defer { kill(first.pid, SIGCONT) }
        if let file { unlink(file) }
        let second = try RunnerProcess(in: first.folder)
        try body(second)
        withExtendedLifetime(second) {}
    }

    /// Begins run 1, and returns once it has.
    private static func begin(_ peer: RunnerPeer, _ script: String) throws {
        try peer.send(ScriptedRun.start(ScriptedRun.request(1, script)))
        _ = try peer.next { if case .started(1, _) = $0 { true } else { nil } }
    }

    private static func epoch(_ peer: RunnerPeer) throws -> Int64 {
        try peer.next { if case .welcome(let welcome) = $0 { welcome.epoch } else { nil } }
    }
}
