// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import Testing
import TimerControl

@testable import timerctl

@Suite("List") struct ListTests {
    /// Four jobs of different kinds and fates.
    private static let jobs = [
        job(1) {
            $0.definition.name = "heartbeat"
            $0.definition.command = ["curl", "-fsS", "http://localhost/ping"]
            $0.last = ended(.exited, 0)
        },
        job(2, schedule: ScheduleWords(in: "30m")) {
            $0.fireDate = testNow + .seconds(240)
            $0.definition.userInfo = JSONText(.object(["text": .string("stand up")]))
        },
        job(3, schedule: ScheduleWords(at: "2026-12-01T07:59:57.000000Z")) {
            $0.fireDate = testNow - .seconds(3)
            $0.definition.name = "late"
            $0.last = ended(.signalled, 9)
        },
        job(10, schedule: ScheduleWords(every: "1d", from: "2026-12-24T17:00:00.000000Z")) {
            $0.state = .paused
            $0.definition.name = "東京 and all the stations around it"
            $0.definition.command = ["sh", "-c", "date >> /tmp/d"]
            $0.last = failed(3)
        },
    ]

    /// A run that ended 12 s ago.
    private static func ended(_ outcome: Run.Outcome, _ code: Int32) -> Run {
        run(.done) {
            $0.outcome = outcome
            $0.status = outcome == .exited ? code : nil
            $0.signal = outcome == .signalled ? code : nil
            $0.endedAt = testNow - .seconds(12)
        }
    }

    /// The same of one whose job counts that status as a failure.
    private static func failed(_ status: Int32) -> Run {
        var run = ended(.exited, status)
        run.failed = true
        return run
    }

