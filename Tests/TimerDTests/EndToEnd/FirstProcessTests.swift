// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

@testable import TimerD

/// The daemon as the first process of a container, or of what is one to it: a PID namespace, which root may make.
@Suite("The first process", .enabled(if: geteuid() == 0), .timeLimit(.minutes(2)))
struct FirstProcessTests {
    private static let namespace = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]

    /// The daemon's own process, out here: the only child of unshare(1).
    private func first(_ daemon: DaemonProcess) throws -> pid_t {
        try #require(children(of: daemon.pid).first)
    }

    private func stop(_ daemon: DaemonProcess) async throws {
        kill(try first(daemon), SIGTERM)
        // Ends with the daemon.
        await daemon.end(0)
    }

    @Test("SIGTERM ends the runs, for nothing lives on, and stores how they ended")
    func stop() async throws {
        try await DaemonProcess.with { daemon in
            await daemon.end(SIGTERM)
            try await daemon.start(["--drain", "10"], through: Self.namespace)
            let (there, go) = (daemon.folder + "/there", daemon.folder + "/go")
            let script = "echo >\(there); while [ ! -e \(go) ]; do sleep 0.02; done; exit 3"
            for script in [script, "echo >\(there)2; sleep 1000"] {
                try await daemon.timerctl("add", "--in", "1ms", "--", "sh", "-c", script)
            }
            try await eventually("both run") {
                access(there, F_OK) == 0 && access(there + "2", F_OK) == 0
            }
            try Data().write(to: URL(filePath: go))
            try await stop(daemon)
            try await daemon.start(through: Self.namespace)
            let first = try await daemon.timerctl("runs", "1", "--json").output
            let second = try await daemon.timerctl("runs", "2", "--json").output
            #expect(first.contains("\"status\":3"), "\(first)")
            #expect(second.contains("\"outcome\":\"interrupted\""), "\(second)")
            try await stop(daemon)
        }
    }

    @Test(
        "A signal ends what is done in place of the daemon, as the end of runs",
        arguments: [
            ("", "TERM", 143), ("", "INT", 130), ("", "QUIT", 131), ("TERM", "TERM INT", 130),
        ]
    )
    func endsTask(ignored: String, signals: String, status: Int32) async throws {
        let folder = try TemporaryFolder()
        // The shell, which the first process is until then, hears no signal: it is sent until it is heard.
        let script = """
            timerd --database first.db --socket ./s & daemon=$!
            # With a limit, for a daemon that does not start.
            for try in $(seq 1500); do timerctl status && break; sleep 0.02; done
            timerctl add --in 0s --cwd . -- sh -c 'touch there; sleep 1000'
            for try in $(seq 1500); do [ -e there ] && break; sleep 0.02; done
            kill $daemon; wait $daemon
            for signal in \(ignored); do trap '' $signal; done
            (while :; do for signal in \(signals); do kill -$signal 1; done; sleep 0.02; done) &
            exec timerd --end-runs --drain 3600 --database first.db --socket ./s
            """
        try script.write(toFile: folder.file("script"), atomically: false, encoding: .utf8)
        let shell = Shell(variables: ["TIMERD_SOCKET": folder.file("s")], folder: folder.path)
        let ended = try await shell((Self.namespace + ["sh", "script"]).joined(separator: " "))
        #expect(ended.status == status, "\(ended)")
    }

    @Test("What nobody else waits for is reaped")
    func reaps() async throws {
        try await DaemonProcess.with { daemon in
            await daemon.end(SIGTERM)
            try await daemon.start(through: Self.namespace)
            let first = try first(daemon)
            // As `docker exec` does: its parent is gone at once.
            let (there, go) = (daemon.folder + "/there", daemon.folder + "/go")
            let script = "echo >\(there); while [ ! -e \(go) ]; do sleep 0.02; done"
            try await Tool.run([
                "nsenter", "--target", "\(first)", "--pid", "sh", "-c",
                "setsid sh -c '\(script)' >/dev/null 2>&1 & while [ ! -e \(there) ]; do sleep 0.02; done",
            ])
            try await eventually("it is the first process's") { !allChildren(of: first).isEmpty }
            let left = try #require(allChildren(of: first).first { isShell($0) })
            try Data().write(to: URL(filePath: go))
            try await eventually("no zombie is left of it") { access("/proc/\(left)", F_OK) != 0 }
            try await stop(daemon)
        }
    }

    @Test("What had ended before the daemon was there is reaped too, as of a script that became it")
    func reapsOlder() async throws {
        try await DaemonProcess.with { daemon in
            await daemon.end(SIGTERM)
            // It ends as soon as its parent is another program than the shell.
            let child = "(while read name </proc/1/comm && [ \"$name\" = sh ]; do :; done) &"
            let script = "\(child) exec \"$@\""
            try await daemon.start(through: Self.namespace + ["sh", "-c", script, "sh"])
            let first = try first(daemon)
            try await eventually("no zombie is left of it") {
                !allChildren(of: first).contains { isShell($0) }
            }
            try await stop(daemon)
        }
    }

    @Test("@reboot fires once for each start of the container, and elapsed time goes on")
    func reboot() async throws {
        try await DaemonProcess.with { daemon in
            await daemon.end(SIGTERM)
            try await daemon.start(through: Self.namespace)
            try await daemon.timerctl("add", "--cron", "@reboot", "--name", "boot")
            // An hour from now, whatever the clock says: it is not due sooner for a container's start.
            try await daemon.timerctl("add", "--in", "1h", "--name", "later")
            let date = try await fireDate(daemon)
            for starts in 1...2 {
                try await stop(daemon)
                try await daemon.start(through: Self.namespace)
                // Its limit is the suite's.
                while try await fires(daemon) < starts { try Task.checkCancellation() }
                #expect(try await fires(daemon) == starts)
            }
            #expect(try await fireDate(daemon) == date)
            try await stop(daemon)
        }
    }

    private func fireDate(_ daemon: DaemonProcess) async throws -> String {
        let text = try await daemon.timerctl("show", "--name", "later", "--json").output
        return try #require(text.firstMatch(of: /"fireDate":"([^"]+)"/).map { String($0.1) })
    }

    private func fires(_ daemon: DaemonProcess) async throws -> Int {
        let text = try await daemon.timerctl("show", "--name", "boot", "--json").output
        let count = text.firstMatch(of: /"fires":(\d+)/).flatMap { Int($0.1) }
        return count ?? 0
    }
}

/// The children of all threads of a process.
private func allChildren(of pid: pid_t) -> [pid_t] {
    // try?: it has ended.
    let threads = try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task")
    return (threads ?? []).flatMap { thread in
        (readFile("/proc/\(pid)/task/\(thread)/children") ?? "").split(separator: " ")
            .compactMap { pid_t($0) }
    }
}

private func isShell(_ pid: pid_t) -> Bool { readFile("/proc/\(pid)/comm") == "sh\n" }
