// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Platform
import Testing
import TimerControl

@testable import timerctl

@Suite("Words that people type") struct SpellingTests {
    @Test(
        "A misspelt command is answered with the near one",
        arguments: [
            (["lst"], "there is no command 'lst', perhaps 'list'"),
            (["invaldate", "2"], "there is no command 'invaldate', perhaps 'invalidate'"),
            (["psuse"], "there is no command 'psuse', perhaps 'pause'"),
            (["frobnicate"], "there is no command 'frobnicate'"),
            (["inv", "5"], "there is no command 'inv', perhaps 'invalidate'"),
            (["li"], "there is no command 'li', perhaps 'list'"),
            (["quxue"], "there is no command 'quxue', perhaps 'queue'"),
            (["ex"], "there is no command 'ex', perhaps 'export' or 'explain'"),
            (["import", "s", "x"], "there is no command 'import s', perhaps 'import systemd'"),
            (["--json"], "--json belongs to a command, as in 'timerctl list --json'"),
            (["--socket"], "--socket belongs to a command, as in 'timerctl list --socket PATH'"),
            (
                ["--socket=/x", "--json"],
                "--socket=/x belongs to a command, as in 'timerctl list --socket=/x'"
            ),
            (["help", "lst"], "there is no command 'lst', perhaps 'list'"),
            (
                ["help", "import", "crntab"],
                "there is no command 'import crntab', perhaps 'import crontab'"
            ),
            (
                ["import", "crntab", "-"],
                "there is no command 'import crntab', perhaps 'import crontab'"
            ),
            (
                ["import", "launchd"],
                "there is no command 'import launchd'; of 'import' there are crontab, systemd"
            ),
        ]
    )
    func verbs(arguments: [String], message: String) {
        let error = #expect(throws: ValidationError.self) {
            try Timerctl.checkVerb(of: arguments)
        }
        #expect(error?.message == message)
    }

    @Test(
        "The names that other programs have for a command are understood",
        arguments: [
            (["ls"], "list"), (["rm", "2"], "invalidate"), (["cancel", "2"], "invalidate"),
            (["run", "2"], "fire"), (["history"], "runs"), (["log", "2"], "logs"),
        ]
    )
    func aliases(arguments: [String], name: String) throws {
        try Timerctl.checkVerb(of: arguments)
        let command = try Timerctl.parseAsRoot(arguments)
        #expect(type(of: command).configuration.commandName == name)
    }

    @Test(
        "Every command passes, and what asks for help",
        arguments: [[], ["--help"], ["help"], ["help", "list"], ["help", "queue", "work"]]
    )
    func others(arguments: [String]) throws {
        try Timerctl.checkVerb(of: arguments)
    }

    @Test(
        "How many letters differ; two that changed places are one",
        arguments: [
            ("list", "list", 0), ("lsit", "list", 1), ("lis", "list", 1), ("lists", "list", 1),
            ("past", "list", 2), ("", "list", 4), ("LIST", "list", 0),
        ]
    )
    func edits(word: String, name: String, count: Int) {
        #expect(Spelling.edits(from: word, to: name) == count)
    }

    @Test("A misspelt option of add is answered with the near one")
    func options() {
        expectUsageError(
            "unknown option '--nmae', perhaps '--name'; a command that begins so goes after '--'"
        ) { try Add.parse(["--every", "5s", "--nmae", "x", "ls"]) }
        expectUsageError(
            "unknown option '--evrey=5s', perhaps '--every'; a command that begins so goes after '--'"
        ) { try Add.parse(["--evrey=5s", "ls"]) }
    }

    @Test(
        "Stars that the shell expanded are asked to be quoted",
        arguments: ["Makefile", "0", "*"]
    )
    func stars(field: String) {
        expectUsageError(
            "--cron '\(field)' is one field; put all of them into quotes, for the shell expands '*'"
        ) { try Add.parse(["--cron", field, "*", "*", "*", "*", "ls"]) }
        expectUsageError(
            "--cron '\(field)' is one field; put all of them into quotes, for the shell expands '*'"
        ) { try Next.parse(["--cron", field, "Package.swift", "*", "*", "*"]) }
    }

    @Test(
        "A schedule without quotes does not become a command",
        arguments: [
            (["--at", "tomorrow", "09:00", "ls"], "09:00", "tomorrow 09:00"),
            (["--in", "1h", "30min", "ls"], "30min", "1h 30min"),
            (["--calendar", "*-*-*", "09:00", "ls"], "09:00", "*-*-* 09:00"),
            (["--at", "4pm", "+", "3", "days"], "+", "4pm +"),
        ]
    )
    func schedule(arguments: [String], word: String, longer: String) throws {
        expectUsageError(
            "is the command '\(word)', or is '\(longer)' the schedule? put the schedule into quotes, "
                + "and '--' before the command"
        ) { try Add.parse(arguments) }
        let apart = [arguments[0], arguments[1], "--"] + arguments.dropFirst(2)
        #expect(try Add.parse(apart).command == Array(arguments.dropFirst(2)))
    }

    @Test("Shells complete names, ids, tags and zones")
    func completions() throws {
        let jobs = [
            job {
                $0.definition.name = "backup"
                $0.definition.tags = ["a", "b c"]
            },
            job { $0.definition.tags = ["a", "d", "\u{202e}x"] },
            job { $0.definition.name = "\u{202e}txt" },
            job { $0.definition.name = "`id`" }, job { $0.definition.name = "a;b" },
            job(3) {
                $0.definition.name = "of-another"
                $0.owner = "ben"
            },
        ]
        #expect(
            Complete.offered(Complete.words(.jobs, of: jobs, for: "anna")) == ["backup", "2", "3"]
        )
        #expect(Complete.offered(Complete.words(.tags, of: jobs, for: "anna")) == ["a", "d"])
        let text =
            "# version\nR x 1 2\nZ Europe/Berlin 0:53 - LMT\n1 E CE%sT\nL Europe/Berlin Arctic/Longyearbyen\n"
        let zones = Complete.zones(in: text)
        #expect(Complete.offered(zones) == ["Europe/Berlin", "Arctic/Longyearbyen"])
    }

    @Test("A word that a shell would run or read otherwise is offered by no completion")
    func evil() {
        let evil = [
            "$(id)", "`id`", "${IFS}", "a b", "a'b", "a\"b", "a;b", "a|b", "a&b", "a>b", "a*", "~",
            "#a", "a\\b", "a\nb", "", "-x", "--owner=ben", "=ls",
        ]
        #expect(
            Complete.offered(evil + ["mails", "mails", "Etc/GMT+1", "a_b-c.d"]) == [
                "mails", "Etc/GMT+1", "a_b-c.d",
            ]
        )
    }
}
