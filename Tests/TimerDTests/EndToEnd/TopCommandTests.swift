// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

@testable import TimerD

/// The real `top` on a terminal, with a real daemon.
@Suite("top on a terminal", .timeLimit(.minutes(2)), .enabled(if: Shell.has("setsid")))
struct TopCommandTests {
    private static func top(
        _ daemon: DaemonProcess,
        columns: Int = 80,
        lines: Int = 24,
        environment: [String: String] = [:]
    ) throws -> TerminalPeer {
        try TerminalPeer(
            [DaemonProcess.programs + "/timerctl", "top", "--socket", daemon.socket],
            columns: columns,
            lines: lines,
            environment: environment
        )
    }

    @Test("Keys mark, fire, pause, kill, invalidate and undo, and the last line says so")
    func actions() async throws {
        try await DaemonProcess.with { daemon in
            for name in ["alpha", "beta"] {
                try await daemon.timerctl(
                    "add",
                    "--every",
                    "1h",
                    "--name",
                    name,
                    "--tag",
                    "t-\(name)",
                    "--shell",
                    "printf 'begun\\n\\033[2Jx\\n'; exec sleep 1000"
                )
            }
            let top = try Self.top(daemon)
            #expect(await top.shows("[2 coming 1/2]"))
            top.type("jp")
            #expect(await top.shows("job 2 (beta): paused"))
            #expect(await top.shows("> paused"))
            top.type("p")
            #expect(await top.shows("job 2 (beta): "))
            top.type("s")
            #expect(await top.shows("the next date is dropped"))
            top.type("/t-alp")
            #expect(await top.shows("/t-alp 1 running 0 [2 coming 1/1]"))
            top.type("\r")
            top.type("f")
            #expect(await top.shows("job 1 (alpha): fired, fire"))
            top.type("\u{1b}")
            #expect(await top.shows("[2 coming 1/2]"))
            top.type("1")
            #expect(await top.shows("[1 running 1"))
            top.type("j\r")
            #expect(await top.shows("last fires"))
            top.type("G")
            #expect(await top.shows("^[[2Jx"))
            top.type("\u{1b}")
            #expect(await top.shows("[1 running 1/1]"))
            top.type("x")
            #expect(await top.shows("of job 1 'alpha'? y/n"))
            top.type("y")
            #expect(await top.shows("of job 1: ending"))
            #expect(await top.shows("[1 running 0]"))
            top.type("3")
            #expect(await top.shows("[3 failed"))
            top.type("2")
            #expect(await top.shows("[2 coming"))
            top.type("gd")
            #expect(await top.shows("invalidate job"))
            top.type("y")
            #expect(await top.shows("invalidated; u undoes it"))
            #expect(await top.shows("[2 coming 1]"))
            top.type("d")
            #expect(await top.shows("what was marked has gone"))
            top.type("u")
            #expect(await top.waits { top.lines.contains { $0.contains("coming 1/2") } })
            // The daemon's refusal comes in its own words.
            #expect(try await daemon.timerctl("list").output.contains("beta"))
            top.type("u")
            let refusal = try await daemon.timerctl("undo").errors
            let words = refusal.dropFirst("timerctl: ".count).prefix(40)
            #expect(await top.shows(String(words)), "\(refusal)")
            top.type("q")
            #expect(await top.end() == 0)
            #expect(await top.waits { top.isRestored })
        }
    }

    @Test("A fire that begins to wait is shown as that, though no event tells of it")
    func waiting() async throws {
        try await DaemonProcess.with { daemon in
            try await daemon.timerctl(
                "add",
                "--every",
                "1h",
                "--name",
                "slow",
                "--overlap",
                "queue",
                "--",
                "sleep",
                "1000"
            )
            try await daemon.timerctl("fire", "slow")
            let top = try Self.top(daemon)
            #expect(await top.shows("1 running, 0 waiting"))
            try await daemon.timerctl("set-fire-date", "slow", "+2s")
            #expect(await top.shows("1 running, 1 waiting"))
            top.type("q")
            #expect(await top.end() == 0)
        }
    }

