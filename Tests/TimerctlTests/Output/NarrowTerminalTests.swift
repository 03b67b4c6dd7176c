// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl
import TimerWords

@testable import timerctl

/// A phone, a pane of tmux: what is printed there has to be readable.
@Suite("Narrow terminal") struct NarrowTerminalTests {
    static let widths = [20, 40, 41, 60, 80]

    static let jobs: [Job] = [
        job(2) {
            $0.definition.name = "nightly-backup-of-all-databases"
            $0.definition.command = ["/usr/local/bin/backup", "--all", "--verbose"]
            $0.last = run(.done) {
                $0.outcome = .exited
                $0.status = 1
                $0.failed = true
                $0.endedAt = testNow - .seconds(3000)
            }
        },
        job(123_456, schedule: ScheduleWords(cron: "0 3 * * 1-5", tz: "Europe/Berlin")) {
            $0.definition.name = "東京の天気e\u{301}"
            $0.owner = "a-user-with-a-long-name"
            $0.fireDate = testNow + .seconds(40_000)
        },
    ]

    private static func isFitting(_ text: String, _ width: Int) -> Bool {
        text.split(separator: "\n").allSatisfy { Printable.width(String($0)) <= width }
    }

    @Test(
        "No line of a job's page is longer than the terminal, and no word of it is lost",
        arguments: widths
    )
    func page(width: Int) {
        for var job in Self.jobs {
            job.definition.onFailure = [
                "/bin/sh", "-c", "mail -s 'it has failed again' ops@example.org",
            ]
            job.definition.notify = ["mail:ops@example.org", "https://hooks.example/…#3f9a"]
            let runs = [
                run(.skipped) { $0.reason = .overlap },
                run(.done) {
                    ($0.id, $0.outcome, $0.status) = (RunID(rawValue: 1_234_567), .exited, 1)
                },
            ]
            let page = JobPage(job: job, runs: runs, dates: testDates)
            let narrow = page.text(for: Terminal(width: width, hasColour: false))
            #expect(Self.isFitting(narrow, width), "\(narrow)")
            let whole = page.text(for: .plain)
            #expect(narrow.filter { !$0.isWhitespace } == whole.filter { !$0.isWhitespace })
        }
    }

    @Test("No line of list, runs and agenda is longer than the terminal", arguments: widths)
    func tables(width: Int) {
        let terminal = Terminal(width: width, hasColour: false)
        let runs = [
            run(.done) {
                ($0.id, $0.name, $0.outcome, $0.status) = (
                    RunID(rawValue: 1_234_567), "nightly-backup", .exited, 1
                )
                $0.node = "blade-7.rack-12.example.org"
            },
            run(.skipped) { $0.reason = .overlap },
        ]
        let lines = AgendaLine.lines(
            of: Self.jobs,
            testDates,
            until: testNow + .seconds(86_400),
            each: 6
        )
        let texts = [
            List.table(of: Self.jobs, dates: testDates),
            List.table(of: Self.jobs, columns: ListColumn.allCases, dates: testDates),
            Runs.table(of: runs, isOfOneJob: false, dates: testDates),
            Runs.table(of: runs, isOfOneJob: true, dates: testDates),
            Agenda.table(of: lines, dates: testDates),
            Nodes.table(
                of: NodesReply(
                    nodes: [
                        NodesTests.node("alpha", .leading) {
                            $0.labels = ["gpu", "ssd", "rack-12"]
                        },
                        NodesTests.gone,
                    ],
                    now: testNow
                )
            ),
        ].map { $0.text(for: terminal) }
        for text in texts { #expect(Self.isFitting(text, width), "\(text)") }
    }

    @Test("At 40 columns no number of a job or a task is cut, and no date", arguments: [40, 60])
    func whole(width: Int) throws {
        let terminal = Terminal(width: width, hasColour: false)
        var notice = Notice(
            id: NoticeID(rawValue: 4711),
            job: JobID(rawValue: 123_456),
            owner: "a-user-with-a-long-name",
            reason: "succeeded",
            place: "https://hooks.example.org/…",
            addedAt: testNow,
            nextTry: testNow + .seconds(100),
            attempts: 12
        )
        (notice.name, notice.error) = ("nightly-backup-of-all-databases", "exit status 7")
        let notices = Notices.table(of: [notice], dates: testDates).text(for: terminal)
        #expect(Self.isFitting(notices, width), "\(notices)")
        #expect(notices.contains("123456 "), "\(notices)")
        #expect(notices.contains("LAST ERROR") && notices.contains("PLACE"))
        #expect(!Notices.table(of: [notice], dates: testDates).text(for: .plain).contains("trying"))
        notice.trying = true
        let tried = Notices.table(of: [notice], dates: testDates).text(for: .plain)
        #expect(tried.contains(" trying now ") && !tried.contains(" in "))
        let preview = try Next.parse(["--cron", "30 2 * * *"]).preview(now: testNow, local: berlin)
        let dates = preview.text(for: terminal)
        #expect(Self.isFitting(dates, width), "\(dates)")
        #expect(
            dates.split(separator: "\n").dropFirst().allSatisfy { $0.contains(" 02:30:00 CET") }
        )
    }

    @Test("At 40 columns list says which job fires next, and when")
    func list() {
        let text = List.table(of: Self.jobs, dates: testDates)
            .text(for: Terminal(width: 40, hasColour: false))
        let lines = text.split(separator: "\n")
        #expect(lines[0].contains("NAME") && lines[0].contains("NEXT FIRE"))
        #expect(lines[1].contains("nightly") && lines[1].contains("in 5 s"))
    }

    @Test("No line of status and doctor is longer than the terminal, and no word is lost")
    func wrapped() {
        var status = TopTests.status
        status.trouble = "cannot write the database: the disk '/var/lib/timerd' is full"
        let narrow = Terminal(width: 40, hasColour: false)
        let words = { (text: String) in text.split { $0 == " " || $0 == "\n" } }
        let text = Status.text(of: status, zone: berlin, for: narrow)
        #expect(Self.isFitting(text, 40), "\(text)")
        #expect(words(text) == words(Status.text(of: status, zone: berlin)))
        let finding = Finding.broken(
            "permissions",
            "the socket '/run/timerd/timerd.sock' is not yours to use",
            "ask root for a line 'allow' with your name in /etc/timerd/timerd.conf"
        )
        let said = finding.lines(on: narrow)
        #expect(Self.isFitting(said, 40), "\(said)")
        #expect(words(said) == words(finding.lines(on: .plain)))
    }
}
