// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import JobModel
import Locks
import Testing

@testable import LinuxSystem
@testable import Runner
@testable import TimerD

/// A runner that may have few descriptors open.
@Suite(
    "timerd-runner and descriptors",
    .enabled(if: access("/usr/bin/prlimit", X_OK) == 0),
    .timeLimit(.minutes(3))
)
struct RunnerShortageTests {
    private func runner(_ descriptors: String) throws -> RunnerProcess {
        try RunnerProcess(through: ["/usr/bin/prlimit", "--nofile=\(descriptors)"])
    }

    /// Has a run begun; the errno if it is refused.
    private func begin(_ run: Int64, _ peer: RunnerPeer) throws -> Int32? {
        try peer.send(ScriptedRun.start(ScriptedRun.request(run, "while :; do sleep 0.02; done")))
        return try peer.next { report -> Int32?? in
            switch report {
            case .started(run, _): .some(nil)
            case .refused(run, let error): .some(error)
            default: nil
            }
        }
    }

    @Test(
        "A start beyond its descriptors is refused, and carried out once runs have ended; daemons may connect all the time"
    )
    func refused() throws {
        let runner = try runner("64:64")
        let peer = try runner.connect()
        let error = try (1...60).lazy.map { try (run: Int64($0), error: begin(Int64($0), peer)) }
            .first { $0.error != nil }
        let beyond = try #require(error)
        #expect(beyond.error == EMFILE && beyond.run > 5)
        let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(runner.pid)/fd")
        #expect(open.count <= 64 - 16, "what is left is not for starts")
        // The runs that go on are ended as ever, and tell what they have written.
        let next = try runner.connect()
        #expect(try begin(beyond.run, next) == EMFILE)
        for run in 1..<beyond.run {
            try next.send(.end(run: run, .kill, asRunner: false))
            #expect(try next.end(of: run).end.code == SIGKILL)
            try next.send(.stored(run: run))
        }
        #expect(try begin(beyond.run, next) == nil)
    }

    @Test("The daemon lets wait what is refused so, and says why; it may begin once there is room")
    func waits() async throws {
        let runner = try runner("64:64")
        let program = RunnerProgram(socket: runner.path)
        let changes = Locked<[String]>([])
        let daemon = ProgramRunner(on: .test, now: RunnerReleaseTests.now) {
            () throws(RunnerUnreachable) in
            try program.connect()
        }
        _ = try await daemon.attach { change in changes.withLock { $0.append("\(change)") } }
        let news = AsyncStream<(run: Int64, reason: String?)>.makeStream()
        for run in Int64(1)...40 {
            let request = ScriptedRun.request(run, "while :; do sleep 0.02; done")
            Task {
                do throws(RunBreak) {
                    _ = try await daemon.run(request) { _ in news.continuation.yield((run, nil)) }
                } catch {
                    if case .notBegun(let reason) = error { news.continuation.yield((run, reason)) }
                }
            }
        }
        var begun: [Int64] = []
        var reasons: Set<String> = []
        var count = 0
        for await (run, reason) in news.stream {
            if let reason { reasons.insert(reason) } else { begun.append(run) }
            count += 1
            if count == 40 { break }
        }
        #expect(begun.count > 5 && begun.count < 40)
        let reason = "timerd-runner has no room for more runs: too many open files"
        #expect(reasons == [reason])
        try await eventually("there may be room") {
            changes.withLock { $0.prefix(2) } == ["full(\"\(reason)\")", "hasRoom"]
        }
        await daemon.detach()
    }

    @Test("It takes what the hard limit grants; a command gets the limit of its order")
    func raised() throws {
        let runner = try runner("50:4096")
        let peer = try runner.connect()
        try peer.send(ScriptedRun.start(ScriptedRun.request(1, "ulimit -n")))
        let limit = String(decoding: try peer.end(of: 1).stdout, as: UTF8.self)
        #expect(limit == "\(min(DescriptorLimit.inherited, 4096))\n")
        let limits = try String(contentsOfFile: "/proc/\(runner.pid)/limits", encoding: .utf8)
        let line = limits.split(separator: "\n").first { $0.hasPrefix("Max open files") }
        #expect(line?.split(separator: " ").dropFirst(3).first == "4096")
    }

