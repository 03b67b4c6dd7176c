// SPDX-License-Identifier: Apache-2.0

import Foundation
import Schedules
import Testing
import TimerControl

@testable import timerctl

@Suite("Crontab") struct CrontabTests {
    func plan(
        _ text: String,
        hasUsers: Bool = false,
        caller: LocalUser = .root,
        local: Zone = .utc
    ) -> ImportPlan {
        var jobs = CrontabJobs(path: "/tmp/crontab", owner: hasUsers ? nil : caller)
        jobs.caller = caller
        jobs.findUser = { name in [LocalUser.root, .ann, .munin].first { $0.name == name } }
        jobs.isFolder = { $0 != "/nonexistent" }
        jobs.isCommand = {
            $0 == "munin" && $1.contains("/usr/bin") || $0 == "ann" && $1 == ["/opt/a", "/opt/b"]
        }
        jobs.local = local
        return jobs.plan(of: Crontab(parsing: text, hasUsers: hasUsers))
    }

    // MARK: - Dates

    /// What cron itself does, from Vectors/crontab-lines.py, which shares nothing with timerd.
    struct Row: Sendable, CustomTestStringConvertible {
        var columns: [String]
        var testDescription: String { columns[3] }

        static let all: [Row] = {
            // A file that is missing fails the count below.
            guard let folder = Bundle.module.url(forResource: "Vectors", withExtension: nil),
                let text = try? String(
                    contentsOf: folder.appending(path: "crontab-lines.tsv"),
                    encoding: .utf8
                )
            else { return [] }
            return text.split(separator: "\n").filter { !$0.hasPrefix("#") }.dropFirst().map {
                Row(columns: $0.split(separator: "\t").map(String.init))
            }
        }()
    }

    @Test("There are fifty lines and more")
    func enough() {
        #expect(Row.all.count >= 50)
    }

    @Test("A line has the next five dates that it has under cron, old and new", arguments: Row.all)
    func dates(row: Row) throws {
        let zone = try Zone(named: row.columns[0])
        let start = try #require(Timestamp(rfc3339: row.columns[1].replacing("Z", with: ":00Z")))
        let expected = row.columns[4].split(separator: ";").compactMap {
            Timestamp(rfc3339: $0.replacing("Z", with: ":00Z"))
        }
        #expect(expected.count == 5)
        let plan = plan(row.columns[3], hasUsers: row.columns[2] == "s", local: zone)
        #expect(plan.refusals == [])
        let job = try #require(plan.jobs.first)
        #expect(job.rule.dates(after: start, local: zone).dates == expected)
        let rule = try job.definition.schedule.resolve(now: start, zone: zone).schedule
        var dates: [Timestamp] = []
        while dates.count < 5, let date = rule.nextFireDate(after: dates.last ?? start) {
            dates.append(date)
        }
        #expect(dates == expected)
    }

    // MARK: - Jobs

