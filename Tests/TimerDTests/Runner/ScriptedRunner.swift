// SPDX-License-Identifier: Apache-2.0

import JobModel
import Locks
import Testing
import TimerControl

@testable import LinuxSystem
@testable import Runner
@testable import TimerD

/// What a `ProgramRunner` lives on where the test itself is the runner, and says when time passes.
final class ScriptedRunner: RunnerLoop {
    private struct State {
        var links: [ScriptedLink] = []
        var later: [@Sendable () -> Void] = []
        var pauses: [Duration] = []
    }

    private let state = Locked(State())
    /// Who has the runner's place, as far as that is known.
    let holder: Int32?

    init(holder: Int32? = nil) { self.holder = holder }

    func perform(_ work: @escaping @Sendable () -> Void) { EpollLoop.test.perform(work) }

    func perform(after time: Duration, _ work: @escaping @Sendable () -> Void) {
        state.withLock {
            $0.later.append(work)
            $0.pauses.append(time)
        }
    }

    func perform(afterEndOf pid: Int32, _ work: @escaping @Sendable () -> Void) {
        state.withLock { $0.later.append(work) }
    }

    func link(
        take: @escaping @Sendable (RunnerReport) -> Void,
        ended: @escaping @Sendable (_ reason: String) -> Void
    ) throws(RunnerUnreachable) -> any RunnerLink {
        let link = ScriptedLink(take: take, ended: ended)
        state.withLock { $0.links.append(link) }
        return link
    }

    /// The connection of that number, from 0, once it is opened.
    func connection(_ number: Int) async throws -> ScriptedLink {
        try await eventually("connection \(number) is opened") {
            self.state.withLock { $0.links.count > number }
        }
        return state.withLock { $0.links[number] }
    }

    /// How many connections were opened.
    var connections: Int { state.withLock { $0.links.count } }

    /// Lets all pass that is to happen later, after what the thread was given before.
    func pass() async {
        await flush()
        await pass(takeLater())
    }

    /// Lets that pass.
    func pass(_ later: [@Sendable () -> Void]) async {
        for work in later { perform(work) }
        await flush()
    }

    var hasLater: Bool { state.withLock { !$0.later.isEmpty } }

    /// What is to happen later, and does not unless it is passed.
    func takeLater() -> [@Sendable () -> Void] {
        state.withLock { state in
            defer { (state.later, state.pauses) = ([], []) }
            return state.later
        }
    }

    /// After how long each of that is to happen.
    var pauses: [Duration] { state.withLock { $0.pauses } }

    /// Returns once the thread has done all that it was given before.
    func flush() async {
        await withCheckedContinuation { done in perform { done.resume() } }
    }

    /// Connects a daemon with a runner of that epoch, which knows those runs.
    func attached(
        epoch: Int64 = 1,
        knowing known: [Int64: KnownRun] = [:],
        release: String = timerdVersion,
        version: UInt32 = RunnerProtocol.current.version,
        by language: RunnerProtocol = .current
    ) async throws -> (ProgramRunner, changes: Changes) {
        let changes = Changes()
        let runner = ProgramRunner(on: self, speaking: language) { 5_000_000 }
        async let attached = runner.attach { changes.note($0) }
        let link = try await connection(0)
        await link.greet(epoch: epoch, knowing: known, release: release, version: version)
        _ = try await attached
        return (runner, changes)
    }

    /// What the daemon was told of the connection, as words.
    final class Changes: Sendable {
        private let words = Locked<[String]>([])
        var all: [String] { words.withLock { $0 } }

        func note(_ change: RunnerChange) {
            words.withLock { $0.append("\(change)") }
        }
    }
}

/// A connection of which a test has the runner's end.
final class ScriptedLink: RunnerLink {
    private struct State {
        var orders: [RunnerOrder] = []
        var hasEnded = false
    }

    private let state = Locked(State())
    private let take: @Sendable (RunnerReport) -> Void
    private let closed: @Sendable (_ reason: String) -> Void

