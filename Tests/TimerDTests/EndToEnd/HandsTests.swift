// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TimerControl

@testable import TimerD

/// What people's hands type, with the real programs.
@Suite("What hands type", .timeLimit(.minutes(2)))
struct HandsTests {
    private func waitForRun(of job: String, _ daemon: DaemonProcess) async throws {
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
    }

    @Test("A name is that of the newest job that had it, also once it has ended")
    func endedNames() async throws {
        try await DaemonProcess.with { daemon in
            try await daemon.timerctl("add", "--in", "1ms", "--name", "tea", "--", "echo", "first")
            try await waitForRun(of: "1", daemon)
            for verb in ["show", "runs", "logs"] {
                let answer = try await daemon.timerctl(verb, "tea")
                #expect(answer.status == 0, "\(verb): \(answer.errors)")
            }
            #expect(try await daemon.timerctl("logs", "tea").output == "first\n")
            #expect(try await daemon.timerctl("show", "--name", "tea").output.contains("finished"))
            #expect(try await daemon.timerctl("list", "--name", "tea").output.contains("finished"))
            try await daemon.timerctl("add", "--in", "1ms", "--name", "tea", "--", "echo", "second")
            try await waitForRun(of: "2", daemon)
            #expect(try await daemon.timerctl("logs", "tea").output == "second\n")
            let events = try await daemon.timerctl(
                "watch",
                "--since",
                "0",
                "--job",
                "tea",
                "-n",
                "1",
                "--json"
            )
            #expect(events.output.contains(#""job":2"#))
            let none = try await daemon.timerctl("show", "coffee")
            #expect(none.status == 1)
            #expect(none.errors.contains("you have no job named 'coffee', live or ended"))
            #expect(try await daemon.timerctl("pause", "tea").status == 1, "it has ended")
            let two = try await daemon.timerctl("pause", "tea", "coffee")
            #expect(two.status == 1 && two.errors.hasSuffix("; nothing is changed\n"))
            let watch = try await daemon.timerctl("watch", "--job", "coffee")
            #expect(watch.status == 1 && watch.errors.contains("no job named 'coffee'"))
            #expect(!watch.errors.contains("nothing is changed"), "nor would it be")
        }
    }

    @Test("Of more jobs than a page a list has each once, and a shell completes those of a page")
    func manyJobs() async throws {
        try await DaemonProcess.with { daemon in
            let jobs = (0..<1100).map { "  j\($0): {every: 1h}\n" }.joined()
            let file = daemon.folder + "/jobs.yaml"
            try ("label: many\njobs:\n" + jobs).write(
                toFile: file,
                atomically: false,
                encoding: .utf8
            )
            #expect(try await daemon.timerctl("apply", "-f", file).status == 0)
            let all = try await daemon.timerctl("list", "--json").output.split(separator: "\n")
            #expect(all.count == 1100 && Set(all).count == 1100)
            let some = try await daemon.timerctl("list", "--json", "-n", "1050").output
            #expect(some.split(separator: "\n").count == 1050)
            let words = try await daemon.timerctl("complete", "jobs").output
            #expect(words.split(separator: "\n").count == 2000, "a name and an id each")
        }
    }

    @Test("In a terminal of 20 columns help says all that it says in a wide one")
    func narrowHelp() async throws {
        try await DaemonProcess.with { daemon in
            func words(_ columns: String) async throws -> [Substring] {
                let help = try await Shell(variables: ["COLUMNS": columns], folder: daemon.folder)(
                    "timerctl add --help"
                )
                #expect(help.isDone, "\(help.errors)")
                return help.output.split(whereSeparator: \.isWhitespace)
            }
            let narrow = try await words("20")
            #expect(try await words("200") == narrow)
        }
    }

