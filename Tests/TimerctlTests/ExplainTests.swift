// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import Testing

@testable import timerctl

@Suite("Explain") struct ExplainTests {
    private func explanation(_ arguments: [String]) throws -> Explanation {
        try Explain.parse(arguments).explanation(now: testNow, local: berlin)
    }

    @Test(
        "A bare schedule is of the kind that takes it",
        arguments: [
            ("0 9 * * 1-5", ScheduleKind.cron, "at 09:00 on Monday to Friday", "0 9 * * 1-5"),
            ("0 9 * * Mon-Fri", .cron, "at 09:00 on Monday to Friday", "0 9 * * 1-5"),
            ("0 0 l jan 5l", .cron, "", "0 0 L 1 5L"),
            ("@daily", .cron, "at 00:00 every day", "0 0 * * *"),
            ("@reboot", .cron, "once at each start of the machine", "@reboot"),
            (
                "Mon..Fri 09:00", .calendar, "at 09:00 on Monday to Friday",
                "Mon..Fri *-*-* 09:00:00"
            ),
            ("daily", .calendar, "at 00:00 every day", "*-*-* 00:00:00"),
            ("5s", .every, "every 5 seconds", "5s"),
            ("1h 30min", .every, "every 1 hour 30 minutes", "1h 30min"),
            (
                "tomorrow 09:00", .at, "once, at 2026-12-02 09:00:00 CET",
                "2026-12-02T08:00:00.000000Z"
            ),
        ]
    )
    func bare(text: String, kind: ScheduleKind, sentence: String, normalized: String) throws {
        let explanation = try explanation([text])
        #expect(explanation.kind == kind)
        #expect(explanation.sentence.hasPrefix(sentence))
        #expect(explanation.normalized == normalized)
    }

    @Test(
        "Where several kinds would take it, a note says which one it was",
        arguments: [
            ("09:00", "'09:00' is read as --calendar; --at would take it, too"),
            ("mon 09:00", "'mon 09:00' is read as --calendar; --at would take it, too"),
            ("5s", "'5s' is read as --every; --in would take it, too"),
            (
                "1 2 3 4 5",
                "'1 2 3 4 5' is read as --cron; --every and --in would take it, too"
            ),
            (
                "2026-12-24 18:00",
                "'2026-12-24 18:00' is read as --at; --calendar would take it, too"
            ),
            (
                "@1800000000",
                "'@1800000000' is read as --at; --calendar would take it, too"
            ),
            ("+10m", "'+10m' is read as --at; --every and --in would take it, too"),
        ]
    )
    func ambiguous(text: String, note: String) throws {
        #expect(try explanation([text]).notes == [note])
    }

    @Test("An only possible kind needs no note", arguments: ["daily", "0 9 * * 1-5", "@daily"])
    func certain(text: String) throws {
        #expect(try explanation([text]).notes.isEmpty)
    }

    @Test(
        "What no kind takes is refused by the kind that it looks like",
        arguments: [
            ("60 * * * *", ScheduleError.Code.badCron, "cron", "cron '60 * * * *': minute '60'"),
            ("@fortnightly", .badCron, "cron", "cron '@fortnightly' is unknown"),
            ("24:00", .badCalendar, "calendar", "calendar '24:00': hour '24' is not accepted"),
            ("Funday 10:00", .badCalendar, "calendar", "calendar 'Funday 10:00': word 'Funday'"),
            ("5 parsecs", .badDuration, "every", "duration '5 parsecs' has the unknown unit "),
            ("-5s", .badDuration, "every", "duration '-5s' is negative"),
            ("today", .badDate, "at", "date 'today' has no time"),
        ]
    )
    func refused(text: String, code: ScheduleError.Code, kind: String, message: String) {
        let error = #expect(throws: ScheduleError.self) { try explanation(["--", text]) }
        #expect(error?.code == code)
        let said = error?.message ?? ""
        #expect(said.hasPrefix(message) && said.hasSuffix(" (read as --\(kind))"), "\(said)")
    }

    @Test("An empty schedule is refused", arguments: ["", " "])
    func empty(text: String) {
        let error = #expect(throws: ScheduleError.self) { try explanation([text]) }
        #expect(error?.message.hasPrefix("the schedule is empty; try ") == true)
    }

    @Test("Several arguments are one schedule")
    func unquoted() throws {
        #expect(try explanation(["Mon..Fri", "09:00"]) == explanation(["Mon..Fri 09:00"]))
    }

    @Test("What the shell made of an unquoted star is refused with the reason")
    func expandedStar() {
        let error = #expect(throws: ScheduleError.self) {
            try explanation(["0", "9", "LICENSE", "README.md", "a", "b", "c", "1-5"])
        }
        #expect(error?.message.hasSuffix("; quote it, for the shell expands '*'") == true)
    }

    @Test("--from makes a bare schedule an interval")
    func grid() throws {
        let explanation = try explanation(["1h", "--from", "2026-12-01 08:30"])
        #expect(explanation.sentence == "every hour, on the grid of 2026-12-01 08:30:00 CET")
        #expect(explanation.notes.isEmpty)
        #expect(throws: ScheduleError.self) {
            try self.explanation(["daily", "--from", "2026-12-01 08:30"])
        }
    }

    @Test("An option says the kind, and a delay counts from now")
    func options() throws {
        #expect(try explanation(["--in", "90m"]).sentence == "once, 1 hour 30 minutes from now")
        #expect(try explanation(["--in", "90m"]).normalized == "1h 30min")
        #expect(try explanation(["--calendar", "09:00"]).notes.isEmpty)
        #expect(try explanation(["--at", "2020-01-01"]).notes == ["that date has passed"])
    }

    @Test("--json is one object with the sentence, the kind and the normalized form")
    func json() throws {
        #expect(
            try explanation(["Mon..Fri 09:00 UTC"]).json
                == #"{"explanation":"at 09:00 on Monday to Friday, UTC","kind":"calendar","#
                + #""normalized":"Mon..Fri *-*-* 09:00:00 UTC"}"# + "\n"
        )
    }

    @Test("Text is the sentence, with the normalized form of a calendar expression below it")
    func text() throws {
        #expect(try explanation(["5s"]).text == "every 5 seconds\n")
        #expect(
            try explanation(["daily UTC"]).text
                == "at 00:00 every day, UTC\nnormalized: *-*-* 00:00:00 UTC\n"
        )
    }

    @Test("A schedule is said once")
    func usage() {
        expectUsageError("--cron and '5s' exclude each other") {
            try Explain.parse(["5s", "--cron", "* * * * *"])
        }
        expectUsageError(
            "no schedule; give one, such as '0 9 * * 1-5', 5s or --at 'tomorrow 09:00'"
        ) {
            try Explain.parse([])
        }
    }

    @Test("A zone for a bare length of time is refused")
    func zone() {
        #expect(throws: ScheduleError(.badSchedule, "--tz goes with dates; '5s' has no zone")) {
            try explanation(["5s", "--tz", "UTC"])
        }
    }
}
