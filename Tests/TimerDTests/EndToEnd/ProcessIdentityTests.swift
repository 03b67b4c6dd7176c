// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Schedules
import Testing
import TimerControl

@testable import TimerD

@Suite("Processes that outlive the daemon", .timeLimit(.minutes(2)))
struct ProcessIdentityTests {
    /// Waits for the first line of a file that a command writes its pid to.
    private static func pid(in file: String, after old: pid_t = 0) async throws -> pid_t {
        @Sendable func read() -> pid_t? {
            // try?: there is no such file yet.
            let text = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
            return text.hasSuffix("\n") ? pid_t(text.dropLast()) : nil
        }
        try await eventually("a command writes its pid to \(file)") {
            read().map { $0 != old } ?? false
        }
        return try #require(read())
    }

    @Test(
        "After kill -9 a run's processes are ended, and run again only where the job wants that",
        arguments: [false, true]
    )
    func kill9(rerun: Bool) async throws {
        try await DaemonProcess.with { daemon in
            let file = daemon.folder + "/pid"
            var arguments = ["add", "--in", "50ms", "--name", "long", "--kill-after", "1s"]
            if rerun { arguments.append("--rerun-interrupted") }
            // It heeds no SIGTERM, and has a child.
            let line = "trap '' TERM; sleep 1000 & echo $$ > \(file); wait; sleep 1000"
            _ = try await daemon.timerctl(arguments + ["--", "/bin/sh", "-c", line])
            let first = try await Self.pid(in: file)
            #expect(kill(first, 0) == 0)
            await daemon.end(SIGKILL)
            #expect(kill(first, 0) == 0, "it outlives the daemon")
            try await daemon.start()
            try await eventually("all of its group has ended") {
                ProcessGroup(leader: first).survives == false && kill(first, 0) != 0
            }
            let runs = try await daemon.timerctl("runs", "--name", "long", "--json")
            #expect(runs.output.contains("interrupted") || !runs.errors.isEmpty)
            guard rerun else { return }
            let second = try await Self.pid(in: file, after: first)
            #expect(kill(second, 0) == 0, "it runs again, after the first has ended")
            try await daemon.timerctl("kill", "2")
            try await eventually("it is killed") { kill(second, 0) != 0 }
        }
    }

    @Test("A process that only says it is a run, and is another user's, is not taken for one")
    func pretender() async throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/setsid")
        process.arguments = ["/bin/sleep", "1000"]
        process.environment = ["TIMERD_SOCKET": "/no/such.sock", "TIMERD_RUN_ID": "7"]
        try process.run()
        let pid = process.processIdentifier
        defer { kill(pid, SIGKILL) }
        // setsid(1) becomes the command, or its parent where it leads a group already.
        try await eventually("it leads its session") {
            ProcessIdentity.find([7: geteuid()], socket: "/no/such.sock")[7] != nil
        }
        let found = ProcessIdentity.find([7: geteuid()], socket: "/no/such.sock")
        let orphan = try #require(found[7])
        defer { kill(orphan.pid, SIGKILL) }
        #expect(orphan.lives)
        #expect(ProcessIdentity.find([7: geteuid() + 1], socket: "/no/such.sock").isEmpty)
        #expect(ProcessIdentity.find([8: geteuid()], socket: "/no/such.sock").isEmpty)
        #expect(ProcessIdentity.find([7: geteuid()], socket: "/another.sock").isEmpty)
    }
}
