// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import timerctl

@Suite("Agenda") struct AgendaTests {
    private static func named(
        _ id: Int64,
        _ name: String?,
        _ words: ScheduleWords,
        in span: TimeSpan,
        change: (inout Job) -> Void = { _ in }
    ) -> Job {
        job(id, schedule: words) {
            ($0.definition.name, $0.definition.command) = (name, ["run", "\(id)"])
            $0.fireDate = testNow + span
            change(&$0)
        }
    }

    private static let hour = TimeSpan.seconds(3600)
    private static let jobs = [
        named(1, "often", ScheduleWords(every: "5min"), in: .seconds(300)),
        named(2, "thrice", ScheduleWords(every: "8h"), in: hour),
        named(3, nil, ScheduleWords(at: "2026-12-01T10:00:00Z"), in: .seconds(7200)),
        named(4, "later", ScheduleWords(at: "2026-12-03T10:00:00Z"), in: .seconds(180_000)),
        named(5, "held", ScheduleWords(every: "8h"), in: hour) { $0.held = "no such user" },
        named(6, "paused", ScheduleWords(every: "8h"), in: .seconds(-60)) { $0.state = .paused },
        // Its date has come; it waits for its turn.
        named(7, "overdue", ScheduleWords(at: "2026-12-01T07:59:00Z"), in: .seconds(-60)),
        named(8, "always", ScheduleWords(every: "1s"), in: .seconds(1)),
    ]

    private func lines(each: Int = 6) -> [AgendaLine] {
        AgendaLine.lines(
            of: Self.jobs,
            testDates,
            until: testNow + .seconds(86_400),
            each: each
        )
    }