    init(
        take: @escaping @Sendable (RunnerReport) -> Void,
        ended: @escaping @Sendable (_ reason: String) -> Void
    ) {
        self.take = take
        closed = ended
    }

    @discardableResult
    func send(_ order: RunnerOrder) -> Bool {
        state.withLock { if !$0.hasEnded { $0.orders.append(order) } }
        return true
    }

    func close(_ reason: String) {
        let isFirst = state.withLock { state in
            defer { state.hasEnded = true }
            return !state.hasEnded
        }
        if isFirst { closed(reason) }
    }

    // MARK: - The runner's end

    var orders: [RunnerOrder] { state.withLock { $0.orders } }
    /// The runs that the daemon wanted started, and those that it said to be stored.
    var started: [Int64] {
        state.withLock { state in
            state.orders.compactMap {
                if case .start(let request, _) = $0 { request.run } else { nil }
            }
        }
    }
    var stored: [Int64] {
        state.withLock { state in
            state.orders.compactMap { if case .stored(let run) = $0 { run } else { nil } }
        }
    }

    /// The versions of the protocol that it said hello in.
    var greetings: [UInt32] {
        state.withLock { state in
            state.orders.compactMap { if case .hello(let version) = $0 { version } else { nil } }
        }
    }
    /// Those that it wanted ended.
    var ended: [Int64] {
        state.withLock { state in
            state.orders.compactMap {
                if case .end(let run, _, _, _, _, _, _) = $0 { run } else { nil }
            }
        }
    }
    /// Those of them of which it said that all are ended.
    var endedWithAll: [Int64] {
        state.withLock { state in
            state.orders.compactMap {
                if case .end(let run, _, _, true, _, _, _) = $0 { run } else { nil }
            }
        }
    }
    /// How often it asked whether somebody is there.
    var pings: Int {
        state.withLock { state in
            state.orders.count { if case .ping = $0 { true } else { false } }
        }
    }
    /// Those of which it told how much it has passed on.
    var passed: [Int64] {
        state.withLock { state in
            state.orders.compactMap { if case .passed(let run, _, _) = $0 { run } else { nil } }
        }
    }

    /// Returns once the daemon has read it.
    func say(_ reports: RunnerReport...) async {
        for report in reports { EpollLoop.test.perform { self.take(report) } }
        await withCheckedContinuation { done in EpollLoop.test.perform { done.resume() } }
    }

    func greet(
        epoch: Int64,
        knowing known: [Int64: KnownRun] = [:],
        release: String = timerdVersion,
        version: UInt32 = RunnerProtocol.current.version
    ) async {
        let welcome = RunnerReport.Welcome(
            version: version,
            epoch: epoch,
            pid: Int32(epoch),
            runs: 10,
            bytes: 1 << 20,
            release: release
        )
        await say(.welcome(welcome))
        for (run, known) in known { await say(.known(run: run, known)) }
        await say(.synced)
    }

    /// The runner is gone, or nothing of it arrives any more.
    func lose(_ reason: String = "the connection has ended") async {
        EpollLoop.test.perform { self.close(reason) }
        await withCheckedContinuation { done in EpollLoop.test.perform { done.resume() } }
    }
}

extension KnownRun {
    /// One of a test's, that is in progress or has ended.
    static func scripted(_ phase: RunPhase = .running) -> Self {
        KnownRun(phase: phase, pid: 77, startedAtMicroseconds: 1_000_000)
    }
}

extension RunnerReport {
    /// A run's end by exit(2).
    static func scriptedEnd(of run: Int64, status: Int32) -> Self {
        let end = End(
            outcome: .exited,
            code: status,
            startedAtMicroseconds: 1_000_000,
            endedAtMicroseconds: 2_000_000,
            usage: RunUsage(userMicroseconds: 0, systemMicroseconds: 0, peakMemory: nil),
            stdout: 0,
            stderr: 0,
            survivors: []
        )
        return .ended(run: run, end)
    }
}
