// SPDX-License-Identifier: Apache-2.0

import Glibc
import JobModel
import Synchronization
import Testing

@testable import TimerD

/// A real runner with a short grace, and short ways to run shell scripts with it.
struct TestRunner: Sendable {
    static let grace = Duration.milliseconds(200)
    private static let lastRun = Atomic<Int64>(0)

    let runner: SpawnRunner

    init() throws {
        runner = SpawnRunner(on: .test) {
            var time = timespec()
            clock_gettime(CLOCK_REALTIME, &time)
            return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
        }
    }

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

    func run(_ request: RunRequest) async -> RunResult {
        await runner.run(request) { _ in }
    }

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
