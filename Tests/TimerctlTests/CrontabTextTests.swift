// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl
import TimerWords

@testable import timerctl

@Suite("Jobs as a crontab") struct CrontabTextTests {
    private static let ann = LocalUser(name: "ann", uid: 1000, gid: 1000, home: "/")
    private static let dates = LocalDate(now: .init(microseconds: 0), zone: .utc)

    static func job(
        _ id: Int64,
        _ cron: String,
        _ command: [String]?,
        _ change: (inout JobDefinition) -> Void = { _ in }
    ) -> Job {
        var definition = JobDefinition(schedule: ScheduleWords(cron: cron))
        definition.command = command
        change(&definition)
        return Job(
            id: JobID(rawValue: id),
            owner: "ann",
            state: .scheduled,
            fireDate: nil,
            fires: 0,
            addedAt: .init(microseconds: 0),
            endedAt: nil,
            endReason: nil,
            definition: definition
        )
    }

    private static let backup = job(7, "30 2 * * *", ["/bin/sh", "-c", "save --all"]) {
        ($0.name, $0.timeout, $0.tags) = ("backup", "2h", ["crontab:-"])
    }
    private static let report = job(9, "@daily", ["report", "a b"])

    static func changes(
        _ text: String,
        _ jobs: [Job] = [backup, report],
        isEdited: Bool = true
    ) -> CrontabChanges {
        let page = CrontabText(of: jobs)
        return CrontabChanges(
            from: text,
            to: page,
            page: page.page(dates),
            isEdited: isEdited,
            of: ann,
            zone: .utc
        )
    }

    private static func page(_ jobs: [Job] = [backup, report]) -> String {
        CrontabText(of: jobs).page(dates)
    }

    struct Line: CustomTestStringConvertible, Sendable {
        var argv: [String]
        var line: String?
        var testDescription: String { line ?? argv.joined(separator: " ") }
    }