    @Test("The name of a job that has ended is free, for add, apply and import")
    func freeNames() async throws {
        let folder = try TemporaryFolder()
        try await DaemonProcess.with { daemon in
            let shell = Shell(variables: ["TIMERD_SOCKET": daemon.socket], folder: folder.path)
            for name in ["sync", "ping"] {
                try await daemon.timerctl("add", "--every", "1h", "--name", name, "--", "true")
                try await daemon.timerctl("invalidate", name)
            }
            let imported = try await shell("echo '0 9 * * * sync' | timerctl import crontab -")
            #expect(imported.output == "3\n", "\(imported.errors)")
            #expect(
                try await daemon.timerctl("show", "3", "--json").output.contains(#""name":"sync""#)
            )
            let applied = try await shell(
                "echo 'jobs: {ping: {every: 2h, command: [true]}}' >jobs.yaml"
                    + " && timerctl apply -f jobs.yaml --label web"
            )
            #expect(applied.isDone, "\(applied.errors)")
            #expect(try await daemon.timerctl("show", "ping").output.contains("every 2h"))
            try await daemon.timerctl("invalidate", "ping")
            let added = try await daemon.timerctl("add", "--in", "1h", "--name", "ping", "--event")
            #expect(added.output == "5\n", "\(added.errors)")
        }
    }

    @Test("Logs tell why there is nothing to show, and of the on-failure command")
    func logs() async throws {
        try await DaemonProcess.with { daemon in
            try await daemon.timerctl(
                "add",
                "--in",
                "1ms",
                "--name",
                "loud",
                "--on-failure",
                "echo alarm",
                "--",
                "sh",
                "-c",
                "echo out; exit 3"
            )
            try await daemon.timerctl(
                "watch",
                "--since",
                "0",
                "--type",
                "run.finished",
                "--job",
                "1",
                "-n",
                "2"
            )
            let loud = try await daemon.timerctl("logs", "loud")
            #expect(loud.output == "out\n" && loud.status == 0)
            #expect(loud.errors == "the on-failure command was run 2; --on-failure shows it too\n")
            let both = try await daemon.timerctl("logs", "loud", "--on-failure")
            #expect(both.output == "out\nalarm\n")
            #expect(both.errors == "on-failure command, run 2:\n")

            try await daemon.timerctl("add", "--in", "1ms", "--name", "mute", "--", "false")
            try await waitForRun(of: "2", daemon)
            let mute = try await daemon.timerctl("logs", "mute")
            #expect(mute.output == "" && mute.status == 0)
            #expect(mute.errors.hasPrefix("run 3 of job 2, ") && mute.errors.contains("exit 1"))

            try await daemon.timerctl(
                "add",
                "--in",
                "1ms",
                "--name",
                "gone",
                "--",
                "/nonexistent/x"
            )
            try await waitForRun(of: "3", daemon)
            let gone = try await daemon.timerctl("logs", "gone")
            #expect(gone.output == "" && gone.errors.contains("not started"), "\(gone.errors)")
        }
    }

    @Test("Several jobs are changed all or none, and each that is missing is named")
    func allOrNone() async throws {
        try await DaemonProcess.with { daemon in
            for name in ["a", "b"] {
                try await daemon.timerctl("add", "--every", "1h", "--name", name, "--", "true")
            }
            let refused = try await daemon.timerctl("invalidate", "1", "2", "998", "999")
            #expect(refused.status == 1)
            #expect(refused.errors.contains("there are no jobs 998 and 999; "), "\(refused.errors)")
            let named = try await daemon.timerctl("invalidate", "a", "999", "c")
            #expect(named.status == 1)
            #expect(named.errors.contains("job 999") && named.errors.contains("'c'"))
            #expect(try await daemon.timerctl("fire", "1", "999").status == 1)
            #expect(
                try await daemon.timerctl("list", "--json").output.contains(#""fires":0,"id":1"#)
            )
            #expect(try await daemon.timerctl("list", "--json").output.contains(#""id":2"#))
            let done = try await daemon.timerctl("invalidate", "a", "2")
            #expect(done.output == "job 1 (a): invalidated\njob 2 (b): invalidated\n")
        }
    }

    @Test("A tag that no job has is refused; ending again what has ended is not")
    func tags() async throws {
        try await DaemonProcess.with { daemon in
            try await daemon.timerctl("add", "--every", "1h", "--tag", "work", "--", "true")
            for verb in ["resume", "pause", "skip", "invalidate"] {
                let typo = try await daemon.timerctl(verb, "--tag", "wrok")
                #expect(typo.status == 1)
                #expect(typo.errors.contains("no live job has the tag 'wrok'"), "\(typo.errors)")
            }
            #expect(try await daemon.timerctl("resume", "--tag", "work").status == 0)
            #expect(try await daemon.timerctl("invalidate", "--tag", "work").status == 0)
            let again = try await daemon.timerctl("invalidate", "--tag", "work")
            #expect(again.status == 0)
            #expect(again.errors == "all jobs with the tag 'work' have ended\n")
            #expect(try await daemon.timerctl("pause", "--tag", "work").status == 1)
        }
    }

