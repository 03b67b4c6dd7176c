// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import Testing
import TimerControl

@testable import timerctl

@Suite("List") struct ListTests {
    @Test("Jobs read well below each other")
    func table() {
        let jobs = [
            job(1) {
                $0.definition.name = "heartbeat"
                $0.definition.command = ["curl", "-fsS", "http://localhost/ping"]
                $0.fires = 1234
            },
            job(2, schedule: ScheduleWords(in: "30m")) {
                $0.fireDate = testNow + .seconds(240)
                $0.definition.userInfo = .object(["text": .string("stand up")])
            },
            job(3, schedule: ScheduleWords(at: "2026-12-01T07:59:57.000000Z")) {
                $0.fireDate = testNow - .seconds(3)
                $0.definition.name = "late"
            },
            job(10, schedule: ScheduleWords(every: "1d", from: "2026-12-24T17:00:00.000000Z")) {
                $0.state = .paused
                $0.definition.name = "東京"
                $0.definition.command = ["sh", "-c", "date >> /tmp/d"]
            },
        ]
        #expect(
            List.table(of: jobs, dates: testDates).text(for: .plain) == """
                ID  NAME       STATE      NEXT FIRE  SCHEDULE                               FIRES  COMMAND
                 1  heartbeat  scheduled  in 5 s     every 5s                                1234  curl -fsS http://localhost/ping
                 2  -          scheduled  in 4 min   in 30m                                     0  (event) {"text":"stand up"}
                 3  late       scheduled  3 s ago    at 2026-12-01 08:59:57 CET                 0  (event)
                10  東京       paused     -          every 1d from 2026-12-24 18:00:00 CET      0  sh -c 'date >> /tmp/d'

                """
        )
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
        #expect(try List.parse([]).request() == expected)
        expected.tag = "t"
        expected.state = .paused
        #expect(try List.parse(["--tag", "t", "--state", "paused"]).request() == expected)
        expected.state = .finished
        expected.all = true
        #expect(try List.parse(["--tag", "t", "--state", "finished"]).request() == expected)
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
        #expect(try List.parse(arguments).emptySentence == sentence)
    }
}