    @Test(
        "A command is a line that cron would read as that command",
        arguments: [
            Line(argv: ["/bin/sh", "-c", "a | b"], line: "* * * * * a | b"),
            Line(argv: ["/bin/bash", "-c", "date +%s"], line: #"* * * * * date +\%s"#),
            Line(argv: ["sh", "-c", #"grep '\.' \\ \%"#], line: #"* * * * * grep '\.' \\\ \\\%"#),
            Line(argv: ["sh", "-c", #"a\"#], line: #"* * * * * a\"#),
            Line(argv: ["a", "b c", "$d"], line: "* * * * * a 'b c' '$d'"),
            Line(
                argv: [
                    "/bin/sh", "-c", CrontabLine.inputScript, "/bin/sh", "mail ann", "1\n2 %\n",
                ],
                line: #"* * * * * mail ann%1%2 \%"#
            ),
            Line(argv: ["sh", "-c", "a\nb"], line: nil),
            Line(argv: ["a", "b\n"], line: nil),
            Line(argv: ["sh", "-c", " a"], line: nil),
            Line(argv: ["sh", "-c", "* b"], line: nil),
            Line(argv: ["sh", "-c", "printf '\u{1b}[1m'"], line: nil),
            Line(argv: ["python3", "-c", "print(1)"], line: "* * * * * python3 -c 'print(1)'"),
        ]
    )
    func line(row: Line) throws {
        var definition = JobDefinition(schedule: ScheduleWords(cron: "*  * * *\t*"))
        definition.command = row.argv
        let line = CrontabLine(definition)
        #expect((line?.isShowable == true ? line?.text : nil) == row.line)
        guard let line else { return }
        let entry = try #require(Crontab(parsing: line.text, hasUsers: false).entries.first)
        #expect(CrontabLine(entry) == line)
    }

    @Test("A page that is not changed changes nothing; jobs that no line can say stand below")
    func unchanged() {
        let others = [
            Self.job(10, "0 0 9 * * *", ["a"]), Self.job(11, "0 9 * * *", nil),
            Self.job(12, "0 9 * * *", ["a"]) { $0.tags = [Label.tag("web")] },
        ]
        let page = Self.page([Self.backup, Self.report] + others)
        #expect(page.contains("#: 7 backup; also timeout\n30 2 * * * save --all\n"))
        #expect(page.contains("#: 9\n@daily report 'a b'\n"))
        #expect(page.contains("#   job 12: cron 0 9 * * *, of the files with the label 'web'"))
        for isEdited in [true, false] {
            let changes = Self.changes(
                page,
                [Self.backup, Self.report] + others,
                isEdited: isEdited
            )
            #expect(changes.isEmpty && changes.complaints.isEmpty && changes.notes.isEmpty)
        }
    }

    @Test("A line that is changed changes its job, and nothing else of it")
    func changed() throws {
        let text = Self.page().replacing("30 2 * * * save --all", with: "0 3 * * * save --some")
            .replacing("'a b'", with: "b%x")
        let changes = Self.changes(text)
        #expect(changes.additions.isEmpty && changes.removals.isEmpty)
        let request = changes.request(names: [], dryRun: false)
        #expect(request.change.map(\.id.rawValue) == [7, 9])
        var wanted = Self.backup.definition
        wanted.schedule.cron = "0 3 * * *"
        wanted.command = ["/bin/sh", "-c", "save --some"]
        #expect(request.change[0].definition == wanted)
        #expect(
            request.change[1].definition.command == [
                "/bin/sh", "-c", CrontabLine.inputScript, "/bin/sh", "report b", "x\n",
            ]
        )
        #expect(changes.lines(for: .plain).contains("    30 2 * * * save --all"))
    }

    @Test(
        "A line that is taken out ends its job, whether its remark stays or not; a new one is added"
    )
    func addedAndEnded() throws {
        let text = """
            PATH=/opt/bin
            #: 7 backup
            # of mine
            #: 9
            @daily report 'a b'
            */5 * * * * probe
            """
        let changes = Self.changes(text)
        #expect(changes.removals.map(\.id.rawValue) == [7])
        #expect(changes.changes.isEmpty)
        let added = try #require(changes.additions.first)
        #expect(changes.additions.count == 1)
        #expect(added.definition.command == ["/bin/sh", "-c", "probe"])
        #expect(added.definition.env == ["PATH": "/opt/bin"])
        #expect(added.definition.tags == ["crontab:-"])
        #expect(changes.notes.count == 2)
        #expect(changes.notes[0].hasPrefix("the variables change nothing of lines that are there"))
        #expect(changes.notes[1] == "1 comment is not kept: a job has a name")
        #expect(Self.changes("", isEdited: true).removals.count == 2)
        // A copied line is a new job.
        let copied = Self.page() + "\n#: 7 backup\n30 2 * * * save --all\n"
        #expect(Self.changes(copied).additions.count == 1 && Self.changes(copied).removals.isEmpty)
    }

    @Test(
        "A crontab from elsewhere takes the place of what came from crontabs, and of nothing else"
    )
    func fromElsewhere() {
        let same = Self.changes("30 2 * * * save --all\n0 4 * * * new\n", isEdited: false)
        #expect(same.removals.isEmpty && same.changes.isEmpty)
        #expect(same.additions.map(\.text) == ["0 4 * * * new"])
        let other = Self.changes("0 4 * * * new\n", isEdited: false)
        #expect(other.removals.map(\.id.rawValue) == [7])
        #expect(Self.changes("", isEdited: false).removals.map(\.id.rawValue) == [7])
    }

    @Test(
        "A crontab from elsewhere finds its jobs again whatever is in them, and takes the place of those that were changed since"
    )
    func fromElsewhereAgain() {
        let tab = "0 4 * * * /bin/echo\ta"
        let bell = "0 5 * * * /bin/echo \u{7}"
        let text = "#: nightly things\n\(tab)\n\(bell)\n"
        let first = Self.changes(text, [Self.report], isEdited: false)
        #expect(first.removals.isEmpty && first.complaints.isEmpty)
        #expect(first.notes.contains { $0.contains("1 comment is not kept") })
        let jobs = first.additions.enumerated().map { index, imported in
            var job = Self.job(20 + Int64(index), "* * * * *", nil)
            job.definition = imported.definition
            return job
        }
        #expect(Self.changes(text, jobs + [Self.report], isEdited: false).isEmpty)
        let page = Self.page(jobs)
        #expect(page.contains("\n\(tab)\n") && !page.contains("\u{7}"))
        // What a page does not show, its editor does not end.
        #expect(Self.changes("", jobs).removals.map(\.id.rawValue) == [20])
        #expect(Self.changes("", jobs, isEdited: false).removals.map(\.id.rawValue) == [20, 21])
        let changed = Self.job(30, "0 0 5 * * *", ["a"]) { $0.tags = ["crontab:/x"] }
        #expect(Self.changes("", [changed], isEdited: false).removals.map(\.id.rawValue) == [30])
    }

    @Test("Variables of a crontab from elsewhere hold for its jobs, and no other option is touched")
    func variables() throws {
        let job = Self.job(7, "30 2 * * *", ["/bin/sh", "-c", "save --all"]) {
            ($0.name, $0.timeout, $0.tags) = ("backup", "2h", ["crontab:-"])
            ($0.env, $0.cwd, $0.notify) = (["PATH": "/old"], nil, ["mail:ann"])
        }
        let line = "30 2 * * * save --all\n"
        func changes(_ text: String) -> CrontabChanges {
            Self.changes(text + line, [job], isEdited: false)
        }
        #expect(changes("PATH=/old\n").isEmpty)
        let changed = changes("PATH=/new\nSHELL=/bin/bash\nMAILTO=ops\n")
        #expect(changed.additions.isEmpty && changed.removals.isEmpty)
        let definition = try #require(changed.request(names: [], dryRun: false).change.first)
            .definition
        #expect(definition.env == ["PATH": "/new", "SHELL": "/bin/bash", "MAILTO": "ops"])
        #expect(definition.command == ["/bin/bash", "-c", "save --all"])
        #expect(definition.notify == ["mail:ops"] && definition.timeout == "2h")
        #expect(
            changed.lines(for: .plain).first?.hasPrefix("~ job 7 (backup): with another ") == true
        )
        #expect(changes("").changes.first?.also == [.env])
        // On a page they are for new lines, which is said where there is none.
        let edited = Self.changes("A=b\n" + Self.page([job]), [job])
        #expect(
            edited.isEmpty && edited.notes.first?.hasPrefix("the variables change nothing") == true
        )
        for note in ["MAILTO=ops", "CRON_TZ=UTC"] {
            #expect(Self.changes(note + "\n" + Self.page() + "0 4 * * * new\n").notes.count == 2)
            let above = Self.changes(note + "\n" + Self.page()).notes
            #expect(above.count == 1 && above[0].hasPrefix("the variables change nothing of lines"))
        }
        // A job that came from no crontab is not touched, nor added once more.
        let other = Self.job(8, "30 2 * * *", ["/bin/sh", "-c", "save --all"])
        let same = Self.changes("PATH=/new\n" + line, [other], isEdited: false)
        #expect(same.isEmpty)
        #expect(same.notes == ["line 2 is job 8, which came from no crontab"])
    }

    @Test("A job with timerd's own PATH keeps it, and a page does not tell of the PATH of cron")
    func path() throws {
        let line = "30 2 * * * save --all\n"
        let new = try #require(Self.changes(line, [], isEdited: false).additions.first)
        #expect(new.definition.env == ["PATH": "/usr/bin:/bin"])
        var job = Self.job(7, "30 2 * * *", nil)
        job.definition = new.definition
        #expect(Self.changes(line, [job], isEdited: false).isEmpty)
        #expect(!Self.page([job]).contains("also"))
        job.definition.env = nil
        #expect(Self.changes(line, [job], isEdited: false).isEmpty)
        let said = Self.changes("PATH=/opt\n" + line, [job], isEdited: false)
        #expect(said.changes.map(\.definition.env) == [["PATH": "/opt"]])
    }

    @Test("A remark of another host's page, with that number and another name, ties nothing")
    func otherHost() {
        let text = "#: 7 payroll; paused\n0 4 * * * pay\n"
        for isEdited in [true, false] {
            #expect(
                Self.changes(text, isEdited: isEdited).complaints == [
                    "line 2: job 7 is 'backup', the line above says 'payroll': '#: 7 backup' means that job; without such a line it is a new one"
                ]
            )
        }
        #expect(
            Self.changes("#: 9 payroll\n0 4 * * * pay\n").complaints == [
                "line 2: job 9 has no name, the line above says 'payroll': '#: 9' means that job; without such a line it is a new one"
            ]
        )
        #expect(
            Self.changes("#: 7\n0 4 * * * pay\n").complaints == [
                "line 2: job 7 is 'backup', the line above says none: '#: 7 backup' means that job; without such a line it is a new one"
            ]
        )
        // Also where no line follows: it would have the jobs ended that came from no crontab.
        #expect(
            Self.changes("#: 7 payroll\n#: 8 x\n#: 9\n@daily a\n", isEdited: false).complaints == [
                "line 1: job 7 is 'backup', the remark says 'payroll': '#: 7 backup' means that job",
                "line 2: there is no job 8 of yours that a line says; take the remark out",
            ]
        )
        let odd = Self.job(7, "0 4 * * *", ["a"]) { $0.name = " a; b\u{7}" }
        #expect(Self.changes(Self.page([odd]), [odd]).complaints.isEmpty)
    }

    @Test("A command of another Unicode form is another command")
    func unicodeForms() {
        let job = Self.job(7, "0 4 * * *", ["/bin/sh", "-c", "cat caf\u{e9}"])
        let text = Self.page([job]).replacing("caf\u{e9}", with: "cafe\u{301}")
        #expect(
            Self.changes(text, [job]).changes.map { Array($0.new.command.utf8) }
                == [Array("cat cafe\u{301}".utf8)]
        )
    }

    @Test("What no request holds is sent in parts, and what is refused is told with its line")
    func parts() throws {
        let long = String(repeating: "x", count: 4000)
        let lines = (0..<300).map { "\($0 % 60) 4 * * * echo \($0) \(long)" }
        let changes = Self.changes(lines.joined(separator: "\n") + "\n", [], isEdited: false)
        let parts = try changes.parts(names: lines.indices.map { "job-\($0)" })
        #expect(parts.count == 2)
        #expect(parts.flatMap(\.request.add).compactMap(\.name).last == "job-299")
        let place = "line \(parts[0].count + 1)"
        #expect(parts[1].placed("add[0]: the name is taken") == "\(place): the name is taken")
        for part in parts {
            #expect(try Request.applyJobs(part.request).line(id: nil).count < Limits.line)
        }
    }

    @Test("What is wrong is said with its line, and all of it")
    func complaints() {
        let text = """
            #: 7 backup
            61 2 * * * save --all
            #: 99 none
            0 4 * * * none
            0 4 * *
            * * * * 9 new
            """
        let complaints = Self.changes(text).complaints
        #expect(complaints.count == 4, "\(complaints)")
        #expect(complaints[0].hasPrefix("line 5, '0 4 * *': "))
        #expect(complaints[1].hasPrefix("line 4: there is no job 99 of yours"))
        #expect(complaints[2].hasPrefix("line 6, '* * * * 9 new': "))
        #expect(complaints[3].hasPrefix("job 7 (backup), '61 2 * * * save --all': "))
    }

    @Test("What ends nothing does not ask whether to")
    func triedEnd() {
        expectUsageError("-i and --dry-run exclude each other: nothing is ended") {
            try CrontabCommand.parse(["-r", "-i", "--dry-run"])
        }
    }
}
