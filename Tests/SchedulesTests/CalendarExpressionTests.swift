// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing

@Suite("CalendarExpression") struct CalendarExpressionTests {
    private func dates(
        _ text: String,
        after date: String,
        count: Int = 3
    ) throws -> [String] {
        let schedule = Schedule.calendar(try CalendarExpression(parsing: text, zone: .utc))
        return nextDates(schedule, after: try instant(date), count: count).map(\.rfc3339)
    }

    @Test(
        "Days count from the month's end behind a tilde",
        arguments: [
            ("*-02~03", ["2026-02-26", "2027-02-26", "2028-02-27"]),
            ("*-*~1", ["2026-01-31", "2026-02-28", "2026-03-31"]),
            ("*-*~1..3/2", ["2026-01-29", "2026-01-31", "2026-02-26"]),
            ("Mon *-05~07/1", ["2026-05-25", "2027-05-31", "2028-05-29"]),
            ("*-*~28", ["2026-01-04", "2026-02-01", "2026-03-04"]),
        ]
    )
    func monthEnds(text: String, expected: [String]) throws {
        let dates = try dates(text, after: "2026-01-01T00:00:00Z")
        #expect(dates == expected.map { $0 + "T00:00:00.000000Z" })
    }

    @Test("Seconds go down to the microsecond")
    func microseconds() throws {
        #expect(
            try dates("*:*:59.999999", after: "2026-01-01T00:00:00Z", count: 2)
                == ["2026-01-01T00:00:59.999999Z", "2026-01-01T00:01:59.999999Z"]
        )
        #expect(
            try dates("12:00:0/0.25", after: "2026-01-01T12:00:59.5Z", count: 2)
                == ["2026-01-01T12:00:59.750000Z", "2026-01-02T12:00:00.000000Z"]
        )
        #expect(
            try dates("2026-01-01 00:00:00.000001", after: "2026-01-01T00:00:00Z")
                == ["2026-01-01T00:00:00.000001Z"]
        )
    }

    @Test("A zone in the expression goes before the one around it")
    func zones() throws {
        let berlin = try Zone(named: "Europe/Berlin")
        let expression = try CalendarExpression(parsing: "12:00 Asia/Tokyo", zone: berlin)
        #expect(expression.zone.name == "Asia/Tokyo")
        #expect(expression.normalized == "*-*-* 12:00:00 Asia/Tokyo")
        let plain = try CalendarExpression(parsing: "12:00", zone: berlin)
        #expect(plain.zone == berlin)
        #expect(plain.normalized == "*-*-* 12:00:00")
    }

    @Test("Years may be bounded, and then the dates end")
    func years() throws {
        #expect(
            try dates("2027..2028-02-29", after: "2026-01-01T00:00:00Z")
                == ["2028-02-29T00:00:00.000000Z"]
        )
        #expect(
            try dates("2199-12-31 23:59:59", after: "2026-01-01T00:00:00Z")
                == ["2199-12-31T23:59:59.000000Z"]
        )
        #expect(try dates("2025-*-*", after: "2026-01-01T00:00:00Z").isEmpty)
        #expect(try dates("*-02-30", after: "2026-01-01T00:00:00Z").isEmpty)
        #expect(
            try dates("2024/4-02-29", after: "2026-01-01T00:00:00Z", count: 1)
                == ["2028-02-29T00:00:00.000000Z"]
        )
    }

    @Test(
        "Errors name the expression and the part",
        arguments: [
            ("", "calendar '' is empty; try 'Mon..Fri 09:00' or 'daily'"),
            ("25:00", "calendar '25:00': hour '25' is not accepted; it takes 0 to 23"),
            ("10:60", "calendar '10:60': minute '60' is not accepted; it takes 0 to 59"),
            ("1:1:61.5", "calendar '1:1:61.5': second '61.500000' is not accepted; it takes 0 to "),
            ("*-13-01", "calendar '*-13-01': month '13' is not accepted; it takes 1 to 12"),
            ("1-0", "calendar '1-0': day of month '0' is not accepted; it takes 1 to 31"),
            ("*~29", "calendar '*~29': day before the month's end '29' is not accepted; it takes"),
            ("1969-1-1", "calendar '1969-1-1': year '1969' is not accepted; it takes 1970 to "),
            ("10:5..1", "calendar '10:5..1': minute '5..1' is not accepted; a range must rise"),
            (
                "5,8/30:00",
                "calendar '5,8/30:00': hour '8/30' is not accepted; its step must reach a "
            ),
            (
                "10:9/60",
                "calendar '10:9/60': minute '9/60' is not accepted; its step must reach a second "
            ),
            ("Mon..Fri..Sun", "calendar 'Mon..Fri..Sun': the weekdays are not accepted: "),
            (
                "Funday 10:00",
                "calendar 'Funday 10:00': word 'Funday' is not accepted; it takes Mon to Sun, min"
            ),
            ("every day", "calendar 'every day': word 'every' is not accepted; it takes Mon to "),
            (
                "weekly 10:00",
                "calendar 'weekly 10:00': word 'weekly' is not accepted; it stands alone, or "
            ),
            (
                "@daily",
                "calendar '@daily': the time is not accepted: a Unix time is '@' and seconds since "
                    + "1970; words such as 'daily' have no '@'"
            ),
            (
                "12:00 Mars/Base",
                "calendar '12:00 Mars/Base': zone 'Mars/Base' is unknown; accepted are 'UTC' and "
            ),
            ("*-*-* jan23:7", "calendar '*-*-* jan23:7': zone 'jan23:7' is unknown; "),
            ("daily UTC+2", "calendar 'daily UTC+2': zone 'UTC+2' could be east or west of "),
            (
                "12:00:0/0.001",
                "calendar '12:00:0/0.001': the time is not accepted: a step is at "
            ),
            (
                "2026-12-01T12:00",
                "calendar '2026-12-01T12:00': the date is not accepted: a blank, not 'T', "
            ),
            ("@1 Europe/Berlin", "calendar '@1 Europe/Berlin': a Unix time has no zone but UTC"),
        ]
    )
    func errors(text: String, message: String) {
        let error = #expect(throws: ScheduleError.self) {
            try CalendarExpression(parsing: text, zone: .utc)
        }
        #expect(error?.code == .badCalendar)
        #expect(error?.message.hasPrefix(message) == true, "\(error?.message ?? "")")
    }

    @Test("A list has at most 240 entries")
    func longList() throws {
        let most = Array(repeating: "7", count: 240).joined(separator: ",")
        _ = try CalendarExpression(parsing: "12:\(most)", zone: .utc)
        #expect(throws: ScheduleError.self) {
            try CalendarExpression(parsing: "12:\(most),7", zone: .utc)
        }
    }
}
