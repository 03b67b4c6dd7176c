// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Foundation
import Glibc
import Locks
import Testing

@testable import Runner
@testable import TimerD

/// Where a runner says what it has to say.
@Suite("What a runner says", .timeLimit(.minutes(3))) struct RunnerLogTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Sends a line to a syslog of that kind, and returns what that has got.
    private func logged(by type: __socket_type) throws -> String {
        let path = folder.file("log")
        let log = socket(AF_UNIX, CInt(type.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(log) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let bound = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(log, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(bound == 0)
        if type == SOCK_STREAM { try #require(listen(log, 1) == 0) }
        try #require(cspawn_syslog(path, "timerd-runner", "drops 2 ends") == 0)
        let reader = type == SOCK_STREAM ? accept(log, nil, nil) : dup(log)
        defer { close(reader) }
        var bytes = [UInt8](repeating: 0, count: 200)
        let count = read(reader, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
    }

    @Test(
        "A syslog gets a warning of a daemon, by name and pid, whether it takes datagrams or a stream"
    )
    func syslog() throws {
        let words = " timerd-runner[\(getpid())]: drops 2 ends"
        let line = try logged(by: SOCK_DGRAM)
        #expect(line.hasPrefix("<28>") && line.hasSuffix(words), "\(line)")
        unlink(folder.file("log"))
        let streamed = try logged(by: SOCK_STREAM)
        #expect(streamed.hasPrefix("<28>") && streamed.hasSuffix(words + "\0"), "\(streamed)")
    }

    @Test("Where there is no syslog, or none that listens, that is an error and no wait")
    func noSyslog() throws {
        let path = folder.file("log")
        #expect(cspawn_syslog(path, "timerd-runner", "x") == ENOENT)
        close(try RunnerProcess.socket(path) { bind($0, $1, $2) })
        #expect(cspawn_syslog(path, "timerd-runner", "x") == ECONNREFUSED)
    }

    @Test("What is written to /dev/null, or to what is closed, is lost")
    func null() throws {
        for (path, isLost) in [("/dev/null", 1), ("/dev/zero", 0), ("/", 0)] as [(String, Int32)] {
            let file = open(path, O_RDONLY | O_CLOEXEC)
            try #require(file >= 0)
            #expect(cspawn_is_null(file) == isLost, "\(path)")
            close(file)
        }
        #expect(cspawn_is_null(-1) == 1)
    }

    @Test(
        "Of several sockets that systemd hands over it says which one is served; of one, or of another process's, nothing",
        arguments: [("$$", 2), ("$$", 1), ("1", 2)]
    )
    func otherSockets(owner: String, count: Int) throws {
        let log = folder.file("log")
        let runner = try RunnerProcess(through: [
            "/bin/sh", "-c",
            #"export LISTEN_PID=\#(owner) LISTEN_FDS=\#(count); exec "$0" "$@" 2>"\#(log)""#,
        ])
        // It greets after that.
        _ = try runner.connect().next()
        let said = try String(contentsOfFile: log, encoding: .utf8)
        let words = "systemd hands over 2 sockets, and '\(runner.path)' alone is served"
        #expect(said.contains(words) == (owner == "$$" && count == 2), "\(said)")
        #expect(!said.contains("hands over 1"), "\(said)")
    }

    @Test(
        "A runner that a daemon starts has no output; that of a container's first process has its errors",
        arguments: [false, true]
    )
    func errors(areShared: Bool) throws {
        let pid = Locked<pid_t>(0)
        let program = RunnerProgram(
            executable: DaemonProcess.programs + "/timerd-runner",
            socket: folder.file("socket"),
            sharesErrors: areShared,
            started: { started in
                pid.withLock { $0 = started }
                reap(started)
            }
        )
        let peer = RunnerPeer(try program.connect())
        try peer.send(.hello(version: RunnerProtocol.current.version))
        _ = try peer.next()
        let manager = FileManager.default
        func file(_ process: String, _ descriptor: Int) throws -> String {
            try manager.destinationOfSymbolicLink(atPath: "/proc/\(process)/fd/\(descriptor)")
        }
        let runner = "\(pid.withLock { $0 })"
        #expect(try file(runner, 1) == "/dev/null")
        let own = try file("self", 2)
        #expect(try file(runner, 2) == (areShared ? own : "/dev/null"))
    }
}
