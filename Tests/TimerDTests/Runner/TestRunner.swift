// SPDX-License-Identifier: Apache-2.0

import Glibc
import JobModel
import Synchronization
import SystemPackage
import Testing

@testable import Runner
@testable import TimerD

/// A real runner with a short grace, and short ways to run shell scripts with it.
///
/// It ends with this, once what it runs has ended.
final class TestRunner: Sendable {
    static let grace = Duration.milliseconds(200)
    private static let lastRun = Atomic<Int64>(0)

    private let runner: ProgramRunner
    private let attaching: Task<KnownRuns, any Error>

    /// `withGroups`: whether runs have control groups, where there can be any.
    init(withGroups: Bool = true) throws {
        let now = { @Sendable in
            var time = timespec()
            clock_gettime(CLOCK_REALTIME, &time)
            return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
        }
        let folder = try TemporaryFolder()
        let program = RunnerProgram(
            executable: DaemonProcess.programs + "/timerd-runner",
            socket: folder.file("runner"),
            arguments: ["--until-idle"] + (withGroups ? [] : ["--without-groups"]),
            started: reap
        )
        let runner = ProgramRunner(on: .test, now: now) { () throws(RunnerUnreachable) in
            defer { withExtendedLifetime(folder) {} }
            return try program.connect()
        }
        self.runner = runner
        attaching = Task { try await runner.attach { _ in } }
    }

    /// The connection would stay for as long as the loop that all tests share, and its runner with it.
    deinit { Task { [runner] in await runner.detach() } }

    /// Of the program; nil before it is known.
    var pid: pid_t? { runner.known.pid }

    static func request(_ argv: [String], input: [UInt8] = []) -> RunRequest {
        RunRequest(
            run: lastRun.add(1, ordering: .relaxed).newValue,
            argv: argv,
            environment: ["PATH": RunEnvironment.path],
            workingDirectory: "/",
            input: input,
            teardown: .terminate(killAfter: grace)
        )
    }

    static func script(_ script: String, input: [UInt8] = []) -> RunRequest {
        request(["/bin/sh", "-c", script], input: input)
    }

    func run(
        _ request: RunRequest,
        started: @escaping @Sendable (pid_t) -> Void = { _ in }
    ) async -> RunResult {
        do {
            _ = try await attaching.value
            defer { runner.stored(request.run) }
            return try await runner.run(request) { started($0.pid) }
        } catch {
            Issue.record("run \(request.run) was not begun: \(error)")
            return .notStarted(StartRefusal("\(error)"), at: 0)
        }
    }

    @discardableResult
    func stop(_ run: Int64, by teardown: Teardown) -> Bool { runner.stop(run, by: teardown) }

    func run(script: String, input: [UInt8] = []) async -> RunResult {
        await run(Self.script(script, input: input))
    }

    func run(_ argv: String...) async -> RunResult {
        await run(Self.request(argv))
    }
}

extension CapturedOutput {
    var stdoutText: String { String(decoding: stdout, as: UTF8.self) }
    var stdoutLines: [Substring] { stdoutText.split(separator: "\n") }
}

/// Whether there is such a process, and it is not a zombie.
func isAlive(_ pid: pid_t) -> Bool {
    guard let status = readFile("/proc/\(pid)/stat"), let end = status.lastIndex(of: ")") else {
        return false
    }
    return !status[end...].hasPrefix(") Z")
}

/// The text of a small file; nil where it cannot be read.
func readFile(_ path: String) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor != -1 else { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = read(descriptor, &bytes, bytes.count)
    return count < 0 ? nil : String(decoding: bytes[..<count], as: UTF8.self)
}

/// Waits until `condition` holds, and fails if it does not within `limit`.
func eventually(
    _ what: Comment,
    within limit: Duration = .seconds(60),
    sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: @Sendable () throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + limit
    while try !condition() {
        try #require(ContinuousClock.now < deadline, what, sourceLocation: sourceLocation)
        try await Task.sleep(for: .milliseconds(2))
    }
}

/// A new directory that is removed when this is released.
final class TemporaryDirectory: Sendable {
    let path: String

    init() throws {
        var template = Array("/tmp/timerd-runner-XXXXXX".utf8CString)
        path = try #require(mkdtemp(&template).map { String(cString: $0) })
    }

    deinit {
        for name in ["file", "script", "directory", "fifo"] { remove("\(path)/\(name)") }
        rmdir(path)
    }

    /// Writes an executable file of that name, one of those that `deinit` knows.
    ///
    /// By a shell: a descriptor of this process would be open for a moment in whatever another test
    /// spawns just then, and the kernel executes no file that is open for writing.
    func write(_ text: String, to name: String, with test: TestRunner) async throws -> String {
        let file = "\(path)/\(name)"
        let result = await test.run(
            script: "cat >\(file) && chmod 755 \(file)",
            input: Array(text.utf8)
        )
        try #require(result.outcome == .exited(0))
        return file
    }
}
