// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TimerControl

@testable import TimerD

/// `timerctl at` and its relatives, typed into a shell.
@Suite("At, typed into a shell", .timeLimit(.minutes(2)))
struct AtTests {
    private func shell(_ daemon: DaemonProcess, in folder: TemporaryFolder) -> Shell {
        Shell(variables: ["TIMERD_SOCKET": daemon.socket], folder: folder.path)
    }

    private func output(of job: String, _ daemon: DaemonProcess) async throws -> String {
        try await daemon.timerctl(
            "watch",
            "--since",
            "0",
            "--type",
            "run.finished",
            "--job",
            job,
            "-n",
            "1"
        )
        return try await daemon.timerctl("logs", job).output
    }

    @Test(
        "A script on standard input runs in the folder, with the umask and the environment of then"
    )
    func script() async throws {
        let folder = try TemporaryFolder()
        try await DaemonProcess.with { daemon in
            let added = try await shell(daemon, in: folder)(
                "umask 027; COLOUR='dark red' TERM=vt100; export COLOUR TERM;"
                    + #" printf 'pwd\numask\necho "$COLOUR,$TERM,$TIMERD_JOB_ID"\n' | timerctl at now + 1s"#
            )
            try #require(added.output == "1\n", "\(added.errors)")
            #expect(try await output(of: "1", daemon) == "\(folder.path)\n0027\ndark red,,1\n")
        }
    }

    @Test("A script whose first line begins with '-' runs, and that line is no option of the shell")
    func likeOption() async throws {
        let folder = try TemporaryFolder()
        try await DaemonProcess.with { daemon in
            let added = try await shell(daemon, in: folder)(
                #"printf '%s\n' '-no-such-program' 'echo on' | timerctl at +1ms"#
            )
            try #require(added.output == "1\n", "\(added.errors)")
            #expect(try await output(of: "1", daemon).hasSuffix("on\n"))
        }
    }

    @Test(
        "A script is typed into a terminal, to its end",
        .enabled(if: Shell.has("script"), "there is no script(1)")
    )
    func terminal() async throws {
        let folder = try TemporaryFolder()
        try await DaemonProcess.with { daemon in
            let typed = try await shell(daemon, in: folder)(
                #"printf 'echo typed\n\004' | script -qec 'timerctl at +1ms' /dev/null"#
            )
            #expect(typed.isDone && typed.output.contains("Ctrl-D on a line of its own ends them"))
            #expect(try await output(of: "1", daemon) == "typed\n")
        }
    }

    @Test("A script in a file, from '--shell -', and by batch runs too")
    func otherWays() async throws {
        let folder = try TemporaryFolder()
        try await DaemonProcess.with { daemon in
            let added = try await shell(daemon, in: folder)(
                "echo 'echo from a file' >x.sh && timerctl at +1ms -f x.sh"
                    + " && echo 'echo again' | timerctl every 1h --shell - && timerctl fire -- 2"
                    + " && echo 'nice' | timerctl batch"
            )
            try #require(added.isDone, "\(added.errors)")
            #expect(try await output(of: "1", daemon) == "from a file\n")
            #expect(try await output(of: "2", daemon) == "again\n")
            #expect(try await output(of: "3", daemon) == "19\n")
        }
    }

    @Test("What is on standard input and not read is told; what a loop reads is the loop's")
    func notRead() async throws {
        let folder = try TemporaryFolder()
        try "true\ntrue\n".write(
            toFile: folder.path + "/lines",
            atomically: false,
            encoding: .utf8
        )
        try await DaemonProcess.with { daemon in
            for command in [
                "timerctl add --in 1h -- cat <lines", "timerctl at +1h --event <lines",
                "timerctl every 1h --shell true <lines", "timerctl change 1 --timeout 5s <lines",
                "timerctl add --in 1h --dry-run -- cat <lines",
            ] {
                let told = try await shell(daemon, in: folder)(command)
                #expect(told.isDone, "\(command): \(told.errors)")
                #expect(told.errors.contains("standard input was not read"), "\(command)")
            }
            for command in [
                "timerctl add --in 1h -- cat </dev/null", "timerctl every 1h --shell - <lines",
                "cat lines | timerctl at +1h",
                "while read -r line; do timerctl add --in 1h -- \"$line\"; done <lines",
                "cat lines | while read -r line; do timerctl add --in 1h -- \"$line\"; done",
            ] {
                let quiet = try await shell(daemon, in: folder)(command)
                #expect(quiet.isDone, "\(command): \(quiet.errors)")
                #expect(!quiet.errors.contains("standard input was not read"), "\(command)")
            }
        }
    }

    @Test("What is piped in, and nothing says what for, is refused")
    func nothingDropped() async throws {
        let folder = try TemporaryFolder()
        try await DaemonProcess.with { daemon in
            for command in [
                "echo ls | timerctl every 1h", "echo ls | timerctl add --in 1h",
                ": | timerctl at +1h", "timerctl at +1h </dev/null",
                "echo ls | timerctl at nonsense",
            ] {
                let refused = try await shell(daemon, in: folder)(command)
                #expect(!refused.isDone, "\(command)")
                #expect(refused.output == "" && refused.errors.hasPrefix("timerctl: "))
            }
            for command in [
                "echo ls | timerctl every 1h --event", "timerctl every 1h </dev/null",
                "echo '{}' | timerctl at +1h --user-info -", "timerctl at +1h --event",
            ] {
                let added = try await shell(daemon, in: folder)(command)
                #expect(added.isDone, "\(command): \(added.errors)")
            }
        }
    }