    @Test("What is left out is told with each line that has it")
    func leftOut() {
        let plan = plan(
            """
            RANDOM_DELAY=45
            LOGNAME=ops
            -0 3 * * * /opt/x.sh
            RANDOM_DELAY=10
            -0 4 * * * /opt/y.sh
            """
        )
        let starts = [
            "line 1: RANDOM_DELAY=45 is left out; --jitter", "line 2: LOGNAME=ops is left out",
            "line 4: RANDOM_DELAY=10 is left out; --jitter", "line 3: the '-'", "line 5: the '-'",
        ]
        #expect(plan.notes.count == starts.count)
        for (note, start) in zip(plan.notes, starts) { #expect(note.hasPrefix(start)) }
    }

    @Test("A job runs as under cron: by the shell, never late, beside one still in progress")
    func job() throws {
        let plan = plan(
            """
            MAILTO=ops
            SHELL=/bin/bash
            HOME=/srv
            CRON_TZ=Europe/Berlin
            -*/5 * * * * cd /tmp && nice /opt/x.sh --all
            """
        )
        var expected = JobDefinition(
            schedule: ScheduleWords(cron: "*/5 * * * *", tz: "Europe/Berlin")
        )
        expected.name = "x.sh"
        expected.command = ["/bin/bash", "-c", "cd /tmp && nice /opt/x.sh --all"]
        expected.env = ["SHELL": "/bin/bash", "HOME": "/srv", "PATH": "/usr/bin:/bin"]
        expected.env?["MAILTO"] = "ops"
        (expected.cwd, expected.tags) = ("/srv", ["crontab:/tmp/crontab"])
        expected.overlap = .allow
        expected.misfire = .skip
        (expected.notify, expected.notifyOn) = (["mail:ops"], ["failed"])
        #expect(plan.jobs.first?.definition == expected)
        #expect(plan.notes.map { $0.prefix(16) } == ["line 4: CRON_TZ=", "line 5: the '-' "])
        #expect(plan.warnings.map { $0.prefix(31) } == ["line 1: MAILTO=ops is carried a"])
    }

    @Test("Each line that says who gets mail is told of; one that asks for none is not")
    func mail() {
        let plan = plan("MAILTO=\"\"\n* * * * * a\nMAILTO=bob\n* * * * * b\nMAILFROM=x")
        #expect(
            plan.warnings.map { $0.prefix { $0 != ":" } + $0.dropFirst(6).prefix(14) }
                == ["line 3: MAILTO=bob i", "line 5: MAILFROM=x i"]
        )
        #expect(plan.jobs.map(\.definition.notify) == [["none"], ["mail:bob"]])
        #expect(plan.jobs.map(\.definition.notifyOn) == [nil, ["failed"]])
    }

    @Test("A crontab is warned of once where lines have no MAILTO, by which cron mails their user")
    func unmailed() {
        let words = "--notify mail:root --notify-on failed'"
        let one = plan("* * * * * a\nMAILTO=\n* * * * * b").warnings
        #expect(one.count == 1)
        #expect(one.first?.hasPrefix("line 1 has no MAILTO: ") == true)
        #expect(one.first?.contains(words) == true)
        let three = plan("A=1\n* * * * * root a\n@daily ann b\n@daily ann c", hasUsers: true)
        #expect(three.warnings.count == 1)
        #expect(three.warnings.first?.hasPrefix("line 2 and 2 more have no MAILTO: ") == true)
        #expect(three.warnings.first?.contains("mail:USER ") == true)
    }

    @Test(
        "A variable without a value is empty: MAILTO= keeps mails away",
        arguments: ["", " ", "''"]
    )
    func emptyVariable(value: String) {
        let plan = plan("MAILTO=\(value)\nA = \(value)\n* * * * * a")
        #expect(plan.refusals.isEmpty && plan.jobs.map(\.definition.notify) == [["none"]])
        let env = ["A": "", "MAILTO": "", "PATH": "/usr/bin:/bin"]
        #expect(plan.jobs.map(\.definition.env) == [env])
    }

    @Test("A MAILTO that is no address of a place is told of, and not carried")
    func odd() {
        let plan = plan("MAILTO=ann <ann@example.org>\n* * * * * a")
        #expect(plan.warnings.first?.contains("is not carried") == true)
        #expect(plan.jobs.map(\.definition.notify) == [nil])
    }

    @Test(
        "A sixth field is no command",
        arguments: [
            "* * * * * * /bin/a", "0 0 * * * */5 /bin/a", "0 0 * * * 30 /bin/a",
            "0 0 1 1 * 2027 /bin/a", "* * * * * ?",
        ]
    )
    func sixthField(line: String) {
        let plan = plan("\n" + line)
        #expect(plan.jobs.isEmpty)
        #expect(plan.refusals.first?.place == "line 2")
        #expect(plan.refusals.first?.reason.contains("looks like a sixth field") == true)
    }

    @Test("A command may begin with a digit, and @daily has no sixth field to look like")
    func digits() {
        #expect(plan("0 0 * * * 7z a x\n@daily 2to3 x\n* * * * * /1").refusals.count == 0)
    }

