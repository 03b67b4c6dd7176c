// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing

@Suite("DateExpression") struct DateExpressionTests {
    /// A Wednesday, 10:30 in Berlin.
    private static let now = "2026-03-25T09:30:00Z"

    @Test(
        "The dates of design.md",
        arguments: [
            ("2026-12-01T09:00:00+01:00", "2026-12-01T08:00:00Z"),
            ("2026-12-01 09:00", "2026-12-01T08:00:00Z"),
            ("2026-12-01 09:00:30", "2026-12-01T08:00:30Z"),
            ("2026-12-01 09:00:30.5", "2026-12-01T08:00:30.5Z"),
            ("2026-12-01T09:00", "2026-12-01T08:00:00Z"),
            ("2026-12-01 09:00 UTC", "2026-12-01T09:00:00Z"),
            ("2026-12-01 09:00 America/New_York", "2026-12-01T14:00:00Z"),
            ("2026-12-01 09:00 +05:30", "2026-12-01T03:30:00Z"),
            ("2026-12-01 09:00Z", "2026-12-01T09:00:00Z"),
            ("2026-12-01", "2026-11-30T23:00:00Z"),
            ("10:31", "2026-03-25T09:31:00Z"),
            ("10:30", "2026-03-26T09:30:00Z"),
            ("9:00", "2026-03-26T08:00:00Z"),
            ("09:00 Asia/Tokyo", "2026-03-26T00:00:00Z"),
            ("today 09:00", "2026-03-25T08:00:00Z"),
            ("tomorrow 09:00", "2026-03-26T08:00:00Z"),
            ("09:00 tomorrow", "2026-03-26T08:00:00Z"),
            ("yesterday 09:00", "2026-03-24T08:00:00Z"),
            ("mon 09:00", "2026-03-30T07:00:00Z"),
            ("Wednesday 10:31", "2026-03-25T09:31:00Z"),
            ("wed 10:30", "2026-04-01T08:30:00Z"),
            ("Wed 2026-03-25 12:00", "2026-03-25T11:00:00Z"),
            ("+10m", "2026-03-25T09:40:00Z"), ("+ 1h 30min", "2026-03-25T11:00:00Z"),
            ("now", "2026-03-25T09:30:00Z"), ("now + 10m", "2026-03-25T09:40:00Z"),
            ("NOW+1d", "2026-03-26T09:30:00Z"),
            ("@1700000000", "2023-11-14T22:13:20Z"), ("@1700000000.5", "2023-11-14T22:13:20.5Z"),
            ("  tomorrow   09:00  ", "2026-03-26T08:00:00Z"),
        ]
    )
    func accepted(text: String, expected: String) throws {
        let zone = try Zone(named: "Europe/Berlin")
        let (date, note) = try DateExpression.parse(text, now: instant(Self.now), zone: zone)
        #expect(date == (try instant(expected)))
        #expect(note == nil)
    }

    @Test(
        "Local times that do not exist or come twice are chosen by the rule, with a note",
        arguments: [
            (
                "2026-03-29 02:30", "2026-03-29T01:00:00Z",
                "2026-03-29 02:30:00 does not exist in Europe/Berlin; "
                    + "it becomes 2026-03-29 03:00:00 CEST"
            ),
            (
                "2026-10-25 02:30", "2026-10-25T00:30:00Z",
                "2026-10-25 02:30:00 comes twice in Europe/Berlin; "
                    + "it becomes the first, 2026-10-25 02:30:00 CEST"
            ),
            ("2026-10-25 02:30 CEST", "2026-10-25T00:30:00Z", nil),
            ("2026-10-25 02:30 CET", "2026-10-25T01:30:00Z", nil),
            ("2026-12-01 09:00 EET", "2026-12-01T07:00:00Z", nil),
            ("2026-07-01 09:00 EST", "2026-07-01T14:00:00Z", nil),
            (
                "2026-07-01 09:00 EET", "2026-07-01T06:00:00Z",
                "'EET' is a zone with summer time; the date is 2026-07-01 09:00:00 EEST"
            ),
            (
                "2026-07-01 09:00 CET", "2026-07-01T07:00:00Z",
                "'CET' is a zone with summer time; the date is 2026-07-01 09:00:00 CEST"
            ),
            (
                "+1 month", "2026-04-24T20:00:00Z",
                "'+1 month' counts 30.4375 days as a month and 365.25 as a year"
            ),
            ("+2 days", "2026-03-27T09:30:00Z", nil),
        ]
    )
    func noted(text: String, expected: String, note: String?) throws {
        let zone = try Zone(named: "Europe/Berlin")
        let result = try DateExpression.parse(text, now: instant(Self.now), zone: zone)
        #expect(result.date == (try instant(expected)))
        #expect(result.note == note)
    }