    @Test("What a run writes is shown as it writes it")
    func following() async throws {
        try await DaemonProcess.with { daemon in
            let gate = daemon.folder + "/gate"
            try await daemon.timerctl(
                "add",
                "--every",
                "1h",
                "--name",
                "slow",
                "--shell",
                "echo first; mkfifo \(gate); read x <\(gate); echo then $x; exec sleep 1000"
            )
            let top = try Self.top(daemon)
            #expect(await top.shows("slow"))
            try await daemon.timerctl("fire", "slow")
            #expect(await top.shows("1 running 1"))
            top.type("1")
            #expect(await top.shows("[1 running 1"))
            top.type("j\r")
            #expect(await top.shows("first"))
            top.type("f")
            #expect(await top.waits { access(gate, F_OK) == 0 })
            try "this\n".write(toFile: gate, atomically: false, encoding: .utf8)
            #expect(await top.shows("then this"))
            top.type("q")
            #expect(await top.end() == 0)
            #expect(await top.waits { top.isRestored })
        }
    }

    @Test("On a terminal that can draw nothing it is printed once")
    func dumb() async throws {
        try await DaemonProcess.with { daemon in
            try await daemon.timerctl("add", "--every", "1h", "--name", "alpha", "--event")
            let top = try Self.top(daemon, environment: ["TERM": "dumb"])
            #expect(await top.end() == 0)
            #expect(await top.shows("alpha"))
            #expect(!top.raw.contains("\u{1b}"))
        }
    }

    @Test(
        "Every way out restores the terminal",
        arguments: [SIGTERM, SIGHUP, SIGINT, SIGQUIT]
    )
    func ends(signal: Int32) async throws {
        try await DaemonProcess.with { daemon in
            let top = try Self.top(daemon)
            #expect(await top.shows("[2 coming"))
            #expect(!top.isRestored)
            kill(top.pid, signal)
            #expect(await top.end() == 0)
            #expect(await top.waits { top.isRestored })
        }
    }

    @Test(
        "Ctrl-Z below a shell gives the terminal back to it, and 'fg' shows all again",
        .enabled(if: Shell.has("bash"))
    )
    func stopsBelowShell() async throws {
        try await DaemonProcess.with { daemon in
            try await daemon.timerctl("add", "--every", "1h", "--name", "alpha", "--event")
            let shell = try TerminalPeer(
                ["bash", "--norc", "--noprofile", "--noediting", "-i"],
                environment: ["TIMERD_SOCKET": daemon.socket, "PS1": "ready> "]
            )
            #expect(await shell.shows("ready>"))
            shell.type("\(DaemonProcess.programs)/timerctl top\n")
            #expect(await shell.waits { !shell.isRestored })
            #expect(await shell.shows("alpha"))
            shell.type("\u{1a}")
            #expect(await shell.shows("Stopped"))
            #expect(await shell.waits { shell.isRestored })
            // The shell has the terminal: it takes a line, and carries it out.
            shell.type("echo $((6 * 7)) here\n")
            #expect(await shell.shows("42 here"))
            shell.type("fg\n")
            #expect(await shell.waits { !shell.isRestored })
            #expect(await shell.shows("alpha"))
            shell.type("q")
            #expect(await shell.waits { shell.isRestored })
            shell.type("exit 5\n")
            #expect(await shell.end() == 5)
        }
    }

