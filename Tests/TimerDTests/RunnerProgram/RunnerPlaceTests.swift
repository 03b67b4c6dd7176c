// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import JobModel
import Locks
import Testing

@testable import LinuxSystem
@testable import Runner
@testable import TimerD

/// What becomes of a runner whose socket's file is removed or replaced.
@Suite("A runner's place", .timeLimit(.minutes(3))) struct RunnerPlaceTests {
    private static let goesOn = "while :; do sleep 0.02; done"

    /// Begins run 1, and returns once it goes on.
    private func begin(_ peer: RunnerPeer, _ script: String = Self.goesOn) throws {
        try peer.send(ScriptedRun.start(ScriptedRun.request(1, script)))
        _ = try peer.next { if case .started(1, _) = $0 { true } else { nil } }
    }

    /// What `program` says that cannot connect; nil if it can.
    private func refusal(of program: RunnerProgram) -> RunnerUnreachable? {
        do throws(RunnerUnreachable) {
            try program.connect().closeForGood()
            return nil
        } catch {
            return error
        }
    }

    @Test("A socket's file that is removed is made anew, and the next daemon hears of the runs")
    func removed() async throws {
        let runner = try RunnerProcess()
        let path = runner.path
        let peer = try runner.connect()
        try begin(peer)
        // More than once.
        for _ in 0..<3 {
            unlink(path)
            try await eventually("it is made anew") { access(path, F_OK) == 0 }
        }
        var file = stat()
        #expect(lstat(path, &file) == 0 && file.st_mode & 0o777 == 0o600)
        var next: RunnerPeer?
        // It may be bound, and not listen yet.
        while next == nil {
            try Task.checkCancellation()
            await Task.yield()
            // try?: until then.
            next = try? runner.connect()
        }
        let known = try #require(next).next { report -> Int64? in
            if case .known(let run, _) = report { run } else { nil }
        }
        #expect(known == 1)
    }

    @Test("A socket's file that cannot be made anew for now is made once there is a place for it")
    func madeLater() async throws {
        let runner = try RunnerProcess()
        let (path, folder) = (runner.path, runner.folder.path)
        let aside = folder + "-aside"
        let peer = try runner.connect()
        _ = try peer.next()
        #expect(rename(folder, aside) == 0 && unlink(aside + "/runner") == 0)
        do {
            defer { rename(aside, folder) }
            // It has tried in vain once it has carried out what comes behind that.
            try begin(peer)
        }
        try await eventually("it is made anew") { access(path, F_OK) == 0 }
        #expect(kill(runner.pid, 0) == 0)
    }

    @Test("No runner is started beside one whose socket's file is gone: that is told, with its pid")
    func held() async throws {
        let runner = try RunnerProcess()
        let (path, pid) = (runner.path, runner.pid)
        // It has its place before it says anything.
        _ = try runner.connect().next()
        // It cannot make the file anew.
        kill(pid, SIGSTOP)
        unlink(path)
        let program = RunnerProgram(socket: path)
        let told = try #require(refusal(of: program))
        let words = "process \(pid) goes on as the timerd-runner of '\(path)'"
        #expect(told.isThere && told.description.hasPrefix(words), "\(told)")
        #expect(access(path, F_OK) == -1, "nothing is made in its place")
        kill(pid, SIGCONT)
        try await eventually("it makes the file anew") { access(path, F_OK) == 0 }
    }

    @Test("A dead socket's file in the place of a runner's is removed, and its own made anew")
    func dead() async throws {
        let runner = try RunnerProcess()
        let (path, pid) = (runner.path, runner.pid)
        let peer = try runner.connect()
        try begin(peer)
        // It is not to make its own anew in between.
        kill(pid, SIGSTOP)
        unlink(path)
        close(try RunnerProcess.socket(path) { bind($0, $1, $2) })
        kill(pid, SIGCONT)
        let program = RunnerProgram(socket: path)
        let told = try #require(refusal(of: program))
        #expect(told.isThere, "\(told)")
        try await eventually("it is heard again") { refusal(of: program) == nil }
        #expect(kill(pid, 0) == 0)
    }

    @Test("A runner whose process has no number here is told without one, and without what to do")
    func unnamed() {
        let program = RunnerProgram(socket: "/s")
        #expect(program.held(by: 7).description.contains("'kill 7'"))
        for holder: Int32 in [0, -1] {
            let told = program.held(by: holder)
            let words = "a process that has no number here goes on as the timerd-runner of '/s'"
            #expect(told.isThere && told.description.hasPrefix(words), "\(told)")
            #expect(!told.description.contains("kill"), "\(told)")
        }
    }

    @Test("A daemon that begins meanwhile takes its runs for going on, and hears of them later")
    func waits() async throws {
        let runner = try RunnerProcess()
        do {
            let peer = try runner.connect()
            try begin(peer)
            kill(runner.pid, SIGSTOP)
        }
        unlink(runner.path)
        let program = RunnerProgram(socket: runner.path)
        let changes = Locked<[String]>([])
        let daemon = ProgramRunner(on: .test, now: RunnerReleaseTests.now) {
            () throws(RunnerUnreachable) in
            try program.connect()
        }
        let known = try await daemon.attach { change in changes.withLock { $0.append("\(change)") }
        }
        #expect(known.isUnheard && known.runs.isEmpty)
        let reason = "process \(runner.pid) goes on"
        #expect(known.silence?.hasPrefix(reason) == true, "\(known)")
        kill(runner.pid, SIGCONT)
        try await eventually("it is heard") {
            changes.withLock { all in all.contains { $0.hasPrefix("back") } }
        }
        #expect(daemon.known.runs.keys.sorted() == [1])
        await daemon.detach()
    }

    @Test("A daemon that loses a runner, and finds that it goes on unheard, is told so")
    func heldMeanwhile() async throws {
        let runner = try RunnerProcess()
        let program = RunnerProgram(socket: runner.path)
        let isLost = Locked(false)
        let changes = Locked<[String]>([])
        let daemon = ProgramRunner(on: .test, now: RunnerReleaseTests.now) {
            () throws(RunnerUnreachable) in
            if isLost.withLock({ $0 }) { throw program.held(by: 7) }
            return try program.connect()
        }
        _ = try await daemon.attach { change in changes.withLock { $0.append("\(change)") } }
        isLost.withLock { $0 = true }
        // The newest connection counts: the daemon's ends.
        let peer = try runner.connect()
        _ = try peer.next()
        try await eventually("it is told") {
            changes.withLock { all in all.last?.contains("process 7 goes on") == true }
        }
        await daemon.detach()
    }

    @Test("A second runner in one place ends at once, and the first one once its runs have ended")
    func second() async throws {
        let first = try RunnerProcess()
        do {
            let peer = try first.connect()
            try peer.send(ScriptedRun.start(ScriptedRun.request(1, "exit 3")))
            #expect(try peer.end(of: 1).end.code == 3)
            // Nobody stores it: so the first one stays.
            kill(first.pid, SIGSTOP)
        }
        // In the place of the first one's socket is this one's.
        let second = try RunnerProcess(in: first.folder)
        #expect(second.wait() == 1)
        kill(first.pid, SIGCONT)
        #expect(first.wait() == 0)
    }
}
