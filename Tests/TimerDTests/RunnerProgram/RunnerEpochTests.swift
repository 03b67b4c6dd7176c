// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

@testable import Runner

/// What a runner leaves to the next one; `RunnerProgramTests` has the rest.
@Suite("A runner's epoch", .timeLimit(.minutes(3))) struct RunnerEpochTests {
    @Test("An idle runner that cannot hand its epoch on says so once and stays, until it can")
    func stays() async throws {
        let folder = try TemporaryFolder()
        let (runner, note, log) = try Self.hindered(in: folder)
        let first = try Self.epoch(try runner.connect())
        // Nobody is connected any more.
        let complaint = "cannot hand its epoch on in '\(note)': "
        try await eventually("it says why it stays") { readFile(log)?.contains(complaint) == true }
        try Self.withDaemon(of: runner) { peer in
            let second = try Self.epoch(peer)
            #expect(second == first)
            rmdir(note)
        }
        #expect(runner.wait() == 0)
        #expect(readFile(note)?.hasSuffix(" \(first)\n") == true)
        #expect(readFile(log)?.components(separatedBy: complaint).count == 2)
    }

    @Test("One in whose place another's lock is by now ends, and leaves that one's file alone")
    func deserted() async throws {
        let folder = try TemporaryFolder()
        let (runner, note, log) = try Self.hindered(in: folder)
        try Self.withDaemon(of: runner) { _ = try Self.epoch($0) }
        let complaint = "cannot hand its epoch on"
        try await eventually("it stays") { readFile(log)?.contains(complaint) == true }
        // At once: where there is nothing for a moment, it makes its own anew.
        unlink(folder.file("runner-lock"))
        try Data().write(to: URL(filePath: folder.file("other")))
        #expect(rename(folder.file("other"), folder.file("runner")) == 0)
        rmdir(note)
        try Data("another's".utf8).write(to: URL(filePath: note))
        #expect(runner.wait() == 0)
        #expect(readFile(note) == "another's")
    }

    @Test("What lies beside its socket, and no runner has left, it neither takes nor replaces")
    func others() async throws {
        let folder = try TemporaryFolder()
        let text = String(repeating: "x", count: 4096)
        let (runner, note, log) = try Self.hindered(in: folder) {
            try text.write(toFile: $0, atomically: false, encoding: .utf8)
        }
        try Self.withDaemon(of: runner) { _ = try Self.epoch($0) }
        let complaint = "cannot hand its epoch on in '\(note)': File exists"
        try await eventually("it stays") { readFile(log)?.contains(complaint) == true }
        #expect(readFile(note) == text)
        withExtendedLifetime(runner) {}
    }

    /// A runner that ends when it is idle, with what is in its file's way, as a full disk is, and its log.
    private static func hindered(
        in folder: TemporaryFolder,
        by hinder: (String) throws -> Void = {
            try FileManager.default.createDirectory(atPath: $0, withIntermediateDirectories: false)
        }
    ) throws -> (runner: RunnerProcess, note: String, log: String) {
        let (note, log) = (folder.file("runner-epoch"), folder.file("log"))
        try hinder(note)
        let runner = try RunnerProcess(
            "--until-idle",
            in: folder,
            through: ["/bin/sh", "-c", #"exec "$0" "$@" 2>"\#(log)""#]
        )
        return (runner, note, log)
    }

    /// Connects for as long as `body` takes.
    private static func withDaemon(
        of runner: RunnerProcess,
        _ body: (RunnerPeer) throws -> Void
    ) throws {
        let peer = try runner.connect()
        try body(peer)
        withExtendedLifetime(peer) {}
    }

    private static func epoch(_ peer: RunnerPeer) throws -> Int64 {
        try peer.next { if case .welcome(let welcome) = $0 { welcome.epoch } else { nil } }
    }
}