    @Test("SIGTSTP gives the terminal back while it is stopped, and SIGCONT takes it again")
    func stops() async throws {
        try await DaemonProcess.with { daemon in
            try await daemon.timerctl("add", "--every", "1h", "--name", "alpha", "--event")
            let top = try Self.top(daemon)
            #expect(await top.shows("alpha"))
            // Whoever has no shell above it is not stopped by Ctrl-Z (setpgid(2), orphaned groups): SIGSTOP is as
            // good for what comes after.
            kill(top.pid, SIGTSTP)
            _ = await top.waits { top.raw.contains("\u{1b}[?1049l") }
            #expect(top.raw.contains("\u{1b}[?1049l"))
            kill(top.pid, SIGCONT)
            #expect(
                await top.waits { !top.isRestored && top.lines.contains { $0.contains("alpha") } }
            )
            kill(top.pid, SIGSTOP)
            #expect(await top.waits { top.state == "T" })
            let count = top.raw.count
            kill(top.pid, SIGCONT)
            #expect(await top.waits { top.raw.count > count })
            top.type("q")
            #expect(await top.end() == 0)
            #expect(await top.waits { top.isRestored })
        }
    }

    @Test(
        "A screen of 40 columns and 10 lines has no longer line, without colour; another size is drawn"
    )
    func sizes() async throws {
        try await DaemonProcess.with { daemon in
            for number in 1...15 {
                try await daemon.timerctl(
                    "add",
                    "--every",
                    "\(number)h",
                    "--name",
                    "a-long-name-of-a-job-\(number)",
                    "--event"
                )
            }
            let top = try Self.top(
                daemon,
                columns: 40,
                lines: 10,
                environment: ["NO_COLOR": "1"]
            )
            #expect(await top.shows("[2 coming 1/15]"))
            #expect(top.lines.count <= 10 && top.lines.allSatisfy { $0.count <= 40 })
            top.type("G")
            #expect(await top.shows("[2 coming 15/15]"))
            #expect(await top.waits { top.lines.contains { $0.hasPrefix("> ") } })
            #expect(top.raw.firstMatch(of: /\u{1b}\[\d+m/) == nil)
            top.resize(columns: 100, lines: 30)
            #expect(await top.shows("every 15h"))
            top.type("\u{3}")
            #expect(await top.end() == 0)
            #expect(await top.waits { top.isRestored })
        }
    }

    @Test("Jobs that are more than the daemon's page holds are there, for a filter too")
    func largeJobs() async throws {
        try await DaemonProcess.with { daemon in
            // A page ends at 256 KiB.
            let info = "\"\(String(repeating: "x", count: 40_000))\""
            for number in 1...9 {
                let name = "job-\(number)"
                try await daemon.timerctl(
                    "add",
                    "--every",
                    "\(number)h",
                    "--name",
                    name,
                    "--event",
                    "--user-info",
                    info
                )
            }
            let top = try Self.top(daemon)
            #expect(await top.shows("[2 coming 1/9]"))
            top.type("/job-9")
            #expect(await top.shows("[2 coming 1/1]"))
            top.type("\u{3}")
            #expect(await top.end() == 0)
        }
    }

    @Test("A daemon that does not answer is said, and what was asked of it is done later")
    func stuck() async throws {
        try await DaemonProcess.with { daemon in
            try await daemon.timerctl("add", "--every", "1h", "--name", "alpha", "--event")
            let top = try Self.top(daemon)
            #expect(await top.shows("> next"))
            kill(daemon.pid, SIGSTOP)
            top.type("f")
            #expect(await top.shows("waiting: the daemon at"))
            kill(daemon.pid, SIGCONT)
            #expect(await top.shows("fired, fire"))
            #expect(await top.waits { !top.lines.contains { $0.contains("waiting: the") } })
            top.type("q")
            #expect(await top.end() == 0)
        }
    }

    @Test("As long as the daemon has not answered once, a signal ends it")
    func interrupted() async throws {
        try await DaemonProcess.with { daemon in
            kill(daemon.pid, SIGSTOP)
            let top = try Self.top(daemon)
            #expect(await top.waits { top.isConnected })
            // Not SIGINT, which who runs the tests behind "&" ignores, and so does what they start.
            kill(top.pid, SIGTERM)
            let status = await top.end()
            kill(daemon.pid, SIGCONT)
            // With 69 it would have waited for an answer all the same.
            #expect(status != nil && status != 69)
        }
    }

    @Test("A daemon that goes away is said, and found again by itself")
    func lost() async throws {
        try await DaemonProcess.with { daemon in
            try await daemon.timerctl("add", "--every", "1h", "--name", "alpha", "--event")
            let top = try Self.top(daemon)
            #expect(await top.shows("alpha"))
            await daemon.end(SIGKILL)
            #expect(await top.shows("no daemon, trying again"))
            top.type("f")
            #expect(await top.shows("there is no daemon; nothing was done"))
            try await daemon.start()
            try await daemon.timerctl("add", "--every", "1h", "--name", "beta", "--event")
            #expect(await top.shows("beta"))
            // What is drawn may come in parts.
            #expect(await top.waits { !top.lines.contains { $0.contains("trying again") } })
            top.type("jjf")
            #expect(await top.shows("fired, fire"))
            top.type("q")
            #expect(await top.end() == 0)
        }
    }
}