    @Test("Jobs read well below each other")
    func table() {
        #expect(
            List.table(of: Self.jobs, dates: testDates).text(for: .plain) == """
                ID  NAME                                 NEXT FIRE  LAST               SCHEDULE                               COMMAND
                 1  heartbeat                            in 5 s     ok 12 s ago        every 5s                               curl -fsS http://localhost/ping
                 2  -                                    in 4 min   -                  in 30m                                 (event) {"text":"stand up"}
                 3  late                                 3 s ago    signal 9 12 s ago  at 2026-12-01 08:59:57 CET             (event)
                10  東京 and all the stations around it  paused     exit 3 12 s ago    every 1d from 2026-12-24 18:00:00 CET  sh -c 'date >> /tmp/d'

                """
        )
    }

    @Test("With columns of one's choice the table has these, in their order")
    func columns() throws {
        let table = List.table(
            of: Array(Self.jobs.prefix(2)),
            columns: try ListColumn.list("name,ID,zone,fires,state"),
            dates: testDates
        )
        #expect(
            table.text(for: .plain) == """
                NAME       ID  ZONE  FIRES  STATE
                heartbeat   1  -         0  scheduled
                -           2  -         0  scheduled

                """
        )
        for column in ListColumn.allCases {
            let table = List.table(of: Self.jobs, columns: [column], dates: testDates)
            #expect(table.rows.count == 4 && table.rows.allSatisfy { !$0[0].text.isEmpty })
        }
    }

    @Test("A column that there is not is refused, with those that there are")
    func noColumn() {
        for text in ["", "id,", "size", "id,name,colour"] {
            #expect {
                try ListColumn.list(text)
            } throws: {
                "\($0)".contains(
                    "there are id, owner, name, state, next, last, schedule, zone, fires"
                )
            }
        }
    }

    @Test("Where jobs are of several users, the table says whose each is")
    func owners() {
        let other = job {
            $0.id = JobID(rawValue: 4)
            $0.owner = "ben"
        }
        let lines = List.table(of: [job { _ in }, other], dates: testDates).text(for: .plain)
            .split(separator: "\n")
        #expect(lines.first?.hasPrefix("ID  OWNER  NAME") == true)
        #expect(lines.last?.hasPrefix(" 4  ben    ") == true)
    }

    @Test("A terminal of 80 columns shows each column, names and schedules cut")
    func narrow() {
        let terminal = Terminal(width: 80, hasColour: false)
        #expect(
            List.table(of: Self.jobs, dates: testDates).text(for: terminal) == """
                ID  NAME             NEXT FIRE  LAST               SCHEDULE         COMMAND
                 1  heartbeat        in 5 s     ok 12 s ago        every 5s         curl -fsS h…
                 2  -                in 4 min   -                  in 30m           (event) {"t…
                 3  late             3 s ago    signal 9 12 s ago  at 2026-12-01 …  (event)
                10  東京 and all t…  paused     exit 3 12 s ago    every 1d from …  sh -c 'date…

                """
        )
    }

    @Test(
        "What became of the last date is a word or two",
        arguments: [
            (run(.fired), "fired now"), (run(.running), "starting"), (run(.waiting), "waiting"),
            (run(.running) { $0.startedAt = testNow }, "running"),
            (run(.waiting) { $0.limit = .init(.maxRuns, 64) }, "waiting (maxRuns)"),
            (run(.skipped) { $0.reason = .misfire }, "missed now"),
            (run(.skipped) { $0.reason = .overlap }, "skipped now"),
            (run(.done) { $0.outcome = .timedOut }, "timed out now"),
            (run(.done) { $0.outcome = .notStarted }, "not started now"),
            (ended(.exited, 4), "ok 12 s ago"), (failed(1), "exit 1 12 s ago"),
            (ended(.finished, 0), "ok 12 s ago"),
            // By the rules that its job had then, whatever they are by now.
            (failed(0), "exit 0 12 s ago"),
        ]
    )
    func last(run: Run, words: String) {
        #expect(LastResult(run).text(testDates) == words)
        #expect(LastResult.isSuccess(run) == words.hasPrefix("ok"))
    }

    @Test("What failed is red; a status that counts as a success and a task that is done are not")
    func colour() {
        #expect(LastResult(Self.failed(1)).style == .red)
        #expect(LastResult(Self.ended(.exited, 4)).style == nil)
        #expect(LastResult(Self.ended(.finished, 0)).style == nil)
    }

    @Test("A job that fires between two pages is listed once, as JSON too")
    func pages() throws {
        var pages = JobPages()
        func lines(_ jobs: [Job]) throws -> [String] {
            let reply = JobsReply(jobs: jobs)
            let page = Answer(value: reply, json: try JSONValue(encoding: reply))
            let lines = page.jsonLines("jobs", where: pages.add(jobs))
            return lines.split(separator: "\n").map(String.init)
        }
        #expect(try lines([job(1), job(2)]).count == 2)
        let second = try lines([job(1), job(3), job(2)])
        #expect(second.count == 1 && second[0].contains(#""id":3"#), "\(second)")
        #expect(pages.jobs.map(\.id.rawValue) == [1, 2, 3])
        #expect(pages.add([job(3)]) == [false])
    }

    @Test("A list ends where no page follows, and not at an empty page or one whose jobs were seen")
    func ends() throws {
        var (pages, request) = (JobPages(), ListJobs())
        request.order = .nextFire
        let (one, two) = (JobCursor.id(JobID(rawValue: 1)), JobCursor.id(JobID(rawValue: 2)))
        pages.turn(&request, to: one, pages.add([]))
        #expect(!pages.isOver && request.cursor == one)
        pages.turn(&request, to: two, pages.add([job(1), job(2)]))
        #expect(!pages.isOver && request.cursor == two)
        // They have fired again: by number the list has an end.
        pages.turn(&request, to: one, pages.add([job(1), job(2)]))
        #expect(!pages.isOver && request.order == nil && request.cursor == nil)
        pages.turn(&request, to: two, pages.add([job(1), job(2)]))
        #expect(!pages.isOver && request.cursor == two)
        pages.turn(&request, to: nil, pages.add([job(3)]))
        #expect(pages.isOver && pages.jobs.map(\.id.rawValue) == [1, 2, 3])
    }

    @Test("What is overdue is red")
    func overdue() {
        let late = job { $0.fireDate = testNow - .seconds(3) }
        let text = List.table(of: [late], dates: testDates).text(
            for: Terminal(width: 200, hasColour: true)
        )
        #expect(text.contains("\u{1b}[31m3 s ago\u{1b}[0m"))
    }

    @Test("Filters go to the daemon; a state of ended jobs asks for these")
    func request() throws {
        var expected = ListJobs()
        expected.limit = 1000
        expected.order = .nextFire
        #expect(try List.parse([]).filter.request() == expected)
        expected.tag = "t"
        expected.state = .paused
        #expect(try List.parse(["--tag", "t", "--state", "paused"]).filter.request() == expected)
        expected.state = .finished
        expected.all = true
        #expect(try List.parse(["--tag", "t", "--state", "finished"]).filter.request() == expected)
    }

    @Test("A state that is none is refused with those there are")
    func badState() {
        expectUsageError("--state 'x' is none of scheduled, paused, finished, invalidated") {
            try List.parse(["--state", "x"])
        }
    }

    @Test(
        "An empty list says why it may be",
        arguments: [
            ([], "no live jobs; --all shows ended ones"), (["--all"], "no jobs"),
            (["--tag", "t"], "no such jobs"),
        ]
    )
    func empty(arguments: [String], sentence: String) throws {
        #expect(try List.parse(arguments).filter.emptySentence == sentence)
    }

    @Test("How many ended jobs are not over is told with the number, and where there may be more")
    func unfinished() {
        let rest = ": 'timerctl atq' has those that fire once, 'top' all"
        for (count, areMore, words) in [
            (1, false, "1 job that has ended has a command that waits or runs"),
            (2, false, "2 jobs that have ended have commands that wait or run"),
            (1, true, "at least 1 job that has ended has a command that waits or runs"),
        ] {
            #expect(List.unfinishedSentence(count, areMore: areMore) == words + rest)
        }
    }

    @Test("They are those that would be listed if they were live")
    func openRuns() throws {
        let tagged = try List.parse(["--tag", "t", "--owner", "ann"]).filter.openRuns
        #expect(tagged?.open == true && tagged?.tag == "t" && tagged?.owner == "ann")
        for arguments in [["--all"], ["--name", "x"], ["--search", "x"], ["--held"]] {
            #expect(try List.parse(arguments).filter.openRuns == nil, "\(arguments)")
        }
    }
}