    @Test(
        "Without memory for a report the runner parts from its daemon, and tells the next one all",
        .enabled(if: !Machine.isSlow, "a sanitizer takes more than any limit")
    )
    func withoutMemory() async throws {
        // What it has freed is the kernel's again, and no room for what it is to have none for.
        let runner = try RunnerProcess(through: ["/usr/bin/env", "MALLOC_MMAP_THRESHOLD_=4096"])
        let pid = runner.pid
        let gate = runner.folder.file("gate")
        try #require(mkfifo(gate, 0o600) == 0)
        let command: pid_t
        do {
            let peer = try runner.connect()
            let script = "read word <\(gate); head -c 600000 /dev/zero; exit 3"
            var request = ScriptedRun.request(1, script)
            request.output = RunOutput(limit: 1 << 20)
            try peer.send(ScriptedRun.start(request))
            command = try peer.next { if case .started(1, let run) = $0 { run.pid } else { nil } }
        }
        try "go\n".write(toFile: gate, atomically: false, encoding: .utf8)
        try await eventually("all of it is read, and its end") { kill(command, 0) == -1 }
        let status = readFile("/proc/\(pid)/status")?.split(separator: "\n") ?? []
        let size = status.first { $0.hasPrefix("VmSize:") }
        let kilobytes = try #require(size.flatMap { Int($0.filter(\.isNumber)) })
        try await Tool.run(["prlimit", "--pid=\(pid)", "--as=\(kilobytes * 1024):"])
        let first = try runner.connect()
        #expect(throws: RunnerPeer.Ended.self) { while true { _ = try first.next() } }
        try await Tool.run(["prlimit", "--pid=\(pid)", "--as=unlimited:"])
        let (end, stdout, _) = try runner.connect().end(of: 1)
        #expect(end.code == 3 && stdout.count == 600_000)
        withExtendedLifetime(runner) {}
    }

    /// Whether a runner waits for connections: what its epoll watches, as the kernel tells it.
    private static func isListening(_ runner: pid_t) -> Bool {
        let folder = "/proc/\(runner)/fdinfo/"
        // try?: a descriptor that is gone watches nothing.
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return files.contains { file in
            readFile(folder + file)?.split(separator: "\n").contains { line in
                line.split(separator: " ").prefix(2).elementsEqual(["tfd:", "3"])
            } == true
        }
    }

    @Test(
        "A connection that finds no descriptor waits, without a loop that is told of it again and again"
    )
    func exhausted() async throws {
        let runner = try RunnerProcess()
        let pid = runner.pid
        let first = try runner.connect()
        _ = try first.next { if case .synced = $0 { true } else { nil } }
        #expect(Self.isListening(pid))
        try await Tool.run(["prlimit", "--pid=\(pid)", "--nofile=3:"])
        let next = try runner.connect()
        try await eventually("it does not listen for now") { !Self.isListening(pid) }
        try await Tool.run(["prlimit", "--pid=\(pid)", "--nofile=64:"])
        _ = try next.next { if case .synced = $0 { true } else { nil } }
        #expect(Self.isListening(pid))
        withExtendedLifetime(runner) {}
    }

    @Test(
        "What a run leaves behind is ended though the runner cannot look for it, for want of descriptors"
    )
    func leftover() async throws {
        let runner = try RunnerProcess("--without-groups")
        let pid = runner.pid
        let gate = runner.folder.file("gate")
        try #require(mkfifo(gate, 0o600) == 0)
        let peer = try runner.connect()
        let script = "while :; do sleep 0.02; done & echo $!; read word <\(gate)"
        try peer.send(ScriptedRun.start(ScriptedRun.request(1, script)))
        let told = try peer.next {
            if case .output(1, _, _, _, let bytes) = $0 { bytes } else { nil }
        }
        let number = String(decoding: told, as: UTF8.self).dropLast()
        let left = try #require(pid_t(number))
        try await Tool.run(["prlimit", "--pid=\(pid)", "--nofile=3:"])
        try "go\n".write(toFile: gate, atomically: false, encoding: .utf8)
        try await eventually("what is left is ended") { !isAlive(left) }
        try await Tool.run(["prlimit", "--pid=\(pid)", "--nofile=64:"])
        let end = try peer.end(of: 1).end
        #expect(end.outcome == .exited && end.code == 0 && end.survivors == [])
        withExtendedLifetime(runner) {}
    }
}