    @Test("All dates come in the order of time; who fires often has one line, with how often")
    func table() {
        #expect(
            Agenda.table(of: lines(), dates: testDates).text(for: .plain) == """
                DATE                                JOB  NAME     TIMES                                     COMMAND
                Tue 2026-12-01 08:59:00  60 s ago     7  overdue                                            run 7
                Tue 2026-12-01 09:00:01  in 1 s       8  always   more than 1000 times                      run 8
                Tue 2026-12-01 09:05:00  in 5 min     1  often    288 times, the last tomorrow at 09:00:00  run 1
                Tue 2026-12-01 10:00:00  in 60 min    2  thrice                                             run 2
                Tue 2026-12-01 11:00:00  in 2 h       3  -                                                  run 3
                Tue 2026-12-01 18:00:00  in 9 h       2  thrice                                             run 2
                Wed 2026-12-02 02:00:00  in 17 h      2  thrice                                             run 2

                """
        )
    }

    @Test("Jobs that would have a date by then, and are paused or held, are counted")
    func silence() {
        let end = testNow + .seconds(86_400)
        var silence = AgendaSilence()
        #expect(silence.sentence == nil)
        silence.read(Self.jobs, until: end)
        let one = silence.sentence
        #expect(
            one == "1 paused job and 1 held job are due by then, and fire nothing as it stands: "
                + "'timerctl list' shows which"
        )
        let far = Self.named(9, "far", ScheduleWords(every: "8h"), in: .seconds(90_000)) {
            $0.state = .paused
        }
        silence.read([far, job { $0.state = .finished }], until: end)
        #expect(silence.sentence == one, "that one would not fire by then, this one has ended")
        silence = AgendaSilence(paused: 1, areMore: true)
        #expect(
            silence.sentence?.hasPrefix("at least 1 paused job is due by then, and fires nothing")
                == true
        )
    }

    @Test("Whose the jobs are is told where they are several users'")
    func owners() {
        let jobs = [
            Self.named(1, "backup", ScheduleWords(at: "2026-12-01T09:00:00Z"), in: Self.hour),
            Self.named(2, "backup", ScheduleWords(at: "2026-12-01T10:00:00Z"), in: .seconds(7200)) {
                $0.owner = "ben"
            },
        ]
        let lines = AgendaLine.lines(
            of: jobs,
            testDates,
            until: testNow + .seconds(86_400),
            each: 6
        )
        #expect(
            Agenda.table(of: lines, dates: testDates).text(for: .plain) == """
                DATE                                JOB  OWNER  NAME    COMMAND
                Tue 2026-12-01 10:00:00  in 60 min    1  anna   backup  run 1
                Tue 2026-12-01 11:00:00  in 2 h       2  ben    backup  run 2

                """
        )
        #expect(lines.last?.json["owner"] == .string("ben"))
    }

    @Test("A fire that jitter puts off beyond now comes when it is due, though its date has passed")
    func putOff() {
        let due = testNow + .seconds(420)
        let once = Self.named(
            1,
            "once",
            ScheduleWords(at: "2026-12-01T07:59:00Z"),
            in: .seconds(-60)
        ) {
            $0.dueDate = due
        }
        #expect(once.comingDates(testDates, atMost: 5) == [due])
        #expect(once.comingDates(testDates, until: due - .seconds(1), atMost: 5).isEmpty)
        let hourly = Self.named(2, "hourly", ScheduleWords(every: "1h"), in: .seconds(-60)) {
            $0.dueDate = due
        }
        #expect(
            hourly.comingDates(testDates, atMost: 2) == [due, testNow - .seconds(60) + Self.hour]
        )
    }

    @Test("The next fire of a job with jitter comes when it is due, as in a list")
    func ahead() {
        let due = testNow + .seconds(3000)
        let hourly = Self.named(1, "hourly", ScheduleWords(every: "1h"), in: .seconds(300)) {
            $0.dueDate = due
        }
        #expect(hourly.nextFire == due)
        #expect(
            hourly.comingDates(testDates, atMost: 2) == [due, testNow + .seconds(300) + Self.hour]
        )
        #expect(hourly.comingDates(testDates, until: due - .seconds(1), atMost: 2).isEmpty)
    }

    @Test("Who has jitter is told that it is left out of the dates, but for the next one of a job")
    func jitterNote() {
        var definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
        for none in [nil, "0s"] {
            definition.jitter = none
            #expect(definition.jitterNote(hasNext: true) == nil)
        }
        definition.jitter = "5min"
        let words = "are without jitter, which puts off each by less than 5min"
        #expect(definition.jitterNote(hasNext: true) == "dates behind the first \(words)")
        #expect(definition.jitterNote(hasNext: false) == "these dates \(words)")
    }

    @Test("Each date has its line where it is asked for, and what was not counted is said")
    func each() {
        let all = lines(each: 500)
        #expect(all.count { $0.job == JobID(rawValue: 1) } == 288)
        let always = all.filter { $0.job == JobID(rawValue: 8) }
        #expect(always.count == 1)
        #expect(always.first?.times(testDates) == "more than 1000 times")
        #expect(always.first?.json["isCut"] == .bool(true))
        // Without a line for each date, one that fires once says so.
        let once = lines(each: 0).first { $0.job == JobID(rawValue: 3) }
        #expect(once?.times(testDates) == "once")
    }

    @Test("How far ahead, and how many lines a job may have, are checked")
    func refusals() throws {
        #expect(try Agenda.parse(["--next", "7d"]).next == .seconds(7 * 86_400))
        expectUsageError("--next '2y' is no duration from 1s to 366d") {
            try Agenda.parse(["--next", "2y"])
        }
        expectUsageError("--each -1 is not a number from 0 to 1000") {
            try Agenda.parse(["--each=-1"])
        }
        var expected = ListJobs()
        (expected.tag, expected.owner) = ("t", "ann")
        (expected.order, expected.limit) = (.nextFire, 1000)
        #expect(try Agenda.parse(["--tag", "t", "--owner", "ann"]).request() == expected)
    }

    @Test("Dates ahead that were dropped are none to come where the job's rows are known")
    func dropped() {
        let hour = Self.hour
        let hourly = Self.named(1, "hourly", ScheduleWords(every: "1h"), in: hour)
        var rows: [Run] = []
        for (first, last, reason) in [(2, 3, .skip), (5, 5, .skip), (6, 6, .moved)]
            as [(Int64, Int64, FireReason)]
        {
            rows.append(
                run(.skipped) {
                    ($0.fireDate, $0.reason) = (testNow + .seconds(3600 * first), reason)
                    $0.through = last > first ? testNow + .seconds(3600 * last) : nil
                }
            )
        }
        // By hand a date of the schedule is not taken, even at the same instant.
        rows.append(
            run(.fired) { ($0.fireDate, $0.reason) = (testNow + .seconds(3600 * 4), .manual) }
        )
        // A row of the grid that the job had before it was moved as a whole.
        var other = rows[1]
        other.fireDate = testNow + .seconds(3600 * 3 + 60)
        other.through = testNow + .seconds(3600 * 9 + 60)
        let coming = hourly.comingDates(testDates, atMost: 4, without: rows + [other])
        #expect(coming == [1, 4, 7, 8].map { testNow + .seconds(3600 * $0) })
        #expect(hourly.comingDates(testDates, atMost: 3).last == testNow + hour + hour + hour)
        let lines = AgendaLine.lines(
            of: [hourly],
            testDates,
            until: testNow + .seconds(3600 * 7),
            each: 6,
            without: [hourly.id: rows + [other]]
        )
        #expect(lines.map(\.date) == [1, 4, 7].map { testNow + .seconds(3600 * $0) })
    }
}
