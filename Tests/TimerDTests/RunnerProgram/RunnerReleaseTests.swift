// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Locks
import SystemPackage
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

/// A real runner that is the same program as the tests' own, but for the release that it says it is of.
@Suite("Runners of other releases", .timeLimit(.minutes(3))) struct RunnerReleaseTests {
    private static let release = "0.0.9"
    static let now = { @Sendable in Int64(1) }

    /// A folder with such a program, and the socket of the runners that are begun there.
    private final class Place: Sendable {
        let folder: TemporaryFolder
        let changes = Locked<[RunnerChange]>([])
        var other: RunnerProgram { program(folder.file("timerd-runner")) }
        var own: RunnerProgram { program(DaemonProcess.programs + "/timerd-runner") }

        init() throws {
            folder = try TemporaryFolder()
            var bytes = try Data(contentsOf: URL(filePath: own.executable))
            let (from, to) = (Data(timerdVersion.utf8), Data(RunnerReleaseTests.release.utf8))
            try #require(from.count == to.count, "the program is changed in place")
            while let found = bytes.range(of: from) { bytes.replaceSubrange(found, with: to) }
            let path = other.executable
            try #require(FileManager.default.createFile(atPath: path, contents: bytes))
            chmod(path, 0o755)
        }

        private func program(_ executable: String) -> RunnerProgram {
            RunnerProgram(executable: executable, socket: folder.file("socket"), started: reap)
        }

        /// A daemon's end, which begins `program` where there is no runner.
        func daemon(_ program: RunnerProgram) async throws -> (ProgramRunner, KnownRuns) {
            let runner = ProgramRunner(on: .test, now: RunnerReleaseTests.now) {
                () throws(RunnerUnreachable) in
                try program.connect()
            }
            let known = try await runner.attach { [self] change in
                changes.withLock { $0.append(change) }
            }
            return (runner, known)
        }
    }

    @Test("One without runs makes room before the daemon begins")
    func idle() async throws {
        let place = try Place()
        let old = try place.other.connect()
        let (runner, known) = try await place.daemon(place.own)
        #expect(known.release == timerdVersion)
        #expect(place.changes.withLock { $0.isEmpty })
        await runner.detach()
        try old.close()
    }

    @Test("One that has runs goes on until all are stored, and then makes room")
    func busy() async throws {
        let place = try Place()
        let gate = place.folder.file("go")
        var request = TestRunner.script("while [ ! -e \(gate) ]; do sleep 0.02; done; exit 3")
        request.run = 7
        let old: Int32
        do {
            let peer = RunnerPeer(try place.other.connect())
            try peer.send(.hello(version: RunnerProtocol.current.version))
            try peer.send(.start(request, files: ["/bin/sh"]))
            old = try peer.next { report in
                if case .welcome(let welcome) = report { welcome.pid } else { nil }
            }
            _ = try peer.next { if case .started(7, _) = $0 { true } else { nil } }
        }
        let (runner, known) = try await place.daemon(place.own)
        #expect(known.release == Self.release && known.pid == old)
        #expect(known.runs.keys.sorted() == [7])
        try Data().write(to: URL(filePath: gate))
        let result = try await runner.takeUp(request) { _ in }
        #expect(result.outcome == .exited(3))
        #expect(place.changes.withLock { $0.isEmpty }, "its end is not stored")
        runner.stored(7)
        try await eventually("another one follows") { place.changes.withLock { $0.count } == 2 }
        let changes = place.changes.withLock { $0 }
        guard case .replaced(Self.release) = changes[0], case .back(let epoch, _) = changes[1]
        else {
            Issue.record("\(changes)")
            return
        }
        #expect(runner.known.release == timerdVersion && runner.known.epoch == epoch)
        #expect(epoch == known.epoch, "the old one had nothing left")
        try await eventually("the old one has ended") { !isAlive(old) }
        let last = TestRunner.script("exit 4")
        #expect(try await runner.run(last) { _ in }.outcome == .exited(4))
        // A runner keeps the end of a run, and stays for it, until it is told this.
        runner.stored(last.run)
        await runner.detach()
    }

    @Test("One that is followed by one of its own release is kept: there is no newer program")
    func noNewer() async throws {
        let place = try Place()
        let (runner, known) = try await place.daemon(place.other)
        #expect(known.release == Self.release)
        let request = TestRunner.script("exit 4")
        #expect(try await runner.run(request) { _ in }.outcome == .exited(4))
        runner.stored(request.run)
        let again = TestRunner.script("exit 5")
        #expect(try await runner.run(again) { _ in }.outcome == .exited(5))
        runner.stored(again.run)
        #expect(runner.known.epoch == known.epoch && place.changes.withLock { $0.isEmpty })
        await runner.detach()
    }

    @Test("One that ends as it is asked is followed by another")
    func ending() async throws {
        let place = try Place()
        let program = place.own
        // The first connection is closed without an answer, as by a runner that has just decided to end.
        let isFirst = Locked(true)
        let runner = ProgramRunner(on: .test, now: RunnerReleaseTests.now) {
            () throws(RunnerUnreachable) in
            let answers = isFirst.withLock { isFirst in
                defer { isFirst = false }
                return !isFirst
            }
            guard !answers else { return try program.connect() }
            var ends: [CInt] = [-1, -1]
            socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends)
            close(ends[1])
            return FileDescriptor(rawValue: ends[0])
        }
        let known = try await runner.attach { _ in }
        #expect(known.release == timerdVersion)
        await runner.detach()
    }
}