    @Test("atq lists what fires once, atrm ends it, by links of that name")
    func links() async throws {
        let folder = try TemporaryFolder()
        try await DaemonProcess.with { daemon in
            let link = "ln -s \"$(command -v timerctl)\""
            let done = try await shell(daemon, in: folder)(
                "\(link) atq && \(link) atrm && \(link) at && timerctl every 1h --event"
                    + " && echo ls | ./at 10:00 24.12.2099 && ./atq && ./atrm 2 && ./atq"
            )
            let lines = done.output.split(separator: "\n")
            try #require(lines.count == 4, "\(done.output)\(done.errors)")
            #expect(lines[2].hasPrefix("2\tThu Dec 24 10:00:00 2099 a "))
            #expect(lines[3] == "job 2: invalidated")
        }
    }

    @Test("The links take options of one letter as at(1)'s programs do")
    func linkOptions() async throws {
        let folder = try TemporaryFolder()
        try await DaemonProcess.with { daemon in
            let link = "ln -s \"$(command -v timerctl)\""
            let done = try await shell(daemon, in: folder)(
                "\(link) atq && \(link) at && echo ls >s && ./at -vqc -fs -t209912241000"
                    + " && ./at -lqc && ./at -l 1 && ./atq -qa 1 && ./atq -V"
            )
            let lines = done.output.split(separator: "\n")
            try #require(done.isDone && lines.count == 4, "\(done.output)\(done.errors)")
            #expect(lines[1].hasPrefix("1\tThu Dec 24 10:00:00 2099 c "))
            #expect(lines[2] == lines[1] && lines[3].hasPrefix("timerctl "))
            let note = "timerctl: note: job 1 is not in the queue: its letter is 'c'\n"
            #expect(done.errors.hasSuffix(note), "\(done.errors)")
            #expect(try await daemon.timerctl("atq", "9").status == 1)
        }
    }

    @Test(
        "A job whose date has come is in atq until its command has ended, and show and list say so"
    )
    func notOver() async throws {
        let folder = try TemporaryFolder()
        try await DaemonProcess.with { daemon in
            // The command ends once its file is gone.
            let added = try await shell(daemon, in: folder)(
                "touch goes-on && echo 'while [ -e goes-on ]; do sleep 0.01; done' | timerctl at now"
            )
            try #require(added.output == "1\n", "\(added.errors)")
            while try await !daemon.timerctl("runs", "1").output.contains("running") {
                try Task.checkCancellation()
            }
            let queue = try await daemon.timerctl("atq").output
            #expect(queue.hasPrefix("1\t") && queue.contains(" = "), "\(queue)")
            let page = try await daemon.timerctl("show", "1").output
            #expect(page.contains("its last fire is not over"), "\(page)")
            let words = "1 job that has ended has a command that waits or runs: 'timerctl atq'"
            let list = try await daemon.timerctl("list")
            #expect(list.status == 0 && list.output == "")
            #expect(list.errors.hasPrefix("no live jobs; "), "\(list.errors)")
            #expect(list.errors.contains("\n\(words)"), "\(list.errors)")
            #expect(try await daemon.timerctl("every", "1h", "--", "true").status == 0)
            #expect(try await daemon.timerctl("list").errors.contains(words))
            for others in [["--all"], ["--json"], ["-n", "1"], ["--state", "paused"]] {
                let list = try await daemon.timerctl(["list"] + others)
                #expect(list.status == 0 && !list.errors.contains("that has ended"), "\(others)")
            }
            #expect(try await shell(daemon, in: folder)("rm goes-on").isDone)
            #expect(try await output(of: "1", daemon).isEmpty)
            #expect(try await daemon.timerctl("atq").output.isEmpty)
            let after = try await daemon.timerctl("show", "1").output
            #expect(!after.contains("is not over"), "\(after)")
            #expect(!(try await daemon.timerctl("list").errors.contains("that has ended")))
        }
    }

    @Test("at -l, at -d and at -c are what they are in at(1)")
    func letters() async throws {
        try await DaemonProcess.with { daemon in
            let shell = Shell(variables: ["TIMERD_SOCKET": daemon.socket])
            let answer = try await shell(
                "printf 'cd /tmp\\nls\\n' | timerctl at 10:00 24.12.2099 >/dev/null 2>&1"
                    + " && timerctl at -l && timerctl at -c 1 && timerctl at -d 1 && timerctl at -l"
            )
            #expect(answer.isDone, "\(answer.errors)")
            let lines = answer.output.split(separator: "\n")
            #expect(lines.first?.hasPrefix("1\tThu Dec 24 10:00:00 2099 a ") == true)
            #expect(lines.dropFirst().prefix(2) == ["cd /tmp", "ls"])
            #expect(lines.count == 4 && lines.last?.contains("invalidated") == true, "\(lines)")
        }
    }
}
