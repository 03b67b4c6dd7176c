// SPDX-License-Identifier: Apache-2.0

import Foundation
import Schedules
import Testing
import TimerControl

@testable import timerctl

/// What is read of a crontab's lines.
extension CrontabTests {
    /// Seen by running Debian's cron 3.0pl1-162 on these lines on 2026-11-21: `env` said so.
    @Test("Variables are what Debian's cron makes of these lines")
    func variables() throws {
        let crontab = Crontab(
            parsing: """
                A=plain value  \n\
                B = "quoted  value "  \n\
                C='single'
                E=mid"dle"quote
                F=""
                "G H"=named
                I = $HOME
                J=a#b
                  K=indented
                * * * * * env
                """,
            hasUsers: false
        )
        #expect(crontab.refusals == [])
        let entry = try #require(crontab.entries.first)
        #expect(
            entry.variables == [
                "A": "plain value", "B": "quoted  value ", "C": "single", "E": #"mid"dle"quote"#,
                "F": "", "G H": "named", "I": "$HOME", "J": "a#b", "K": "indented",
            ]
        )
    }

    @Test("A line that is not UTF-8 is refused by its number, and no other; a comment need not be")
    func latin1() {
        let parts = ["# ", " ber\nA=1\n@daily echo ", "\r\n* * * * * true\nB=", "\n"]
        let bytes = Array(parts.map { Array($0.utf8) }.joined(separator: [0xfc]))
        let crontab = Crontab(reading: bytes, hasUsers: false)
        #expect(
            crontab.refusals == [
                .init(line: 3, text: "@daily echo \u{fffd}", reason: "it is not UTF-8"),
                .init(line: 5, text: "B=\u{fffd}", reason: "it is not UTF-8"),
            ]
        )
        #expect(crontab.entries.map(\.line) == [4])
        #expect(crontab.entries.first?.variables == ["A": "1"])
    }

    @Test("A line below a variable that is not UTF-8 is refused, too: it would run without that")
    func latin1Variable() {
        let bytes = Array("@daily a\nB=".utf8) + [0xfc] + Array("\n@daily b\n".utf8)
        let crontab = Crontab(reading: bytes, hasUsers: false)
        #expect(crontab.entries.map(\.line) == [1])
        #expect(crontab.refusals.map(\.line) == [2, 3])
        let reason = "line 2, which sets a variable for it, is not UTF-8"
        #expect(crontab.refusals.last?.reason == reason)
    }

    @Test("That the CR of lines that end with CR LF is left out is said once")
    func returns() {
        let jobs = CrontabJobs(path: "-", owner: .root, caller: .root)
        let crontab = Crontab(parsing: "A=1\r\n@daily a\r\n@daily b\r\n", hasUsers: false)
        #expect(crontab.entries.map(\.command) == ["a", "b"])
        #expect(jobs.plan(of: crontab).notes.map { $0.prefix(21) } == ["lines end with CR LF:"])
        let plain = Crontab(parsing: "@daily a\n", hasUsers: false)
        #expect(jobs.plan(of: plain).notes == [])
    }

    @Test("Blanks behind the '-' that keeps a line out of the log are none of its fields")
    func unlogged() throws {
        let crontab = Crontab(parsing: "- */5 * * * * a\n-@daily b\n", hasUsers: false)
        #expect(crontab.refusals == [])
        #expect(crontab.entries.map(\.schedule) == ["*/5 * * * *", "@daily"])
        #expect(crontab.entries.map(\.command) == ["a", "b"])
        #expect(crontab.unloggedLines == [1, 2])
    }

    /// Seen in the same way: what /bin/sh was given, and what came on its standard input.
    @Test(
        "A percent sign begins the input, and a backslash is what Debian's cron makes of it",
        arguments: [
            (#"echo 'a\\b' 'c\d' '100\%'"#, #"echo 'a\b' 'c\d' '100%'"#, nil),
            (#"cat%one%two \% three\\x%"#, "cat", "one\ntwo % three\\\\x\n"),
            ("cat%%", "cat", "\n"), ("cat%a", "cat", "a\n"), ("cat%", "cat", ""),
            ("true", "true", nil),
        ] as [(String, String, String?)]
    )
    func percent(text: String, command: String, input: String?) throws {
        let entry = try #require(
            Crontab(parsing: "* * * * * \(text)", hasUsers: false).entries.first
        )
        #expect(entry.command == command)
        #expect(entry.input == input)
    }

    @Test(
        "Whatever stands in a line, its job is that line: installed twice, it changes nothing",
        arguments: [
            "* * * * * cut -d$'\\t' -f2 a", "* * * * * cat%%", "* * * * * cat%a%%",
            "* * * * * cat%", "* * * * * cat%a\r%b", "* * * * * cat%\u{301}a\\%\u{301}%\u{301}",
            "* * * * * echo \\%\u{301} \\\\\u{301}", "* * * * * echo \u{c} \u{2028}",
            "SHELL=/opt/fish\n* * * * * echo $'a'", "SHELL=/opt/fish\n* * * * * cat%a",
        ]
    )
    func foundAgain(text: String) throws {
        let entry = try #require(Crontab(parsing: text, hasUsers: false).entries.first)
        let job = try #require(plan(text).jobs.first)
        #expect(CrontabLine(job.definition) == CrontabLine(entry))
    }

    @Test("Blanks beside the commas of a MAILTO are left out of the place that it becomes")
    func mailToSeveral() {
        let plan = plan("MAILTO=ann@x.org , ben@x.org\n* * * * * a")
        let definition = plan.jobs.first?.definition
        #expect(definition?.notify == ["mail:ann@x.org,ben@x.org"])
        #expect(definition?.env?["MAILTO"] == "ann@x.org , ben@x.org")
        #expect(plan.warnings.first?.contains("is carried as 'notify'") == true)
    }

    @Test("A variable that the shell may drop which writes a line's input is told of")
    func lostVariables() {
        let lines = "SHELL=/bin/bash\nA.B=1\nC=2\n* * * * * a\n* * * * * b%text"
        let notes = plan(lines).notes
        #expect(notes.count == 1)
        #expect(notes.first?.hasPrefix("line 5: 'A.B' may not reach the command: ") == true)
        // There cron's shell is the one that drops it.
        #expect(plan("A.B=1\n* * * * * b%text").notes == [])
    }

    @Test("MAILTO and CRON_TZ are told of where a line goes by them")
    func unused() {
        let plan = plan("MAILTO=a\nCRON_TZ=UTC\nMAILTO=b\n* * * * * x\nMAILTO=c\nCRON_TZ=JST-9")
        #expect(plan.warnings.map { $0.prefix(16) } == ["line 3: MAILTO=b"])
        #expect(plan.notes.map { $0.prefix(19) } == ["line 2: CRON_TZ=UTC"])
    }

    /// Seen by running Debian's cron 3.0pl1-162: `env` said so.
    @Test("A line has the PATH of cron, unless the crontab sets one")
    func path() {
        let jobs = plan("* * * * * a\nPATH=/opt/bin\n* * * * * b\nPATH=\n* * * * * c").jobs
        #expect(jobs.map { $0.definition.env?["PATH"] } == ["/usr/bin:/bin", "/opt/bin", ""])
    }

    @Test("Where only cron's PATH makes variables too many, the refusal says so")
    func tooManyVariables() {
        func reasons(_ count: Int, path: String = "") -> [String] {
            let variables = (1...count).map { "V\($0)=x\n" }.joined()
            return plan(path + variables + "* * * * * a").refusals.map(\.reason)
        }
        #expect(reasons(1023) == [])
        #expect(reasons(1023, path: "PATH=/bin\n") == [])
        #expect(
            reasons(1024) == [
                "its 'env' has 1025 variables; at most 1024 are accepted; that is with "
                    + "'PATH=/usr/bin:/bin', which is added, as by cron, since the crontab sets none"
            ]
        )
        #expect(reasons(1025) == ["its 'env' has 1025 variables; at most 1024 are accepted"])
    }

    @Test("Where a user's name is a command in the PATH of its line, it is that")
    func commandInPath() {
        let plan = plan("PATH=/opt/a:/opt/b\n* * * * * ann x\nPATH=/opt/a\n* * * * * ann x")
        #expect(plan.jobs.map(\.place) == ["line 2"])
        #expect(plan.refusals.map(\.place) == ["line 4"])
        #expect(plan.warnings.first?.hasPrefix("line 2: 'ann' is a user as well") == true)
    }

    @Test("That a crontab ends jobs of the system's crontab is said")
    func ofSystem() {
        let jobs = ["/etc/crontab", "/etc/cron.d/php", "-"].enumerated().map { index, path in
            var definition = JobDefinition(schedule: ScheduleWords(cron: "@daily"))
            (definition.command, definition.tags) = (["a"], ["crontab:\(path)"])
            return Job(
                id: JobID(rawValue: Int64(index + 1)),
                owner: "root",
                state: .scheduled,
                fireDate: testNow,
                fires: 0,
                addedAt: testNow,
                endedAt: nil,
                endReason: nil,
                definition: definition
            )
        }
        func notes(_ jobs: [Job]) -> [String] {
            CrontabChanges(
                from: "",
                to: CrontabText(of: jobs),
                page: "",
                isEdited: false,
                of: .root,
                zone: .utc
            ).notes
        }
        #expect(notes(jobs) == ["2 jobs that end came from /etc/crontab or /etc/cron.d"])
        #expect(notes([jobs[2]]) == [])
    }

    @Test("An accent behind a sign of cron's makes no other sign of it")
    func accents() throws {
        let accent = "\u{301}"
        let text = ["#|1 * * * * a", "A=|b", "* * * * * |cat%|a%|"].joined(separator: "\n")
        let crontab = Crontab(parsing: text.replacing("|", with: accent), hasUsers: false)
        #expect(crontab.refusals == [])
        #expect(crontab.entries.count == 1)
        let entry = try #require(crontab.entries.first)
        #expect(entry.variables == ["A": "\(accent)b"])
        #expect(entry.command == "\(accent)cat")
        #expect(entry.input == "\(accent)a\n\(accent)\n")
    }

    @Test("A variable holds for the lines below it, and these have their numbers")
    func scope() throws {
        let text = "# x\n\n* * * * * a\nA=1\n  @daily b\r\nA=2\nB=3\n0 0 * * *\tc  d"
        let entries = Crontab(parsing: text, hasUsers: false).entries
        #expect(entries.map(\.line) == [3, 5, 8])
        #expect(entries.map(\.schedule) == ["* * * * *", "@daily", "0 0 * * *"])
        #expect(entries.map(\.command) == ["a", "b", "c  d"])
        #expect(entries.map(\.variables) == [[:], ["A": "1"], ["A": "2", "B": "3"]])
    }

    @Test(
        "What cannot be taken over is named with its line and with what is accepted",
        arguments: [
            ("* * * * *", "the command is missing"), ("* * * *", "it has 4 fields; five say when"),
            ("61 * * * * x", "minute '61' is not accepted; it takes 0 to 59"),
            ("@fortnightly x", "words are @annually"), ("A='x' y", "it has 2 fields"),
            ("0 0 30 2 * x", "never fires"), ("0~59 * * * * x", "minute '0~59' is not accepted"),
        ]
    )
    func refused(line: String, reason: String) throws {
        let plan = plan("# x\n\(line)\n0 0 * * * fine")
        #expect(plan.jobs.map(\.place) == ["line 3"])
        let refusal = try #require(plan.refusals.first)
        #expect(refusal.place == "line 2")
        #expect(refusal.reason.contains(reason), "\(refusal.reason)")
    }

    /// Tried with `crontab -n` of Debian's cron 3.0pl1-162.
    @Test(
        "Old dates are those of what cron reads, and there are none of a line that it refuses",
        arguments: [
            ("0 2-22 * * * x", "0 2-22 * * *"),
            ("0 0 * jul,SEP tue-sat x", "0 0 * jul,SEP tue-sat"),
            ("0 0 * * fri-7 x", "0 0 * * fri-7"), ("0 0 * * 1,6-0 x", "0 0 * * 1"),
            ("0 0 13 * sat-sun x", "0 0 13 * *"), ("0 0 31-1 * mon x", "0 0 * * mon"),
            ("*/90 1-9/2 * * * x", "*/90 1-9/2 * * *"), ("@midnight x", "@midnight"),
            ("0 0 * * 5#2 x", "0 0 * * 5"), ("0 0 * * mon#1,tue x", "0 0 * * mon"),
            ("@every_minute x", nil), ("@Daily x", nil), ("@Reboot x", nil),
            ("- * * * * * x", nil), ("-*/5 * * * * x", nil), ("5/10 * * * * x", nil),
            ("0 0 L * * x", nil), ("0 0 1,L-3 * * x", nil), ("0 0 15W * * x", nil),
            ("0 0 ? * * x", nil), ("0 0 * * 5L x", nil),
        ] as [(String, String?)]
    )
    func readByCron(line: String, reading: String?) throws {
        let job = try #require(plan(line).jobs.first)
        let rule = reading.map { SourceRule.cron($0, zone: nil) }
        #expect(job.rule == rule ?? SourceRule.none("cron refuses this line"))
    }

    /// Seen by running Debian's cron 3.0pl1-162 on such lines.
    @Test(
        "A line whose range runs backwards has no old dates: cron never runs it",
        arguments: [
            "0 0 * * 6-0", "0 0 * * sat-sun", "0 22-4 * * *", "0 5-2/2 * * *", "50-10 * * * *",
            "0 0 * nov-2 *", "0 0 31-1 * sat-sun", "0 0 31-1 * *",
        ]
    )
    func backwards(schedule: String) throws {
        let plan = plan("MAILTO=a\n\(schedule) x")
        let job = try #require(plan.jobs.first)
        #expect(job.rule == SourceRule.none("cron never runs this line"))
        let note = "line 2: Debian's cron never runs '\(schedule)', where a range runs backwards"
        #expect(plan.notes == [note + "; timerd does"])
    }

    @Test(
        "What cron does not read as it stands is told at an import, and not of a line that is edited"
    )
    func readOtherwise() {
        let text = "0 0 * * 5#2 a\n@every_minute b\n5/10 * * * * c\n-@daily d\n0 0 * * 5 e"
        let crontab = Crontab(parsing: text, hasUsers: false)
        var jobs = CrontabJobs(path: "-", owner: .root, caller: .root)
        #expect(
            jobs.plan(of: crontab).notes == [
                "line 4: the '-' that keeps cron from logging is left out",
                "line 1: '0 0 * * 5#2' is to Debian's cron '0 0 * * 5'; timerd goes by what stands there",
                "line 2: Debian's cron refuses '@every_minute'; timerd runs it",
                "line 3: Debian's cron refuses '5/10 * * * *'; timerd runs it",
            ]
        )
        jobs.replacesCron = false
        #expect(jobs.plan(of: crontab).notes.count == 1)
    }

    /// By `crontab -n` of Debian's cron 3.0pl1-162, which takes `A=""`.
    @Test("A variable without a value, which Debian's cron refuses, is told of at an import")
    func bareVariables() {
        let text = "MAILTO=\"\"\nA=\n* * * * * a\nB = \nC=\"\"\n* * * * * b"
        let crontab = Crontab(parsing: text, hasUsers: false)
        var jobs = CrontabJobs(path: "-", owner: .root, caller: .root)
        let plan = jobs.plan(of: crontab)
        #expect(
            plan.notes == [
                "line 2: Debian's cron refuses 'A=' without a value, which is A=\"\" to timerd",
                "line 4: Debian's cron refuses 'B=' without a value, which is B=\"\" to timerd",
            ]
        )
        #expect(plan.jobs.map { $0.definition.env?["A"] } == ["", ""])
        jobs.replacesCron = false
        #expect(jobs.plan(of: crontab).notes == [])
    }

    /// Seen in what a command of Debian's cron 3.0pl1-162 has in its environment.
    @Test(
        "Blanks that quotes keep at the end of a value, and Debian's cron does not, are told of at an import"
    )
    func blankEnds() {
        let text = "A=' a '\nB=\" b\"\nC=c \n\"D \"=d\n* * * * * x"
        let crontab = Crontab(parsing: text, hasUsers: false)
        var jobs = CrontabJobs(path: "-", owner: .root, caller: .root)
        let plan = jobs.plan(of: crontab)
        #expect(
            plan.notes == [
                "line 1: Debian's cron leaves out blanks that end the value of A, also in quotes; timerd keeps them"
            ]
        )
        #expect(plan.jobs.first?.definition.env?["A"] == " a ")
        jobs.replacesCron = false
        #expect(jobs.plan(of: crontab).notes == [])
    }

    @Test("A SHELL that is empty is what a line is refused for")
    func emptyShell() {
        let plan = plan("SHELL=\"\"\n* * * * * a\nSHELL=/bin/sh\n* * * * * b")
        #expect(plan.jobs.map(\.place) == ["line 4"])
        #expect(plan.refusals.map(\.place) == ["line 2"])
        #expect(plan.refusals.first?.reason.hasPrefix("SHELL is empty") == true)
    }
}
