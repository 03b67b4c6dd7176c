// SPDX-License-Identifier: Apache-2.0

import Foundation
import Locks
import Subprocess
import SystemPackage
import Testing

/// A real `timerd`, in a folder of its own; and `timerctl` beside it.
final class DaemonProcess: Sendable {
    let folder: String
    private let state = Locked(State())

    private struct State {
        var pid: Int32?
        var ended: Task<TerminationStatus?, Never>?
        var log = ""
        /// Opens with the next line that has these words.
        var awaited: [(words: String, line: Latch)] = []
    }

    var database: String { folder + "/timerd.db" }
    var socket: String { folder + "/timerd.sock" }
    var pid: Int32 { state.withLock { $0.pid ?? 0 } }
    /// What it has written to standard error.
    var log: String { state.withLock { $0.log } }

    /// Opens once it writes a line with these words, from now on.
    func nextLine(with words: String) -> Latch {
        let line = Latch()
        state.withLock { $0.awaited.append((words, line)) }
        return line
    }

    /// Returns once a line of the log has these words.
    func logs(_ words: String) async {
        let line = nextLine(with: words)
        if log.contains(words) { line.open() }
        await line.wait()
    }

    private func heard(_ line: String) {
        let lines = state.withLock { state in
            state.log += line + "\n"
            let isIt = { (awaited: (words: String, line: Latch)) in line.contains(awaited.words) }
            defer { state.awaited.removeAll(where: isIt) }
            return state.awaited.filter(isIt).map(\.line)
        }
        for line in lines { line.open() }
    }

    init(folder: String) { self.folder = folder }

    /// Where the build puts the programs: beside the tests' own, unless TIMERD_PROGRAMS names others.
    static let programs: String = {
        if let folder = ProcessInfo.processInfo.environment["TIMERD_PROGRAMS"] { return folder }
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
        return ((own ?? "") as NSString).deletingLastPathComponent
    }()

    /// Runs `body` with a daemon on a new database, and removes both.
    static func with(_ body: (DaemonProcess) async throws -> Void) async throws {
        // Short: the path of a socket has 107 bytes at most.
        let folder = "/tmp/timerd-\(UUID().uuidString.prefix(13))"
        try FileManager.default.createDirectory(
            atPath: folder,
            withIntermediateDirectories: true
        )
        defer { removeFolder(folder) }
        let daemon = DaemonProcess(folder: folder)
        try await daemon.start()
        do {
            try await body(daemon)
        } catch {
            _ = await daemon.end(SIGKILL)
            daemon.endRunner()
            throw error
        }
        _ = await daemon.end(SIGTERM)
        daemon.endRunner()
    }

    /// The pid of the runner that the last daemon of this log has found or started.
    var runner: Int32 {
        let words = log.split { $0 == " " || $0 == "\n" }
        return words.last { $0.hasPrefix("runner=") }.flatMap { Int32($0.dropFirst(7)) } ?? 0
    }

    /// Ends the runs that go on without a daemon, with SIGKILL, and then the runner itself.
    func endRunner() {
        // try?: there is none any more, which is as well.
        guard let peer = try? RunnerPeer(path: database + "-runner") else { return }
        // try?: it may end as soon as it is asked.
        try? peer.endAll()
    }

    /// Returns once what goes on without a daemon is over; the next one hears how it ended.
    func awaitRuns() {
        // try?: there is no runner any more, or it ends as it is asked. Then nothing goes on.
        guard let peer = try? RunnerPeer(path: database + "-runner") else { return }
        try? peer.awaitEnds()
    }

    /// Starts the daemon and returns once it answers.
    ///
    /// `wrapper`: a program and its arguments that execute the daemon. `isPlaced`: whether it is
    /// told where its database and its socket are, but for what `arguments` say of that.
    ///
    /// - Throws: `NotReady`, with what it said, when it ended instead.
    func start(
        _ arguments: [String] = [],
        through wrapper: [String] = [],
        isPlaced: Bool = true
    ) async throws {
        let places = [["--database", database], ["--socket", socket]]
            .filter { isPlaced && !arguments.contains($0[0]) }.flatMap(\.self)
        let ready = Latch()
        state.withLock { $0.log = "" }
        let task = Task { [self] () -> TerminationStatus? in
            let command = wrapper + [Self.programs + "/timerd"] + places + arguments
            let result = try? await run(
                command[0].contains("/") ? .path(FilePath(command[0])) : .name(command[0]),
                arguments: Arguments(Array(command.dropFirst())),
                environment: .inherit,
                input: .none,
                output: .discarded,
                error: .sequence
            ) { execution in
                state.withLock { $0.pid = execution.processIdentifier.value }
                for try await line in execution.standardError.strings() {
                    heard(line)
                    if line.contains("ready") { ready.open() }
                }
            }
            ready.open()
            return result?.terminationStatus
        }
        state.withLock { $0.ended = task }
        await ready.wait()
        guard log.contains("ready") else { throw NotReady(log: log) }
    }

    /// Sends `signal` and returns once the daemon has ended.
    @discardableResult
    func end(_ signal: Int32) async -> TerminationStatus? {
        let (pid, ended) = state.withLock { ($0.pid, $0.ended) }
        if let pid, pid > 0 { kill(pid, signal) }
        let status = await ended?.value
        state.withLock { $0.pid = nil }
        return status
    }

    /// Has all its threads stand still, until SIGCONT: one may go on for a moment after the signal is sent.
    func standStill() async throws {
        let pid = pid
        kill(pid, SIGSTOP)
        try await eventually("the daemon is stopped") {
            readFile("/proc/\(pid)/stat")?.contains(") T ") == true
        }
    }

    /// What `timerctl` said.
    struct Answer: Sendable {
        var output: String
        var errors: String
        var status: Int32
    }

    /// Runs `timerctl` against this daemon.
    @discardableResult
    func timerctl(_ arguments: String...) async throws -> Answer {
        try await timerctl(arguments)
    }

    func timerctl(_ arguments: [String]) async throws -> Answer {
        let result = try await run(
            .path(FilePath(Self.programs + "/timerctl")),
            arguments: Arguments(arguments),
            environment: .inherit.updating([
                "TIMERD_SOCKET": socket, "TZ": "UTC", "NO_COLOR": "1",
            ]),
            output: .string(limit: 1 << 24),
            error: .string(limit: 1 << 20)
        )
        let status: Int32 =
            switch result.terminationStatus {
            case .exited(let code): code
            case .signaled(let signal): 128 + signal
            }
        return Answer(
            output: result.standardOutput,
            errors: result.standardError,
            status: status
        )
    }

    struct NotReady: Error, CustomStringConvertible {
        var log: String
        var description: String { "timerd ended before it was ready: \(log)" }
    }
}

/// Opens once, and lets everyone through who waits; with the cancellation of one of them, at its test's time limit, too.
final class Latch: Sendable {
    private let state = Locked<(isOpen: Bool, waiters: [CheckedContinuation<Void, Never>])>(
        (false, [])
    )

    func open() {
        let waiters = state.withLock { state in
            defer { state = (true, []) }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOpen = state.withLock { state in
                    if !state.isOpen { state.waiters.append(continuation) }
                    return state.isOpen
                }
                if isOpen { continuation.resume() }
            }
        } onCancel: {
            open()
        }
    }
}
