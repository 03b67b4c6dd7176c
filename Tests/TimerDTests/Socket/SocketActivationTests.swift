// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

@testable import LinuxSystem
@testable import TimerD

/// A socket that a service manager listens on for the daemon.
@Suite("Socket activation") struct SocketActivationTests {
    private let folder: TemporaryFolder
    private var path: String { folder.file("s.sock") }

    init() throws { folder = try TemporaryFolder() }

    @Test("A socket that listens at the path is taken over, and its file stays when it is let go")
    func adopts() throws {
        let made = try SocketFile.listen(at: path)
        defer { close(made.descriptor) }
        let adopted = try SocketFile.adopt(made.descriptor, at: path)
        #expect(adopted.descriptor == made.descriptor)
        #expect(fcntl(made.descriptor, F_GETFD) & FD_CLOEXEC != 0)
        #expect(fcntl(made.descriptor, F_GETFL) & O_NONBLOCK != 0)
        adopted.remove()
        #expect(access(path, F_OK) == 0)
        made.remove()
        #expect(access(path, F_OK) != 0)
    }

    @Test("The kernel names the daemon, not the manager, as who listens", .timeLimit(.minutes(3)))
    func listener() async throws {
        try await DaemonProcess.with { daemon in
            await daemon.end(SIGTERM)
            // Has another process call listen(2), as systemd does, and becomes the daemon.
            let manager = """
                use Socket; use POSIX; $^F = 9;
                socket(my $s, AF_UNIX, SOCK_STREAM, 0) or die;
                bind($s, pack_sockaddr_un($ENV{AT})) or die;
                unless (fork) { listen($s, 9); POSIX::_exit(0) } wait;
                POSIX::dup2(fileno($s), 3); $ENV{LISTEN_PID} = $$; $ENV{LISTEN_FDS} = 1; exec @ARGV;
                """
            try await daemon.start(through: ["env", "AT=\(daemon.socket)", "perl", "-e", manager])
            // 17: SO_PEERCRED.
            let client = """
                use IO::Socket::UNIX; my $s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die;
                print unpack "i", getsockopt($s, SOL_SOCKET, 17);
                """
            let pid = try await Tool.run(["perl", "-e", client, daemon.socket])
            #expect(pid == "\(daemon.pid)")
        }
    }

    @Test(
        "A reload with another socket than the manager's is refused, as a start would be",
        .timeLimit(.minutes(3))
    )
    func changed() async throws {
        try await DaemonProcess.with { daemon in
            await daemon.end(SIGTERM)
            let file = daemon.folder + "/timerd.json"
            func write(_ socket: String, _ maxRuns: Int, logging level: String) throws {
                let words = [
                    "\"database\": \"\(daemon.database)\"", "\"socket\": \"\(socket)\"",
                    "\"maxRuns\": \(maxRuns)", "\"logLevel\": \"\(level)\"",
                ]
                let text = "{\(words.joined(separator: ", "))}"
                try text.write(toFile: file, atomically: false, encoding: .utf8)
            }
            try write(daemon.socket, 4, logging: "info")
            try await daemon.start(
                ["--config", file],
                through: ["env", "AT=\(daemon.socket)", "perl", "-e", Self.manager],
                isPlaced: false
            )
            let refusal = daemon.nextLine(with: "'ListenStream' and 'socket' have to agree")
            try write(daemon.folder + "/other.sock", 5, logging: "debug")
            kill(daemon.pid, SIGHUP)
            await refusal.wait()
            let advice = try await daemon.timerctl("doctor").output
            #expect(advice.contains("as a start would be: 'socket' is"), "\(advice)")
            #expect(!advice.contains("restart timerd, and they are in force"), "\(advice)")
            let status = try await daemon.timerctl("status", "--json").output
            #expect(status.contains("\"maxRuns\":4"), "it stays as a whole: \(status)")
            try await daemon.timerctl("add", "--in", "1h", "--name", "job", "--", "true")
            #expect(try await daemon.timerctl("fire", "--wait", "job").status == 0)
            // The records stand in their order.
            let reloaded = daemon.nextLine(with: "reloaded")
            try write(daemon.socket, 6, logging: "info")
            kill(daemon.pid, SIGHUP)
            await reloaded.wait()
            #expect(!daemon.log.contains(" debug "), "\(daemon.log)")
            await daemon.end(SIGTERM)
        }
    }

    @Test("So it is of one of several hosts", .timeLimit(.minutes(3)))
    func changedOfNode() async throws {
        try await DaemonProcess.with { daemon in
            await daemon.end(SIGTERM)
            let file = daemon.folder + "/timerd.json"
            func write(_ socket: String, logging level: String) throws {
                // Nobody listens there, so that the node stands by.
                let places = [
                    "database": "postgresql:///timerd?host=\(daemon.folder)/none", "node": "alone",
                    "copy": daemon.folder + "/copy.db", "socket": socket, "logLevel": level,
                ]
                let text = try JSONEncoder().encode(places)
                try text.write(to: URL(filePath: file))
            }
            try write(daemon.socket, logging: "info")
            try await daemon.start(
                ["--config", file],
                through: ["env", "AT=\(daemon.socket)", "perl", "-e", Self.manager],
                isPlaced: false
            )
            let refusal = daemon.nextLine(with: "'ListenStream' and 'socket' have to agree")
            try write(daemon.folder + "/other.sock", logging: "debug")
            kill(daemon.pid, SIGHUP)
            await refusal.wait()
            #expect(!daemon.log.contains("needs a restart"))
            let reloaded = daemon.nextLine(with: "reloaded")
            try write(daemon.socket, logging: "info")
            kill(daemon.pid, SIGHUP)
            await reloaded.wait()
            #expect(!daemon.log.contains(" debug "), "\(daemon.log)")
            await daemon.end(SIGTERM)
        }
    }

    /// Listens at `$AT`, and becomes the daemon.
    private static let manager = """
        use IO::Socket::UNIX; use POSIX; $^F = 9;
        my $s = IO::Socket::UNIX->new(Local => $ENV{AT}, Listen => 9) or die;
        POSIX::dup2(fileno($s), 3); $ENV{LISTEN_PID} = $$; $ENV{LISTEN_FDS} = 1; exec @ARGV;
        """

    @Test("One that listens elsewhere is refused, with both places named")
    func elsewhere() throws {
        let made = try SocketFile.listen(at: path)
        defer { close(made.descriptor) }
        let error = #expect(throws: SocketError.self) {
            try SocketFile.adopt(made.descriptor, at: "/run/timerd/timerd.sock")
        }
        #expect(error?.description.contains("listens at '\(path)'") == true)
        #expect(error?.path == "/run/timerd/timerd.sock")
    }

    @Test("What does not listen, or is no socket, is refused, which no other start mends")
    func others() throws {
        let idle = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(idle) }
        for descriptor in [idle, STDIN_FILENO, -1] {
            let error = #expect(throws: SocketError.self) {
                try SocketFile.adopt(descriptor, at: path)
            }
            #expect(error?.isLasting == true)
        }
    }
}
