// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import JobModel
import Testing

@testable import Runner
@testable import TimerD

/// What a run's environment has as after a login: docs/runner-protocol.md, flag 16.
@Suite(
    "The environment as after a login",
    .enabled(if: geteuid() == 0, "for root alone, who makes folders in /run/user"),
    .timeLimit(.minutes(3)),
    .serialized
)
struct RunnerLoginEnvironmentTests {
    /// A user that nobody is, and no other run of these tests takes.
    private static let uid = 1_900_000_000 + UInt32(getpid())

    /// The folder /run/user/UID as long as this is.
    private final class UserFolder {
        let path = "/run/user/\(RunnerLoginEnvironmentTests.uid)"
        private let isFirst: Bool
        private var listener: CInt = -1

        init(owner: uid_t = RunnerLoginEnvironmentTests.uid) throws {
            isFirst = mkdir("/run/user", 0o755) == 0
            try #require(mkdir(path, 0o700) == 0)
            chown(path, owner, owner)
        }

        /// What an agent for messages listens at.
        func listen() throws {
            listener = try RunnerProcess.socket(path + "/bus") { bind($0, $1, $2) }
        }

        /// As a user may, with a link to wherever it likes.
        func lead(to other: String) throws { try #require(symlink(other, path + "/bus") == 0) }

        func write() throws {
            try #require(FileManager.default.createFile(atPath: path + "/bus", contents: nil))
        }

        deinit {
            if listener != -1 { close(listener) }
            unlink(path + "/bus")
            rmdir(path)
            if isFirst { rmdir("/run/user") }
        }
    }

    /// What a run of that user has of these variables.
    private func environment(
        _ own: [String: String] = [:],
        through command: [String] = [],
        completes: Bool = true
    ) throws -> [String: String] {
        let runner = try RunnerProcess(through: command)
        let peer = try runner.connect()
        var request = ScriptedRun.request(1, "env")
        request.credentials = Credentials(uid: Self.uid, gid: Self.uid, groups: [])
        request.environment = own.merging(["PATH": "/usr/bin:/bin"]) { own, _ in own }
        request.completesEnvironment = completes
        try peer.send(ScriptedRun.start(request))
        let text = String(decoding: try peer.end(of: 1).stdout, as: UTF8.self)
        var all: [String: String] = [:]
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            all[String(parts[0])] = String(parts.last ?? "")
        }
        return all.filter {
            ["XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "LANG", "TZ"].contains($0.key)
        }
    }

    private static let english = ["/usr/bin/env", "LANG=en_GB.UTF-8", "TZ=Asia/Tokyo"]
    private static let noLanguage = ["/usr/bin/env", "-u", "LANG", "-u", "TZ"]

    @Test(
        "The user's folder is in it, and the bus where there is one; language and zone are the runner's"
    )
    func there() throws {
        let folder = try UserFolder()
        let language = ["XDG_RUNTIME_DIR": folder.path, "LANG": "en_GB.UTF-8", "TZ": "Asia/Tokyo"]
        #expect(try environment(through: Self.english) == language)
        #expect(try environment(through: Self.noLanguage) == ["XDG_RUNTIME_DIR": folder.path])
        try folder.listen()
        let bus = [
            "XDG_RUNTIME_DIR": folder.path,
            "DBUS_SESSION_BUS_ADDRESS": "unix:path=\(folder.path)/bus",
        ]
        #expect(try environment(through: Self.noLanguage) == bus)
        #expect(try environment(through: Self.english, completes: false) == [:])
    }

    @Test("What the job has itself stays")
    func own() throws {
        let folder = try UserFolder()
        try folder.listen()
        let own = [
            "XDG_RUNTIME_DIR": "/own", "DBUS_SESSION_BUS_ADDRESS": "", "LANG": "C", "TZ": "UTC",
        ]
        #expect(try environment(own, through: Self.english) == own)
        withExtendedLifetime(folder) {}
    }

    @Test("What is no socket is no bus")
    func noSocket() throws {
        let folder = try UserFolder()
        try folder.write()
        #expect(try environment(through: Self.noLanguage) == ["XDG_RUNTIME_DIR": folder.path])
    }

    @Test("A bus that a link leads to is looked at as the user: what is closed to it is not told")
    func closed() throws {
        let (folder, other) = (try UserFolder(), try TemporaryFolder())
        let socket = other.file("bus")
        let listener = try RunnerProcess.socket(socket) { bind($0, $1, $2) }
        defer { close(listener) }
        try folder.lead(to: socket)
        let none = ["XDG_RUNTIME_DIR": folder.path]
        #expect(chmod(other.path, 0o700) == 0)
        #expect(try environment(through: Self.noLanguage) == none)
        #expect(chmod(other.path, 0o711) == 0)
        let bus = none.merging(["DBUS_SESSION_BUS_ADDRESS": "unix:path=\(folder.path)/bus"]) { $1 }
        #expect(try environment(through: Self.noLanguage) == bus)
        withExtendedLifetime((folder, other)) {}
    }

    @Test(
        "A folder that is somebody else's, or is not there, is not taken",
        arguments: [0, 65_534]
    )
    func foreign(owner: uid_t) throws {
        #expect(try environment(through: Self.noLanguage) == [:])
        let folder = try UserFolder(owner: owner)
        try folder.listen()
        #expect(try environment(through: Self.noLanguage) == [:])
        withExtendedLifetime(folder) {}
    }
}
