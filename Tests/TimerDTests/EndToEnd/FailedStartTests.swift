// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

@testable import SQLite
@testable import TimerD

/// A start that fails changes nothing but the schema, and leaves what it found.
@Suite("Failed start", .timeLimit(.minutes(2))) struct FailedStartTests {
    /// A database with runs that were cut short and dates that have passed since, and the file that
    /// its commands write to.
    private func leaveWork(_ daemon: DaemonProcess) async throws -> String {
        let traces = daemon.folder + "/traces"
        let command = ["sh", "-c", "echo run >>\(traces)"]
        for words in [
            ["--every", "20ms", "--name", "often"], ["--every", "50ms", "--misfire", "all"],
            ["--in", "1ms", "--rerun-interrupted"], ["--in", "300ms"],
        ] {
            let answer = try await daemon.timerctl(["add"] + words + ["--"] + command)
            #expect(answer.status == 0, "\(answer.errors)")
        }
        _ = try await daemon.timerctl("add", "--every", "30ms", "--name", "told")
        while !FileManager.default.fileExists(atPath: traces) { try Task.checkCancellation() }
        await daemon.end(SIGKILL)
        // What it had begun may write until then.
        daemon.awaitRuns()
        return traces
    }

    private func size(_ path: String) -> Int {
        FileManager.default.contents(atPath: path)?.count ?? 0
    }

    @Test("Fifteen starts on a taken socket run nothing, tell nothing and change no row")
    func takenSocket() async throws {
        try await DaemonProcess.with { holder in
            try await DaemonProcess.with { daemon in
                let traces = try await leaveWork(daemon)
                let rows = try StoredRows.read(daemon.database)
                let ran = size(traces)
                for _ in 0..<15 {
                    let error = await #expect(throws: DaemonProcess.NotReady.self) {
                        try await daemon.start(
                            ["--database", daemon.database, "--socket", holder.socket],
                            isPlaced: false
                        )
                    }
                    #expect(error?.log.contains("another daemon answers on") == true)
                    await daemon.end(SIGTERM)
                }
                #expect(size(traces) == ran)
                #expect(try StoredRows.read(daemon.database) == rows)
                #expect(try await holder.timerctl("status").status == 0)
                // And what was left is not lost.
                try await daemon.start()
                while size(traces) == ran { try Task.checkCancellation() }
            }
        }
    }

    @Test("A recovery that cannot be stored runs nothing, and leaves neither socket nor lock")
    func brokenRecovery() async throws {
        try await DaemonProcess.with { daemon in
            let traces = try await leaveWork(daemon)
            // Nobody reads that column alone, and no row with a text in it can be written again.
            try DamagedRowTests.damage(daemon, "UPDATE fires SET uncounted = 'no more'")
            let ran = size(traces)
            // Stale: of the daemon that was killed.
            #expect(access(daemon.socket, F_OK) == 0)
            let error = await #expect(throws: DaemonProcess.NotReady.self) {
                try await daemon.start()
            }
            #expect(error?.log.contains("fires.uncounted") == true, "\(String(describing: error))")
            #expect(await daemon.end(SIGTERM) == .exited(78))
            #expect(size(traces) == ran)
            #expect(access(daemon.socket, F_OK) != 0)
            try DatabaseLock(database: daemon.database).release()
        }
    }

    /// What is in the way of a start.
    enum Obstacle: CaseIterable {
        case lock, otherFile, file, liveSocket, longPath

        /// 69 for what may mend itself, so that a service manager tries again; 78 for what does not.
        var status: Int32 { [.lock, .liveSocket].contains(self) ? 69 : 78 }
    }

    @Test("A start that fails leaves what it found", arguments: Obstacle.allCases)
    func obstacle(_ obstacle: Obstacle) async throws {
        try await DaemonProcess.with { daemon in
            await daemon.end(SIGTERM)
            // Its runner has nothing to mind, and ends after it.
            let runnersEnd = daemon.database + "-runner-epoch"
            try await eventually("the runner has ended") { access(runnersEnd, F_OK) == 0 }
            var socket = daemon.socket
            var held: DatabaseLock?
            var listening: SocketFile?
            switch obstacle {
            case .lock: held = try DatabaseLock(database: daemon.database)
            case .otherFile:
                try Data("not a database".utf8).write(to: .init(filePath: daemon.database))
                // Nothing is made beside it, a lock neither.
                unlink(daemon.database + DatabaseLock.ending)
            case .file: try Data("mine".utf8).write(to: .init(filePath: socket))
            case .liveSocket: listening = try SocketFile.listen(at: socket)
            case .longPath: socket += String(repeating: "x", count: 108)
            }
            let before = try FileManager.default.contentsOfDirectory(atPath: daemon.folder).sorted()
            await #expect(throws: DaemonProcess.NotReady.self) {
                try await daemon.start(
                    ["--database", daemon.database, "--socket", socket],
                    isPlaced: false
                )
            }
            #expect(await daemon.end(0) == .exited(obstacle.status))
            let after = try FileManager.default.contentsOfDirectory(atPath: daemon.folder).sorted()
            #expect(after == before)
            switch obstacle {
            case .otherFile:
                #expect(
                    FileManager.default.contents(atPath: daemon.database)
                        == Data("not a database".utf8)
                )
            case .file:
                #expect(FileManager.default.contents(atPath: socket) == Data("mine".utf8))
            case .lock, .liveSocket, .longPath: break
            }
            held?.release()
            if let listening {
                listening.remove()
                close(listening.descriptor)
            }
            try DatabaseLock(database: daemon.database, isToBeReplaced: true).release()
        }
    }

    @Test(
        "A start that the disk refuses says with what",
        .enabled(if: DurabilityTests.canTrace, "needs strace, which .ci/run installs"),
        arguments: [
            (
                "-wal", "fdatasync:error=EIO",
                ("cannot write the log of '", "' again: input/output error")
            ),
            ("", "flock:error=ENOLCK", ("cannot lock '", "': no locks available")),
        ]
    )
    func failingDisk(ending: String, fault: String, reason: (String, String)) async throws {
        try await DaemonProcess.with { daemon in
            try await daemon.timerctl("add", "--in", "1h")
            // Its log stays.
            await daemon.end(SIGKILL)
            daemon.endRunner()
            let call = fault.prefix { $0 != ":" }
            let tracer = [
                DurabilityTests.strace, "-f", "-qq", "-o", "/dev/null", "-P",
                daemon.database + ending, "-e", "trace=\(call)", "-e", "inject=\(fault)",
            ]
            let error = await #expect(throws: DaemonProcess.NotReady.self) {
                try await daemon.start(through: tracer)
            }
            let words = "timerd: \(reason.0)\(daemon.database)\(reason.1)\n"
            #expect(error?.log.contains(words) == true, "\(String(describing: error))")
            #expect(await daemon.end(SIGTERM) == .exited(69))
        }
    }

    @Test("A start without descriptors says so, however few there are", arguments: [12, 16, 20])
    func fewDescriptors(count: Int) async throws {
        try await DaemonProcess.with { daemon in
            await daemon.end(SIGTERM)
            let error = await #expect(throws: DaemonProcess.NotReady.self) {
                try await daemon.start(through: ["prlimit", "--nofile=\(count):\(count)"])
            }
            let words = "cannot open 24 descriptors more, of \(count) in all: too many open files"
            #expect(error?.log.contains(words) == true, "\(String(describing: error))")
            #expect(await daemon.end(SIGTERM) == .exited(69))
        }
    }

    @Test("A start that could take no client says which limit is too low", arguments: [32, 47])
    func noRoomForClients(count: Int) async throws {
        try await DaemonProcess.with { daemon in
            await daemon.end(SIGTERM)
            let error = await #expect(throws: DaemonProcess.NotReady.self) {
                try await daemon.start(through: ["prlimit", "--nofile=\(count):\(count)"])
            }
            let words =
                "timerd may have \(count) descriptors (LimitNOFILE=, ulimit -n), "
                + "accepted are 48 or more"
            #expect(error?.log.contains(words) == true, "\(String(describing: error))")
            #expect(await daemon.end(SIGTERM) == .exited(69))
        }
    }

    @Test(
        "A start without threads says so, however few there are",
        .enabled(if: geteuid() == 0),
        // For its first and for its second, and with three of them for the five that it is to have then.
        arguments: [1, 2, 6, 7]
    )
    func fewThreads(count: Int) async throws {
        let folder = try TemporaryFolder()
        // Root has no such limit. A user of its own for each: the threads of all that a user runs count.
        let user = UInt32(70_100 + count)
        #expect(chown(folder.path, user, user) == 0)
        // What root's home has may be no user's to read, which would end the start before.
        let words = [
            "export HOME=\(folder.path); unset XDG_CONFIG_HOME XDG_RUNTIME_DIR XDG_STATE_HOME;",
            "exec setpriv --reuid=\(user) --regid=\(user) --clear-groups --",
            "prlimit --nproc=\(count):\(count) \(DaemonProcess.programs)/timerd",
            "--database \(folder.file("timerd.db")) --socket \(folder.file("timerd.sock"))",
        ]
        let script = "(\(words.joined(separator: " "))) 2>&1; echo $?"
        let output = try await Tool.run(["sh", "-c", script])
        let reason = count > 2 ? "cannot start 5 threads more (ulimit -u, TasksMax=)" : "cannot "
        #expect(output.hasPrefix("timerd: \(reason)"), "\(output)")
        #expect(output.contains(": resource temporarily unavailable\n"), "\(output)")
        #expect(output.hasSuffix("69\n"), "\(output)")
    }

    @Test("The service manager is told why a start failed, in the service's status")
    func status() async throws {
        try await DaemonProcess.with { daemon in
            await daemon.end(SIGTERM)
            try Data("not a database".utf8).write(to: .init(filePath: daemon.database))
            let manager = try NotifySocket(isAbstract: false)
            await #expect(throws: DaemonProcess.NotReady.self) {
                try await daemon.start(through: ["env", "NOTIFY_SOCKET=\(manager.address)"])
            }
            let words = "'\(daemon.database)' is not an SQLite database, and was left alone"
            #expect(manager.receive() == "STATUS=cannot start: \(words)")
        }
    }

    @Test("A start that fails leaves the service manager its socket")
    func inheritedSocket() async throws {
        try await DaemonProcess.with { daemon in
            await daemon.end(SIGTERM)
            try Data("not a database".utf8).write(to: .init(filePath: daemon.database))
            // What systemd does: listens, and has the daemon find the socket as descriptor 3.
            let manager = """
                use IO::Socket::UNIX; use POSIX; $^F = 9;
                my $s = IO::Socket::UNIX->new(Local => $ENV{AT}, Listen => 9) or die;
                POSIX::dup2(fileno($s), 3); $ENV{LISTEN_PID} = $$; $ENV{LISTEN_FDS} = 1; exec @ARGV;
                """
            let wrapper = ["env", "AT=\(daemon.socket)", "perl", "-e", manager]
            await #expect(throws: DaemonProcess.NotReady.self) {
                try await daemon.start(through: wrapper)
            }
            await daemon.end(SIGTERM)
            #expect(access(daemon.socket, F_OK) == 0)
            unlink(daemon.database)
            unlink(daemon.socket)
            try await daemon.start(through: wrapper)
            #expect(try await daemon.timerctl("status").status == 0)
        }
    }
}