    @Test(
        "The shell completes names, tags and zones as they are now",
        .enabled(if: Shell.has("bash"), "there is no bash")
    )
    func completion() async throws {
        let folder = try TemporaryFolder()
        try await DaemonProcess.with { daemon in
            for name in ["backup", "base", "x:one", "x:two", "y=three", "y=two"] {
                try await daemon.timerctl(
                    "add",
                    "--every",
                    "2h",
                    "--name",
                    name,
                    "--tag",
                    "n\(name)",
                    "--",
                    "true"
                )
            }
            try #"""
            . ./script
            c() {
                COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="${line-$*}" COMP_POINT=${#COMP_LINE}
                COMPREPLY=()
                _timerctl timerctl "${COMP_WORDS[$COMP_CWORD]}" "${COMP_WORDS[$COMP_CWORD - 1]}"
                echo "${COMPREPLY[*]}"
            }
            c timerctl show ba
            c timerctl invalidate backup b
            c timerctl rm ba
            c timerctl set-fire-date ba
            c timerctl queue ls --so
            c timerctl logs --name b
            c timerctl pause --tag nb
            # To bash the ":" is a word, too.
            line='timerctl show x:o' c timerctl show x : o
            line='timerctl list --tag nx:' c timerctl list --tag nx :
            socket=$TIMERD_SOCKET
            export TIMERD_SOCKET=/nonexistent
            c timerctl --socket "$socket" show ba
            # To bash the "=" is a word.
            c timerctl --json --socket = "$socket" pause --tag nb
            c timerctl --socket "$socket" pause --tag = nb
            c timerctl next --tz = Europe/Berl
            c timerctl --socket "$socket" runs --since = 1h ba
            line="timerctl --socket $socket show y=t" c timerctl --socket "$socket" show y = t
            line="timerctl --socket $socket list --tag=ny=" c timerctl --socket "$socket" list --tag = ny =
            c timerctl show --socket "$socket" ba
            # To bash the ":" of a path is a word, too.
            ln -s "$socket" a:b
            line="timerctl --socket $PWD/a:b show ba" c timerctl --socket "$PWD/a" : b show ba
            line="timerctl --socket=$PWD/a:b show ba" c timerctl --socket = "$PWD/a" : b show ba
            c timerctl --so
            c timerctl next --tz Europe/Berl
            # As in a shell that takes a variable without a value for an error.
            unset TIMERD_SOCKET
            set -u
            c timerctl sho

            """#.write(toFile: folder.file("ask"), atomically: false, encoding: .utf8)
            let shell = Shell(variables: ["TIMERD_SOCKET": daemon.socket], folder: folder.path)
            let answer = try await shell(
                "timerctl --generate-completion-script bash >script && bash ask"
            )
            #expect(
                answer.output == """
                    backup base
                    backup base
                    backup base
                    backup base
                    --socket
                    backup base
                    nbackup nbase
                    one
                    one two
                    backup base
                    nbackup nbase
                    nbackup nbase
                    Europe/Berlin
                    backup base
                    three two
                    three two
                    backup base
                    backup base
                    backup base
                    --socket
                    Europe/Berlin
                    show

                    """,
                "\(answer.errors)"
            )
        }
    }

    @Test("What was skipped is said in words, and --socket may come first")
    func skip() async throws {
        try await DaemonProcess.with { daemon in
            try await daemon.timerctl("add", "--every", "1h", "--", "true")
            let one = try await daemon.timerctl("skip", "1")
            #expect(one.output.hasSuffix("; the next date is dropped\n"), "\(one.output)")
            let three = try await daemon.timerctl("skip", "1", "--count", "3")
            #expect(three.output.hasSuffix("; the next 3 dates are dropped\n"))
            #expect(try await daemon.timerctl("--socket", daemon.socket, "show", "1").status == 0)
            let other = try await daemon.timerctl("--socket", "/nonexistent", "show", "1")
            #expect(other.status == 69)
        }
    }
}