    @Test(
        "Everything else is refused with a reason",
        arguments: [
            ("", "a date must not be empty"), ("   ", "a date must not be empty"),
            (
                "9999-12-31 23:59:59 -10:00",
                "date '9999-12-31 23:59:59 -10:00' is too far away; the last one is '9999-12-31T23:59:59.999999Z'"
            ),
            ("2026-04-31 10:00", "date '2026-04-31 10:00': there is no day '2026-04-31'"),
            ("2026-02-29", "date '2026-02-29': there is no day '2026-02-29'"),
            ("24:00", "date '24:00': there is no time '24:00'; times are 00:00 to 23:59:59"),
            ("10:60", "date '10:60': there is no time '10:60'"),
            ("tomorrow", "date 'tomorrow' has no time; try 'tomorrow 09:00'"),
            ("mon", "date 'mon' has no time; try 'mon 09:00'"),
            ("Mon 2026-03-25 12:00", "date 'Mon 2026-03-25 12:00': that day is not a Monday"),
            ("next monday", "date 'next monday' is not understood; accepted are RFC 3339, "),
            ("noon", "date 'noon' is not understood"), ("9am", "date '9am' is not understood"),
            ("26-12-01 09:00", "date '26-12-01 09:00' is not understood"),
            ("09:00 10:00", "date '09:00 10:00' is not understood"),
            ("today tomorrow 09:00", "date 'today tomorrow 09:00' is not understood"),
            ("09:00 UTC tomorrow", "date '09:00 UTC tomorrow' is not understood"),
            ("09:00 Mars/Base", "zone 'Mars/Base' is unknown"),
            ("09:00 jan23", "zone 'jan23' is unknown"),
            ("2026-12-01 09:00 UTC+2", "zone 'UTC+2' could be east or west of Greenwich; "),
            ("1969-12-31 UTC", "date '1969-12-31 UTC' lies before 1970"),
            ("@-1", "date '@-1' is not a Unix time"), ("@1e9", "date '@1e9' is not a Unix time"),
            ("-5s", "date '-5s' is not understood"), ("+200y", "date '+200y' is too far away"),
            ("++5s", "date '++5s' is not a distance"),
            ("+5q", "duration '5q' has the unknown unit"),
        ]
    )
    func refused(text: String, message: String) throws {
        let zone = try Zone(named: "Europe/Berlin")
        let error = #expect(throws: ScheduleError.self) {
            try DateExpression.parse(text, now: instant(Self.now), zone: zone)
        }
        #expect(error?.message.hasPrefix(message) == true, "\(error?.message ?? "")")
    }

    @Test("A weekday that a zone skipped is the first instant after it")
    func skippedDay() throws {
        // Apia had no Friday, 30 December 2011.
        let zone = try Zone(named: "Pacific/Apia")
        let (date, note) = try DateExpression.parse(
            "fri 09:00",
            now: instant("2011-12-28T00:00:00Z"),
            zone: zone
        )
        #expect(zone.localTime(at: date).description == "2011-12-31 00:00:00")
        #expect(note?.contains("does not exist") == true)
    }
}
