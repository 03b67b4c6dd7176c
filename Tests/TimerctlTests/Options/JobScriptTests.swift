// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Schedules
import Testing
import TimerControl

@testable import timerctl

@Suite("JobScript") struct JobScriptTests {
    @Test("A script is what /bin/sh runs, as it is")
    func command() throws {
        let text = "cd /tmp\n# grüße\necho \"$1\"\n"
        let script = try JobScript(Array(text.utf8), from: "standard input")
        #expect(script.command == ["/bin/sh", "-c", text])
    }

    @Test(
        "What is no script is refused with the reason",
        arguments: [
            ([], "no command: standard input is empty; give a script there, "),
            (Array(" \n\t\n".utf8), "no command: standard input is empty; "),
            ([0x65, 0xFF], "standard input is no script: it is not UTF-8, or has a NUL"),
            ([0x65, 0], "standard input is no script: it is not UTF-8, or has a NUL"),
            (
                Array(repeating: UInt8(ascii: "a"), count: JobScript.limit + 1),
                "the script is 131061 bytes long, accepted are 131060; keep it in a file, "
            ),
        ] as [([UInt8], String)]
    )
    func refused(bytes: [UInt8], message: String) {
        let failure = #expect(throws: Failure.self) {
            try JobScript(bytes, from: "standard input")
        }
        #expect(failure?.status == .badData)
        #expect(failure?.message.hasPrefix(message) == true, "\(failure?.message ?? "")")
    }

    @Test("The longest script is a command that the daemon accepts")
    func longest() throws {
        let bytes = Array(repeating: UInt8(ascii: "a"), count: JobScript.limit)
        let command = try JobScript(bytes, from: "standard input").command
        try JobOption.command.check(.texts(command))
    }

    @Test("A pipe and a file with something left are input; a closed one and /dev/null are none")
    func standardInput() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        #expect(StandardInput.of(ends[0]) == .stream)
        #expect(StandardInput.of(-1) == .nothing)
        let null = open("/dev/null", O_RDONLY)
        defer { close(null) }
        #expect(StandardInput.of(null) == .nothing)
        let file = fileno(tmpfile())
        #expect(StandardInput.of(file) == .nothing, "an empty file")
        write(file, "x", 1)
        #expect(StandardInput.of(file) == .nothing, "at its end")
        lseek(file, 0, SEEK_SET)
        #expect(StandardInput.of(file) == .stream)
    }

    @Test("What nobody has read of a pipe or a file is left there; to look at it reads nothing")
    func left() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        let null = open("/dev/null", O_RDONLY)
        defer { close(null) }
        func isLeft(_ descriptor: Int32, parents: String? = nil) -> Bool {
            StandardInput.isLeft(on: descriptor, parents: parents ?? "/proc/self/fd/\(null)")
        }
        #expect(!isLeft(ends[0]), "an empty pipe")
        #expect(write(ends[1], "x", 1) == 1)
        for _ in 1...2 { #expect(isLeft(ends[0])) }
        #expect(!isLeft(ends[0], parents: "/proc/self/fd/\(ends[0])"), "the parent's own")
        #expect(!isLeft(ends[0], parents: "/nowhere"))
        let link = "/tmp/timerctl-\(getpid())-\(UInt64.random(in: 0 ... .max))"
        try #require(symlink("/nowhere/to-be-found", link) == 0)
        defer { unlink(link) }
        #expect(isLeft(ends[0], parents: link), "the parent's input is not looked for")
        var byte: UInt8 = 0
        #expect(read(ends[0], &byte, 1) == 1 && byte == UInt8(ascii: "x"))
        #expect(!isLeft(ends[0]), "it was read")
        #expect(!isLeft(-1))
        let file = fileno(tmpfile())
        #expect(write(file, "xy", 2) == 2)
        #expect(!isLeft(file), "at its end")
        lseek(file, 0, SEEK_SET)
        #expect(isLeft(file))
        lseek(file, 1, SEEK_SET)
        #expect(!isLeft(file), "somebody reads it")
    }

    @Test("An event is refused where a script may wait on standard input")
    func dropped() throws {
        let failure = #expect(throws: Failure.self) { try JobScript.refuseDropped(.stream) }
        #expect(failure?.status == .usage)
        #expect(failure?.message.hasPrefix("no command, and standard input is not a ") == true)
        try JobScript.refuseDropped(.terminal)
        try JobScript.refuseDropped(.nothing)
    }

    @Test(
        "What says what a fire does needs no script",
        arguments: [
            (["--event"], false), (["--shell", "ls"], false), (["--user-info", "-"], false),
            (["--", "ls"], false), (["--user-info", "{}"], true), ([], true),
        ]
    )
    func bare(arguments: [String], isBare: Bool) throws {
        let every = try Every.parse(["1h"] + arguments)
        #expect(every.job.isBare(command: every.command) == isBare)
    }

    @Test(
        "Two ways to say what runs exclude each other",
        arguments: [
            ["--event", "--", "ls"], ["--event", "--shell", "ls"],
            ["--shell", "-", "--user-info", "-"],
        ]
    )
    func twoWays(arguments: [String]) {
        #expect(throws: (any Error).self) { try Every.parse(["1h"] + arguments) }
        #expect(throws: (any Error).self) { try At.parse(["noon"] + arguments) }
    }

    @Test("Surroundings are kept beside what options say")
    func surroundings() throws {
        var definition = JobDefinition(schedule: ScheduleWords(at: "noon"))
        definition.env = ["A": "option"]
        let here = Surroundings(
            folder: "/srv",
            umask: 0o27,
            entries: [Array("A=b".utf8), Array("C=d".utf8)]
        )
        here.apply(to: &definition)
        #expect(definition.cwd == "/srv" && definition.umask == "027")
        #expect(definition.env == ["A": "option", "C": "d"])
        definition.cwd = "/tmp"
        definition.umask = "077"
        here.apply(to: &definition)
        #expect(definition.cwd == "/tmp" && definition.umask == "077")
    }

    @Test("The terminal's variables, a run's own and what is not UTF-8 stay behind")
    func leftBehind() {
        let entries = ["A=b=c", "TERM=xterm", "TIMERD_RUN_ID=7", "_=/bin/x", "E=", "=x", "y"]
            .map { Array($0.utf8) }
        let here = Surroundings(folder: "/", umask: 0, entries: entries + [[0x4C, 0x3D, 0xFF]])
        #expect(here.environment == ["A": "b=c", "E": ""])
        #expect(here.notes == ["the job goes without L: not UTF-8"])
    }

    @Test("A variable whose name is not UTF-8 stays behind with a note, and goes by no other name")
    func unreadableName() {
        let here = Surroundings(
            folder: "/",
            umask: 0,
            entries: [[0x4C, 0xFF, 0x3D, 0x78], Array("é=x".utf8)]
        )
        #expect(here.environment == ["é": "x"])
        #expect(here.notes == ["the job goes without L\u{FFFD}: not UTF-8"])
    }

    @Test("A variable whose name begins with a digit stays behind with a note")
    func digitName() {
        let here = Surroundings(
            folder: "/",
            umask: 0,
            entries: ["1X=y", "X1=z"].map { Array($0.utf8) } + [[0x4C, 0x3D, 0xFF]]
        )
        #expect(here.environment == ["X1": "z"])
        #expect(
            here.notes == [
                "the job goes without L: not UTF-8",
                "the job goes without 1X: no variable's name begins with a digit",
            ]
        )
    }

    @Test("The current surroundings are those of this process")
    func current() throws {
        let here = try Surroundings.current()
        #expect(here.folder == FileManager.default.currentDirectoryPath)
        #expect(here.environment["PATH"] == ProcessInfo.processInfo.environment["PATH"])
    }

    @Test(
        "A link by the name of a command is that command",
        arguments: [
            (["/usr/bin/timerctl", "list"], ["list"]), (["atq"], ["atq"]),
            (["/usr/local/bin/atrm", "3"], ["atrm", "3"]), (["./batch"], ["batch"]),
            (["at", "noon"], ["at", "noon"]), ([], []),
            (["at", "-qz", "-f", "s", "noon"], ["at", "-q", "z", "-f", "s", "noon"]),
            (["at", "-mvfs", "10am"], ["at", "-m", "-v", "-f", "s", "10am"]),
            (["at", "10am", "-Mq", "-fs"], ["at", "10am", "-M", "-q", "-fs"]),
            (["at", "-t202612241000"], ["at", "-t", "202612241000"]),
            (["at", "-lqz"], ["atq", "-q", "z"]), (["at", "-qz", "-l"], ["atq", "-q", "z"]),
            (["at", "-l", "3", "4"], ["atq", "3", "4"]), (["at", "-d", "3"], ["atrm", "3"]),
            (["at", "-r", "3"], ["atrm", "3"]), (["at", "-c", "3"], ["atc", "3"]),
            (["at", "-bqB"], ["batch", "-q", "B"]), (["/a/atq", "-qz"], ["atq", "-q", "z"]),
            (["batch", "-mfs"], ["batch", "-m", "-f", "s"]), (["atq", "-V"], ["--version"]),
            (["atrm", "-V"], ["--version"]), (["at", "-mV"], ["--version"]),
            // What no program has, what is a command's own, and a value that looks like an option.
            (["at", "-qz", "-u", "-mx"], ["at", "-q", "z", "-u", "-mx"]),
            (["at", "noon", "--", "a", "-qz"], ["at", "noon", "--", "a", "-qz"]),
            (["at", "--nice", "-5", "--json", "-"], ["at", "--nice", "-5", "--json", "-"]),
            (["timerctl", "at", "-qz"], ["at", "-qz"]),
            (["timerctl", "--socket", "/s", "list", "-a"], ["list", "--socket", "/s", "-a"]),
            (
                ["timerctl", "--json", "--socket=/s", "add", "ls"],
                ["add", "--json", "--socket=/s", "ls"]
            ),
            (
                ["timerctl", "--socket", "/s", "import", "crontab", "-"],
                ["import", "crontab", "--socket", "/s", "-"]
            ),
            (["timerctl", "--socket"], ["--socket"]), (["timerctl", "--help"], ["--help"]),
        ] as [([String], [String])]
    )
    func links(words: [String], arguments: [String]) {
        #expect(Timerctl.arguments(words) == arguments)
    }
}
