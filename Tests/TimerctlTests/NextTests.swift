// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import Testing

@testable import timerctl

@Suite("Next") struct NextTests {
    private func preview(_ arguments: [String]) throws -> Preview {
        try Next.parse(arguments).preview(now: testNow, local: berlin)
    }

    @Test(
        "Coming dates are those a job added now would have",
        arguments: [
            (["--in", "5s"], ["08:00:05"]),
            (["--at", "09:30"], ["08:30:00"]),
            (["--every", "20s", "-n1"], ["08:00:20"]),
            (["--every", "20s", "-n", "3"], ["08:00:20", "08:00:40", "08:01:00"]),
            (["--every", "1h", "--from", "08:30", "-n", "2"], ["07:30:00", "08:30:00"]),
            (
                ["--every", "1h", "--from", "2026-12-01 08:30", "-n", "2"],
                ["08:30:00", "09:30:00"]
            ),
            (
                ["--every", "1h", "--after", "2026-12-02 12:00", "-n", "2"],
                ["12:00:00", "13:00:00"]
            ),
        ]
    )
    func dates(arguments: [String], times: [String]) throws {
        let dates = try preview(arguments).dates.map { $0.date.rfc3339.dropFirst(11).prefix(8) }
        #expect(dates.map(String.init) == times)
    }

    @Test("--json is one object with the dates in UTC")
    func json() throws {
        #expect(
            try preview(["--every", "20s", "-n", "2"]).json
                == #"{"fireDates":["2026-12-01T08:00:20.000000Z","2026-12-01T08:00:40.000000Z"]}"#
                + "\n"
        )
    }

    @Test("A table shows the local time, UTC and the distance")
    func table() throws {
        #expect(
            try preview(["--at", "2026-12-24 18:00"]).text(for: .plain) == """
                LOCAL TIME                   UTC                  DISTANCE
                Thu 2026-12-24 18:00:00 CET  2026-12-24 17:00:00  in 23 days

                """
        )
    }

    @Test("A date that a clock change moved is marked")
    func moved() {
        let fire = Preview.FireDate(date: testNow, isMoved: true)
        let text = Preview(dates: [fire], notes: [], local: testDates).text(for: .plain)
        #expect(text.hasSuffix("now  moved by a clock change\n"))
    }

    @Test("A bare schedule is of the kind that takes it")
    func bare() throws {
        let dates = try preview(["Mon..Fri", "09:00", "-n", "2"]).dates.map(\.date)
        #expect(dates == [date("2026-12-02T08:00:00Z"), date("2026-12-03T08:00:00Z")])
        #expect(try preview(["0 9 * * 1-5", "-n", "2"]).dates.map(\.date) == dates)
        #expect(try preview(["5s"]).notes == ["'5s' is read as --every; --in would take it, too"])
    }

    @Test("A local time that comes twice is marked")
    func repeated() throws {
        let text = try preview(["0 * * * *", "--after", "2027-10-31 01:30 CEST", "-n", "3"])
            .text(for: .plain)
        #expect(
            text == """
                LOCAL TIME                    UTC                  DISTANCE
                Sun 2027-10-31 02:00:00 CEST  2027-10-31 00:00:00  in 30 min  first 02:00:00 of two
                Sun 2027-10-31 02:00:00 CET   2027-10-31 01:00:00  in 90 min  second 02:00:00 of two
                Sun 2027-10-31 03:00:00 CET   2027-10-31 02:00:00  in 3 h

                """
        )
    }

    @Test("An expression with a zone of its own is shown on that zone's clock")
    func ownZone() throws {
        let text = try preview(["--calendar", "daily UTC", "-n", "1"]).text(for: .plain)
        #expect(text.contains("Wed 2026-12-02 00:00:00 UTC  2026-12-02 00:00:00  in 16 h"))
    }

    @Test("A start of the machine has no dates, and a note says so")
    func reboot() throws {
        let preview = try preview(["@reboot"])
        #expect(preview.json == "{\"fireDates\":[]}\n")
        #expect(preview.text(for: .plain).isEmpty)
        #expect(preview.notes.count == 1)
    }

    @Test("A local time that does not exist comes with a note")
    func note() throws {
        #expect(try preview(["--at", "2027-03-28 02:30"]).notes.count == 1)
    }

    @Test(
        "A schedule without a coming date is refused",
        arguments: [["--at", "2026-01-01"], ["--at", "09:30", "--after", "x"]]
    )
    func refused(arguments: [String]) {
        #expect(throws: ScheduleError.self) { try preview(arguments) }
    }

    @Test("A number of dates below 1 or above a million is wrong usage")
    func number() {
        for number in ["0", "-1", "1000001"] {
            expectUsageError("-n \(number) is not a number from 1 to 1000000") {
                try Next.parse(["--every", "5s", "-n", number])
            }
        }
    }
}
