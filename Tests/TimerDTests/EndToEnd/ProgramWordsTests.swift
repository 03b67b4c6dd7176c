// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

@Suite("What the programs say of themselves", .timeLimit(.minutes(3))) struct ProgramWordsTests {
    @Test(
        "Output that cannot be written is a failure, with its reason",
        arguments: [
            "timerd --check-config", "timerd --version", "timerd --help", "timerd-runner --version",
        ]
    )
    func full(command: String) async throws {
        let folder = try TemporaryFolder()
        let places = "TIMERD_DATABASE='\(folder.file("t.db"))' TIMERD_SOCKET='\(folder.file("s"))'"
        let answer = try await Shell()("\(places) \(command) >/dev/full")
        #expect(answer.status == 74)
        #expect(answer.errors.lowercased().hasSuffix("standard output: no space left on device\n"))
    }

    @Test("A job whose number cannot be written was added all the same, and the error says so")
    func addedAndFull() async throws {
        try await DaemonProcess.with { daemon in
            let words = "timerctl --socket '\(daemon.socket)' add --in 1h --event >/dev/full"
            let answer = try await Shell()(words)
            #expect(answer.status == 74)
            #expect(answer.errors.contains("job 1 was added, but: cannot write to standard output"))
            let jobs = try await daemon.timerctl("list", "--json").output
            #expect(jobs.split(separator: "\n").count == 1)
        }
    }

    @Test("What was done and cannot be written is said to be done, and the rest is done as well")
    func doneAndFull() async throws {
        try await DaemonProcess.with { daemon in
            for name in ["cal", "grid"] {
                try await daemon.timerctl("add", "--in", "1h", "--name", name, "--event")
            }
            let shell = Shell(variables: ["TIMERD_SOCKET": daemon.socket])
            let why = "but: cannot write to standard output: no space left on device\n"
            let paused = try await shell("timerctl pause cal grid >/dev/full")
            #expect(paused.status == 74)
            #expect(paused.errors == "timerctl: 2 jobs were changed, \(why)")
            try await daemon.timerctl("resume", "cal", "grid")
            let fired = try await shell("timerctl fire cal grid >/dev/full")
            #expect(fired.status == 74)
            #expect(
                fired.errors
                    == "timerctl: job 1 was fired, \(why)timerctl: job 2 was fired, \(why)"
            )
            #expect(try await daemon.timerctl("list").errors.hasPrefix("no live jobs"))
        }
    }

    @Test("What is wrong only once it is read names the help of its command")
    func lateUsage() async throws {
        let answer = try await Shell()("timerctl runs --since nonsense")
        #expect(answer.status == 64)
        #expect(answer.errors.hasPrefix("timerctl: --since: "))
        #expect(answer.errors.hasSuffix("see 'timerctl runs --help'\n"), "\(answer.errors)")
    }

    @Test(
        "Of what ends the program, one thing is accepted at a time",
        arguments: [
            "--check-config --restore x", "--check-config --end-runs", "--adopt x --check-config",
            "--restore x --end-runs",
        ]
    )
    func tasks(options: String) async throws {
        let answer = try await Shell()("timerd \(options)")
        #expect(answer.status == 64)
        #expect(answer.errors.contains("accepted is one of them at a time"))
    }

    @Test("What would colour, hide or reorder text on a terminal is told by its number")
    func hidden() async throws {
        let words = #"$(printf '\033\302\233\342\200\256\342\201\246\342\200\250')"#
        let told = #"^[\u{9b}\u{202e}\u{2066}\u{2028}"#
        for (command, sentence) in [
            ("timerd --\(words)", "Unknown option '--\(told)'"),
            ("timerd --database \"/none/\(words)/x\"", "'/none/\(told)/x'"),
            ("TIMERD_MAX_RUNS=\"\(words)\" timerd --check-config", "TIMERD_MAX_RUNS is '\(told)'"),
        ] {
            let answer = try await Shell()(command)
            #expect(answer.errors.contains(sentence), "\(answer.errors)")
        }
    }

    @Test(
        "An argument that is not UTF-8 is refused: read as text it would be another one",
        arguments: ["timerctl add --in 1h -- /bin/rm", "timerd --database"]
    )
    func unreadableArgument(command: String) async throws {
        let answer = try await Shell()(#"\#(command) "$(printf 'caf\351')""#)
        #expect(answer.status == 64)
        let number = command.split(separator: " ").count
        #expect(answer.errors.contains(#": argument \#(number), $'caf\xe9', is not UTF-8 text"#))
    }

    @Test(
        "Without /proc, where Swift reads the arguments, nothing is done as if there were none",
        .enabled(if: geteuid() == 0, "mounts a file system, in a namespace of its own"),
        arguments: [("timerd --check-config", 78), ("timerctl list", 74)]
    )
    func withoutProc(command: String, status: Int32) async throws {
        // Where no daemon could start, if it were told nothing else.
        let place = "TIMERD_DATABASE=/dev/null/t.db TIMERD_SOCKET=/dev/null/s"
        let answer = try await Shell()(
            "unshare -m sh -c 'mount -t tmpfs none /proc && \(place) exec \(command)'"
        )
        #expect(answer.status == status)
        let words = "the arguments cannot be read: /proc is not mounted"
        #expect(answer.errors.contains(words), "\(answer)")
    }

    @Test("Relative places are those of the daemon's folder, and told as absolute ones")
    func relative() async throws {
        let folder = try TemporaryFolder()
        let settings = try await Shell()(
            "cd '\(folder.path)' && timerd --check-config --database t.db --socket s"
        )
        #expect(settings.output.contains(#""\#(folder.file("s"))""#))
        #expect(settings.output.contains(#""\#(folder.file("t.db"))""#))
    }

    @Test("A number of seconds that is none is refused with what is accepted")
    func drain() async throws {
        let answer = try await Shell()("timerd --drain -1")
        #expect(answer.errors.contains("--drain is '-1', accepted is 0 to 86400 seconds"))
    }

    @Test(
        "The reason of an end goes to standard error, also under the journal, with its level",
        arguments: ["timerd --check-config", "timerd"]
    )
    func journal(command: String) async throws {
        let answer = try await Shell()(
            "TIMERD_MAX_RUNS=x JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2) \(command)"
        )
        #expect(answer.status == 78)
        #expect(answer.errors.hasPrefix("<3>TIMERD_MAX_RUNS is 'x'"), "\(answer.errors)")
    }
}