    @Test("What the daemon would refuse is refused with its line")
    func unstorable() {
        let long = String(repeating: "a", count: 131_072)
        let text = "0 5 * * * nul\0x\n0 6 * * * ok\n0 7 * * * \(long)\n"
        let refusals = plan(text + "A=\0\n0 8 * * * b\n").refusals
        #expect(refusals.map(\.place) == ["line 1", "line 3", "line 5"])
        #expect(refusals[0].reason == "its 'command[2]' is with a NUL, expected text without NUL")
        #expect(refusals[1].reason.hasSuffix("bytes; at most 131072 are accepted"))
        #expect(refusals[2].reason.hasPrefix("its 'env.A' is with a NUL"))
    }

    @Test("A user in a crontab without users is refused, or told of where it is a command as well")
    func userColumn() {
        let refused = plan("\n17 * * * * ann run-parts /etc/cron.hourly")
        #expect(refused.jobs.isEmpty)
        #expect(refused.refusals.map(\.place) == ["line 2"])
        #expect(
            refused.refusals.first?.reason.hasPrefix("'ann' is a user, and no command; ") == true
        )
        let told = plan("17 * * * * munin --now")
        #expect(told.jobs.map(\.definition.command) == [["/bin/sh", "-c", "munin --now"]])
        #expect(told.warnings.first?.hasPrefix("line 1: 'munin' is a user as well") == true)
        #expect(plan("17 * * * * ann").refusals == [], "one word is a command")
    }

    /// Seen with Debian's cron 3.0pl1-162, which ran a line of nobody's in /var/spool/cron.
    @Test("Who has no home runs in the root folder, since a run needs one that is there")
    func home() {
        let jobs = plan("* * * * * a\nHOME=/nonexistent\n* * * * * b").jobs
        #expect(jobs.map(\.definition.cwd) == [nil, "/"])
    }

    @Test("Input is written to the command by a shell that any other runs under")
    func input() throws {
        let job = try #require(plan("SHELL=/bin/zsh\n* * * * * mail x%Hi").jobs.first)
        #expect(
            job.definition.command == [
                "/bin/sh", "-c", #"printf %s "$2" | "$0" -c "$1""#, "/bin/zsh", "mail x", "Hi\n",
            ]
        )
    }

    @Test("Root adds jobs for others, nobody else does")
    func owners() {
        let text = "* * * * * ann a\n* * * * * root b\n* * * * * ghost c"
        let asRoot = plan(text, hasUsers: true)
        #expect(asRoot.jobs.map(\.owner.name) == ["ann", "root"])
        #expect(asRoot.refusals.map(\.reason) == ["there is no user 'ghost'"])
        let asAnn = plan(text, hasUsers: true, caller: .ann)
        #expect(asAnn.jobs.map(\.owner.name) == ["ann"])
        #expect(asAnn.refusals.map(\.place) == ["line 2", "line 3"])
        #expect(asAnn.refusals[0].reason.contains("runs as 'root'; only root may"))
    }

    @Test(
        "A job is named after what its line runs",
        arguments: [
            ("/opt/backup.sh --all", "backup.sh"),
            ("cd / && run-parts --report /etc/cron.hourly", "cron.hourly"),
            (
                "test -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.daily; }",
                "cron.daily"
            ),
            (
                "[ -x /usr/lib/php/sessionclean ] && if [ ! -d /run ]; then /usr/lib/php/sessionclean; fi",
                "sessionclean"
            ),
            ("cd /srv/app && php artisan schedule:run", "artisan"),
            ("LANG=C nice sudo /usr/bin/rsync -a / b:/", "rsync"), ("$HOME/bin/x", "x"),
            ("...", "..."), (":", nil), ("'", nil),
        ] as [(String, String?)]
    )
    func names(command: String, name: String?) {
        #expect(CommandName.name(of: command) == name)
    }

    @Test("What is there already is not new, whatever it is called; twice the same is two jobs")
    func present() {
        let jobs = plan("0 0 * * * a\n0 0 * * * a\n0 1 * * * a").jobs
        func live(_ id: Int64, _ job: ImportedJob, owner: String) -> Job {
            var definition = job.definition
            definition.name = "mine"
            return Job(
                id: JobID(rawValue: id),
                owner: owner,
                state: .scheduled,
                fireDate: testNow,
                fires: 0,
                addedAt: testNow,
                endedAt: nil,
                endReason: nil,
                definition: definition
            )
        }
        let comparison = ImportComparison(
            of: jobs,
            with: [live(7, jobs[0], owner: "root"), live(8, jobs[2], owner: "ann")]
        )
        #expect(comparison.present.map(\.there.id.rawValue) == [7])
        #expect(comparison.new.map(\.place) == ["line 2", "line 3"])
        #expect(comparison.gone.map(\.id.rawValue) == [8])

        // Another Unicode form names another file.
        let form = plan("0 0 * * * cat caf\u{e9}\n0 0 * * * cat cafe\u{301}").jobs
        let other = ImportComparison(of: [form[0]], with: [live(7, form[1], owner: "root")])
        #expect(other.present.isEmpty && other.gone.count == 1)

        // What its user has changed since is still the job of its line.
        var changed = [live(7, jobs[0], owner: "root"), live(9, jobs[1], owner: "root")]
        (changed[0].definition.timeout, changed[0].definition.overlap) = ("1h", .skip)
        changed[1].definition.schedule.cron = "0 9 * * *"
        let again = ImportComparison(of: Array(jobs[..<2]), with: changed)
        #expect(again.new.isEmpty && again.gone.isEmpty)
        #expect(
            again.present.map(\.sentence) == [
                "there already as \(changed[0].title), with another timeout, overlap",
                "there already as \(changed[1].title), by another schedule, cron '0 9 * * *'",
            ]
        )
    }

    @Test("A name that another job has gets the next number that is free")
    func names() {
        let taken: Set = [ByteText("a-3"), ByteText("b")]
        #expect(
            ImportNames.names(of: ["a", "a", nil, "b", "a", "a-2", "b"], taken: taken)
                == ["a", "a-2", nil, "b-2", "a-4", "a-2-2", "b-3"]
        )
        let many = ImportNames.names(of: Array(repeating: "a", count: 10_000), taken: [])
        #expect(Set(many).count == 10_000)
        #expect(many.last == "a-10000")
        let forms = ["caf\u{e9}", "cafe\u{301}"]
        let free = ImportNames.names(of: forms, taken: [])
        #expect(free.map { $0.map { Array($0.utf8) } } == forms.map { Array($0.utf8) })
    }

    @Test("Old and new stand side by side within 80 columns")
    func sideBySide() async throws {
        let job = try #require(plan("CRON_TZ=Europe/Berlin\n30 2 * * * /opt/x").jobs.first)
        let now = try #require(Timestamp(rfc3339: "2027-03-27T12:00:00Z"))
        let preview = try await JobPreview(of: job, at: now, by: nil)
        #expect(preview.isSame)
        let text = preview.text(for: Terminal(width: 80, hasColour: false))
        #expect(
            text.hasPrefix(
                """
                line 2  30 2 * * * /opt/x
                  job 'x' of root, cron 30 2 * * * Europe/Berlin
                  runs /bin/sh -c /opt/x
                  with env {"PATH":"/usr/bin:/bin"}, misfire skip, overlap allow
                  old: cron's rule                  new: timerd's rule
                  Sun 2027-03-28 03:00:00 CEST      Sun 2027-03-28 03:00:00 CEST
                  Mon 2027-03-29 02:30:00 CEST      Mon 2027-03-29 02:30:00 CEST

                """
            ),
            "\(text)"
        )
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 80 })
        #expect(preview.json.contains(#""old":["2027-03-28T01:00:00.000000Z","#))
    }
}

extension LocalUser {
    static let root = LocalUser(name: "root", uid: 0, gid: 0, home: "/root")
    static let munin = LocalUser(name: "munin", uid: 1002, gid: 1002, home: "/var/lib/munin")
    static let ann = LocalUser(name: "ann", uid: 1001, gid: 1001, home: "/home/ann")
}
