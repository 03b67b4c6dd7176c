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
            ("2026-12-01t09:00", "2026-12-01T08:00:00Z"),
            ("2026-12-01 09:00 UTC", "2026-12-01T09:00:00Z"),
            ("2026-12-01 09:00 America/New_York", "2026-12-01T14:00:00Z"),
            ("2026-12-01 09:00 +05:30", "2026-12-01T03:30:00Z"),
            ("2026-12-01 09:00Z", "2026-12-01T09:00:00Z"),
            ("2026-12-01", "2026-11-30T23:00:00Z"),
            ("10:31", "2026-03-25T09:31:00Z"),
            ("10:30", "2026-03-26T09:30:00Z"),
            ("9:00", "2026-03-26T08:00:00Z"),
            // As at(1) has them.
            ("9.00", "2026-03-26T08:00:00Z"), ("09,00", "2026-03-26T08:00:00Z"),
            ("9h00", "2026-03-26T08:00:00Z"), ("9'00", "2026-03-26T08:00:00Z"),
            ("9.30pm", "2026-03-25T20:30:00Z"), ("9.30 pm", "2026-03-25T20:30:00Z"),
            ("9.30 24.12.2026", "2026-12-24T08:30:00Z"), ("9.30 UTC", "2026-03-26T09:30:00Z"),
            ("9.00 tomorrow + 2 hours", "2026-03-26T10:00:00Z"),
            ("09:00 Asia/Tokyo", "2026-03-26T00:00:00Z"),
            ("today 09:00", "2026-03-25T08:00:00Z"),
            ("tomorrow 09:00", "2026-03-26T08:00:00Z"),
            ("09:00 tomorrow", "2026-03-26T08:00:00Z"),
            ("yesterday 09:00", "2026-03-24T08:00:00Z"),
            ("mon 09:00", "2026-03-30T07:00:00Z"),
            ("Wednesday 10:31", "2026-03-25T09:31:00Z"),
            ("wed 10:30", "2026-04-01T08:30:00Z"),
            ("Wed 2026-03-25 12:00", "2026-03-25T11:00:00Z"),
            ("+10m", "2026-03-25T09:40:00Z"), ("+10H", "2026-03-25T19:30:00Z"),
            ("+ 1h 30min", "2026-03-25T11:00:00Z"),
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

    @Test("A day that some months do not have is sought in those to come")
    func monthsFromDay() throws {
        let zone = try Zone(named: "Europe/Berlin")
        func date(_ now: String) throws(ScheduleError) -> Timestamp {
            let now = Timestamp(rfc3339: now) ?? .distantPast
            return try DateExpression.parse("Jan 29 10:00 + 1 month", now: now, zone: zone).date
        }
        let leapDay = Timestamp(rfc3339: "2028-02-29T09:00:00Z")
        #expect(try date("2027-03-01T09:30:00Z") == leapDay)
        #expect(try date("2028-02-29T08:30:00Z") == leapDay)
        // That of this month would be meant.
        let error = #expect(throws: ScheduleError.self) { try date("2027-02-01T09:30:00Z") }
        #expect(error?.message.hasSuffix("February 2027 has no day 29") == true)
    }

    @Test(
        "The dates of at(1)",
        arguments: [
            ("noon", "2026-03-25T11:00:00Z"), ("midnight", "2026-03-25T23:00:00Z"),
            ("teatime", "2026-03-25T15:00:00Z"), ("Noon Tomorrow", "2026-03-26T11:00:00Z"),
            ("tomorrow noon", "2026-03-26T11:00:00Z"), ("4pm", "2026-03-25T15:00:00Z"),
            ("4 PM", "2026-03-25T15:00:00Z"), ("10:15am", "2026-03-26T09:15:00Z"),
            ("12am", "2026-03-25T23:00:00Z"), ("12 pm", "2026-03-25T11:00:00Z"),
            ("1630", "2026-03-25T15:30:00Z"), ("0530 tomorrow", "2026-03-26T04:30:00Z"),
            // The clocks go forward on the 29th: it stays 4 in the afternoon.
            ("4pm + 5 days", "2026-03-30T14:00:00Z"), ("4pm +1 week", "2026-04-01T14:00:00Z"),
            ("9am + 3 days", "2026-03-28T08:00:00Z"),
            ("16:00 + 2 hours", "2026-03-25T17:00:00Z"), ("9:00 +2h", "2026-03-25T10:00:00Z"),
            ("9:00 +02 hours", "2026-03-25T10:00:00Z"), ("10:00 +05", "2026-03-26T05:00:00Z"),
            ("now + 1 month", "2026-04-25T08:30:00Z"), ("now + 2 years", "2028-03-25T09:30:00Z"),
            ("now + 3 days", "2026-03-28T09:30:00Z"), ("NOW + 2 HOURS", "2026-03-25T11:30:00Z"),
            ("next friday 09:00", "2026-03-27T08:00:00Z"),
            ("next wed 11:00", "2026-04-01T09:00:00Z"), ("4pm next day", "2026-03-26T15:00:00Z"),
            ("10:00 next month", "2026-04-25T08:00:00Z"),
            ("10:00 12242026", "2026-12-24T09:00:00Z"), ("10:00+1day", "2026-03-26T09:00:00Z"),
            ("4pm+3days", "2026-03-28T15:00:00Z"), ("1630+5minutes", "2026-03-25T15:35:00Z"),
            ("0157+0MINUTE", "2026-03-26T00:57:00Z"),
            ("10:00+02:00", "2026-03-26T08:00:00Z"),
            ("next year 10:00", "2027-03-25T09:00:00Z"), ("next hour", "2026-03-25T10:30:00Z"),
            ("Dec 24 10:00", "2026-12-24T09:00:00Z"), ("10:00 24 December", "2026-12-24T09:00:00Z"),
            ("Jan 24 10:00", "2027-01-24T09:00:00Z"), ("10am Feb 29", "2028-02-29T09:00:00Z"),
            ("Dec 24 2027 10:00", "2027-12-24T09:00:00Z"),
            ("10:00 Dec 24, 2027", "2027-12-24T09:00:00Z"),
            ("10:00 24.12.2026", "2026-12-24T09:00:00Z"),
            ("12/24/2026 10am", "2026-12-24T09:00:00Z"),
            ("09:00 UTC tomorrow", "2026-03-26T09:00:00Z"),
            ("31.01.2027 10:00 + 2 months", "2027-03-31T08:00:00Z"),
            // However it is spelled, and in whatever parts it comes.
            ("4pm +1month", "2026-04-25T14:00:00Z"), ("4pm +1MONTH", "2026-04-25T14:00:00Z"),
            ("4pm + 1M", "2026-04-25T14:00:00Z"), ("4pm + 5d", "2026-03-30T14:00:00Z"),
            ("4pm + 1 month 1 day", "2026-04-26T14:00:00Z"),
            ("4pm + 1 day 2h", "2026-03-26T17:00:00Z"),
            ("now + 1 month 2 days", "2026-04-27T08:30:00Z"), ("now +1M", "2026-04-25T08:30:00Z"),
        ]
    )
    func datesOfAt(text: String, expected: String) throws {
        let zone = try Zone(named: "Europe/Berlin")
        let (date, note) = try DateExpression.parse(text, now: instant(Self.now), zone: zone)
        #expect(date == (try instant(expected)), "\(date)")
        #expect(note == nil)
    }

    @Test(
        "A day by its word, without a time, is at this time of day, and the note says so",
        arguments: [
            ("tomorrow", "2026-03-26"), ("next friday", "2026-03-27"), ("wed", "2026-04-01"),
            ("next week", "2026-04-01"), ("dec 24", "2026-12-24"), ("24.12.2026", "2026-12-24"),
            ("today + 3 days", "2026-03-28"), ("wed + 2 days", "2026-04-03"),
            ("mar 26", "2026-03-26"), ("mar 25 + 2 days", "2026-03-27"),
        ]
    )
    func timeOfNow(text: String, day: String) throws {
        let zone = try Zone(named: "Europe/Berlin")
        let result = try DateExpression.parse(text, now: instant(Self.now), zone: zone)
        #expect(zone.localTime(at: result.date).description == "\(day) 10:30:00")
        #expect(result.note == "'\(text)' has no time; it is this time of day, \(day) 10:30:00")
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
        "The next time of day is the second of two once the first has passed",
        arguments: [
            // 02:20 and 02:40 come twice on this Sunday: it is between the two, and behind both.
            ("02:30", "2026-10-25T01:20:00Z", "2026-10-25T01:30:00Z", "second"),
            ("sun 02:30", "2026-10-25T01:20:00Z", "2026-10-25T01:30:00Z", "second"),
            ("Oct 25 02:30", "2026-10-25T01:20:00Z", "2026-10-25T01:30:00Z", "second"),
            ("02:30 + 5 minutes", "2026-10-25T00:50:00Z", "2026-10-25T01:35:00Z", "second"),
            ("02:30 + 5 minutes", "2026-10-25T00:34:00Z", "2026-10-25T00:35:00Z", "first"),
            ("02:30", "2026-10-25T00:20:00Z", "2026-10-25T00:30:00Z", "first"),
            ("02:30", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "second"),
            ("02:30", "2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z", nil),
            ("sun 02:30", "2026-10-25T01:40:00Z", "2026-11-01T01:30:00Z", nil),
            // A day that is given is meant by the rule, even where that has passed.
            ("today 02:30", "2026-10-25T01:20:00Z", "2026-10-25T00:30:00Z", "first"),
            ("2026-10-25 02:30", "2026-10-25T01:20:00Z", "2026-10-25T00:30:00Z", "first"),
        ]
    )
    func nextOfTwo(text: String, now: String, expected: String, which: String?) throws {
        let zone = try Zone(named: "Europe/Berlin")
        let result = try DateExpression.parse(text, now: instant(now), zone: zone)
        #expect(result.date == (try instant(expected)))
        let words = [
            "first": "it becomes the first, 2026-10-25 02:30:00 CEST",
            "second":
                "the first has passed, and it becomes the second, 2026-10-25 02:30:00 CET",
        ]
        let choice = which.flatMap { words[$0] }
        #expect(
            result.note == choice.map { "2026-10-25 02:30:00 comes twice in Europe/Berlin; \($0)" }
        )
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
            ("today", "date 'today' has no time; try 'today 09:00'"),
            ("Mar 25", "date 'Mar 25' has no time; try 'Mar 25 09:00'"),
            ("Mar 25 2026", "date 'Mar 25 2026' has no time; try 'Mar 25 2026 09:00'"),
            ("25.03.2026", "date '25.03.2026' has no time; try '25.03.2026 09:00'"),
            ("03/25/2026", "date '03/25/2026' has no time; try '03/25/2026 09:00'"),
            ("yesterday", "date 'yesterday' has no time; try 'yesterday 09:00'"),
            ("Mon 2026-03-25 12:00", "date 'Mon 2026-03-25 12:00': that day is not a Monday"),
            ("next one", "date 'next one' is not understood; accepted are RFC 3339, "),
            ("next", "date 'next' is not understood"), ("dec", "date 'dec' is not understood"),
            ("noon 4pm", "date 'noon 4pm' is not understood"),
            ("tonight", "date 'tonight' is not understood"),
            ("now tomorrow", "date 'now tomorrow' is not understood"),
            ("13pm", "date '13pm': there is no time '13pm'; times are 1am to 12pm"),
            ("0am", "date '0am': there is no time '0am'"),
            ("2400", "date '2400': there is no time '2400'; times are 00:00 to 23:59:59"),
            ("4pm Feb 30", "date '4pm Feb 30': February has no day 30"),
            ("Dec 32 2026", "date 'Dec 32 2026': there is no day 'December 32 2026'"),
            ("31.11.2026", "date '31.11.2026': there is no day '31.11.2026'"),
            ("24.12.26", "date '24.12.26': '26' is no year, which has four digits"),
            ("10am 12/24/26", "date '10am 12/24/26': '26' is no year, which has four digits"),
            ("Dec 24 26", "date 'Dec 24 26': '26' is no year, which has four digits"),
            ("24.12", "date '24.12': there is no time '24.12'; times are 00:00 to 23:59:59"),
            ("13.30pm", "date '13.30pm': there is no time '13.30pm'; times are 1am to 12pm"),
            ("9.3", "date '9.3' is not understood"), ("9.30.15", "date '9.30.15': '15' is no year"),
            (
                "31.08.2026 10:00 + 1 month",
                "date '31.08.2026 10:00 + 1 month': September 2026 has no day 31"
            ),
            ("4pm + 3 dogs", "duration '3 dogs' has the unknown unit"),
            ("4pm + 3 days 10:00", "duration '3 days 10:00'"),
            ("26-12-01 09:00", "date '26-12-01 09:00': '26' is no year, which has four digits"),
            ("09:00 10:00", "date '09:00 10:00' is not understood"),
            ("today tomorrow 09:00", "date 'today tomorrow 09:00' is not understood"),
            ("09:00 UTC CET", "date '09:00 UTC CET' is not understood"),
            ("09:00 Mars/Base", "zone 'Mars/Base' is unknown"),
            ("09:00 jan23", "zone 'jan23' is unknown"),
            ("2026-12-01 09:00 UTC+2", "zone 'UTC+2' could be east or west of Greenwich; "),
            ("1969-12-31 UTC", "date '1969-12-31 UTC' lies before 1970"),
            ("@-1", "date '@-1' is not a Unix time"), ("@1e9", "date '@1e9' is not a Unix time"),
            ("-5s", "date '-5s' is not understood"), ("+200y", "date '+200y' is too far away"),
            ("++5s", "date '++5s' is not a distance"), ("+", "date '+' is not a distance"),
            (
                "2026-12-01 09:00 CEST",
                "date '2026-12-01 09:00 CEST': 'CEST' is not in force in Europe/Berlin at 2026-12-01 09:00:00, 'CET' is; "
            ),
            ("09:00 CESTA", "zone 'CESTA' is unknown"),
            ("+5q", "duration '5q' has the unknown unit"),
            ("10:00 +2", "date '10:00 +2': what is added is a number with its unit, such as "),
            ("mon +1", "date 'mon +1': what is added is a number with its unit"),
            ("4pm + 1 hour 30", "date '4pm + 1 hour 30': what is added is a number with its unit"),
            ("4pm +", "date '4pm +': what is added is a number with its unit"),
            ("now + 5", "date 'now + 5': what is added is a number with its unit"),
            ("now + 200 years", "date 'now + 200 years' is too far away; at most 100 years"),
            (
                "9999-12-31 10:00 + 1 day",
                "date '9999-12-31 10:00 + 1 day' is too far away; the last one is '9999-12-31T"
            ),
            (
                "9999-12-31 23:00 + 2 hours",
                "date '9999-12-31 23:00 + 2 hours' is too far away; the last one is '9999-12-31T"
            ),
            ("4pm + 8000 years", "date '4pm + 8000 years' is too far away; the last one is "),
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
