// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Subprocess
import SystemPackage
import Testing

@testable import LinuxSystem
@testable import Runner
@testable import TimerD

/// What keeps a daemon from a runner, and how it says so.
@Suite("Runners that cannot be reached", .timeLimit(.minutes(3))) struct RunnerConnectTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func refusal(of program: RunnerProgram) -> String? {
        do throws(RunnerUnreachable) {
            try program.connect().closeForGood()
            return nil
        } catch {
            return error.description
        }
    }

    @Test("The program is not there")
    func missing() {
        let path = folder.file("timerd-runner")
        let program = RunnerProgram(executable: path, socket: folder.file("socket"))
        #expect(
            refusal(of: program) == "cannot start '\(path)': no such file or directory"
        )
        // No later daemon is to wait for it.
        #expect(access(program.socket, F_OK) != 0)
    }

    @Test("What it has as its input is not there: that is named, and not the program")
    func missingNull() {
        let path = folder.file("null")
        var program = RunnerProgram(executable: "/bin/true", socket: folder.file("socket"))
        program.null = path
        #expect(
            refusal(of: program)
                == "cannot open '\(path)' for timerd-runner: no such file or directory"
        )
        #expect(access(program.socket, F_OK) != 0)
    }

    @Test("The daemon's connection waits for the runner that it starts before that begins")
    func first() throws {
        let path = folder.file("timerd-runner")
        // It takes what waits for it, and ends at once.
        let script = """
            #!/usr/bin/perl
            use IO::Socket::UNIX; my $l = IO::Socket::UNIX->new_from_fd(3, "r+"); $l->blocking(0);
            my $c = $l->accept or exit 1; syswrite $c, "waited";
            """
        try script.write(toFile: path, atomically: false, encoding: .utf8)
        chmod(path, 0o700)
        let program = RunnerProgram(
            executable: path,
            socket: folder.file("socket"),
            started: reap
        )
        let connection = try program.connect()
        defer { close(connection.rawValue) }
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = read(connection.rawValue, &bytes, bytes.count)
        #expect(String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self) == "waited")
    }

    @Test("A runner that something wakes before its first daemon waits for that")
    func awaited() async throws {
        let runner = try RunnerProcess("--until-idle")
        let pid = runner.pid
        /// A set of signals of the runner's.
        @Sendable func signals(_ name: String) throws -> UInt64 {
            let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
            let line = status.split(separator: "\n").first { $0.hasPrefix(name + ":") }
            return line.flatMap { UInt64($0.dropFirst(name.count + 2), radix: 16) } ?? 0
        }
        let child: UInt64 = 1 << UInt64(SIGCHLD - 1)
        try await eventually("it watches signals") { try signals("SigBlk") & child != 0 }
        kill(pid, SIGCHLD)
        try await eventually("it has been woken") { try signals("ShdPnd") & child == 0 }
        let peer = try runner.connect()
        guard case .welcome = try peer.next() else {
            Issue.record("no welcome")
            return
        }
        withExtendedLifetime(runner) {}
    }

    @Test("The path is too long for a socket, or leads through a folder that is not there")
    func path() {
        let long = folder.file(String(repeating: "x", count: 108))
        #expect(
            refusal(of: RunnerProgram(socket: long))
                == "cannot connect to '\(long)': file name too long"
        )
        let lost = folder.file("none/socket")
        #expect(
            refusal(of: RunnerProgram(socket: lost))
                == "cannot listen at '\(lost)': no such file or directory"
        )
    }

    @Test("What lies at its path and is no socket is left as it is", arguments: [true, false])
    func occupied(byFile: Bool) throws {
        let path = folder.file("kept")
        if byFile {
            try "kept".write(toFile: path, atomically: false, encoding: .utf8)
        } else {
            #expect(mkdir(path, 0o700) == 0)
        }
        let program = RunnerProgram(
            executable: DaemonProcess.programs + "/timerd-runner",
            socket: path
        )
        #expect(
            refusal(of: program)
                == "cannot listen at '\(path)': there is a file that is no socket; it is left as it is"
        )
        #expect(byFile ? readFile(path) == "kept" : rmdir(path) == 0)
    }

    @Test("A socket that another has made is its own, also before it listens")
    func unheard() throws {
        let path = folder.file("socket")
        let listener = try RunnerProcess.socket(path) { bind($0, $1, $2) }
        defer { close(listener) }
        let program = RunnerProgram(executable: "/none", socket: path)
        #expect(
            refusal(of: program) == "another process has made '\(path)', and does not listen yet"
        )
        #expect(listen(listener, 1) == 0)
        #expect(refusal(of: program) == nil)
    }

    @Test("A runner whose socket is named from the present folder hands its epoch on beside it")
    func relative() async throws {
        let present = FileManager.default.currentDirectoryPath
        let toRoot = String(repeating: "../", count: present.split(separator: "/").count)
        let socket = toRoot + folder.file("s").dropFirst()
        let program = RunnerProgram(
            executable: DaemonProcess.programs + "/timerd-runner",
            socket: socket,
            started: reap
        )
        try program.connect().close()
        try await eventually("it has ended") { access(folder.file("s-epoch"), F_OK) == 0 }
    }

    @Test("Where a runner hangs, and no more connections may wait for it, that is told at once")
    func hangs() throws {
        let path = folder.file("socket")
        let listener = try RunnerProcess.socket(path) { bind($0, $1, $2) }
        defer { close(listener) }
        listen(listener, 0)
        let program = RunnerProgram(socket: path)
        // Its connection waits for the other end, and blocks as any.
        let first = try program.connect()
        defer { close(first.rawValue) }
        #expect(fcntl(first.rawValue, F_GETFL) & O_NONBLOCK == 0)
        #expect(
            refusal(of: program)
                == "cannot connect to '\(path)': resource temporarily unavailable"
        )
    }

    @Test(
        "Another user who connects with a runner is told nothing, and does not part the daemon from it",
        .enabled(if: geteuid() == 0)
    )
    func strangersConnection() async throws {
        let runner = try RunnerProcess()
        let daemon = try runner.connect()
        _ = try daemon.next { if case .synced = $0 { true } else { nil } }
        chmod(runner.folder.path, 0o755)
        chmod(runner.path, 0o666)
        // A whole hello, and whatever comes back before the end of the connection.
        let script = """
            use Socket; $SIG{PIPE} = 'IGNORE'; socket(S, AF_UNIX, SOCK_STREAM, 0) or die $!;
            connect(S, pack_sockaddr_un('\(runner.path)')) or die "connect: $!";
            syswrite(S, pack('VCV', 5, 1, 1)); $n = sysread(S, $b, 100); print defined $n ? "$n bytes" : "0 bytes";
            """
        let words = DaemonProcess.words(as: 65_534, ["perl", "-e", script])
        let result = try await run(
            .name(words[0]),
            arguments: Arguments(Array(words.dropFirst())),
            output: .string(limit: 4096),
            error: .string(limit: 4096)
        )
        #expect(result.standardOutput == "0 bytes", "\(result.standardError)")
        try daemon.send(.ping)
        guard case .pong = try daemon.next() else {
            Issue.record("the daemon is not answered")
            return
        }
    }

    @Test("Another user's program listens there", .enabled(if: geteuid() == 0))
    func stranger() async throws {
        let path = folder.file("socket")
        let listener = try RunnerProcess.socket(path) { bind($0, $1, $2) }
        defer { close(listener) }
        // The kernel notes who calls listen(2).
        let uid: UInt32 = 65_534
        let words = DaemonProcess.words(as: uid, ["perl", "-e", "listen(STDIN, 8) or die $!"])
        let result = try await run(
            .name(words[0]),
            arguments: Arguments(Array(words.dropFirst())),
            input: .fileDescriptor(
                FileDescriptor(rawValue: listener),
                closeAfterSpawningProcess: false
            ),
            output: .discarded,
            error: .string(limit: 4096)
        )
        #expect(result.terminationStatus.isSuccess, "\(result.standardError)")
        #expect(
            refusal(of: RunnerProgram(socket: path))
                == "user \(uid) listens at '\(path)', accepted is user 0 or root"
        )
    }
}
