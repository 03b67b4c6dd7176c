// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing

@Suite("Daylight saving") struct DaylightSavingTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var words: String
        var zone: String
        var after: String
        /// Local times with "*" behind one that was moved.
        var dates: [String]
        var testDescription: String { "\(words) in \(zone) after \(after)" }
    }

    static let fixed = [
        // Berlin skips 02:00 to 03:00 on 29 March and has it twice on 25 October.
        Case(
            words: "30 2 * * *",
            zone: "Europe/Berlin",
            after: "2026-03-28T00:00:00Z",
            dates: ["03-28 02:30 CET", "03-29 03:00 CEST*", "03-30 02:30 CEST"]
        ),
        Case(
            words: "30 2 * * *",
            zone: "Europe/Berlin",
            after: "2026-10-24T12:00:00Z",
            dates: ["10-25 02:30 CEST", "10-26 02:30 CET"]
        ),
        Case(
            words: "0,15,30 2,3 * * *",
            zone: "Europe/Berlin",
            after: "2026-03-29T00:00:00Z",
            dates: ["03-29 03:00 CEST", "03-29 03:15 CEST", "03-29 03:30 CEST"]
        ),
        Case(
            words: "59 1,2 * * *",
            zone: "Europe/Berlin",
            after: "2026-10-24T23:00:00Z",
            dates: ["10-25 01:59 CEST", "10-25 02:59 CEST", "10-26 01:59 CET"]
        ),
        // Santiago and Havana skip midnight.
        Case(
            words: "0 0 * * *",
            zone: "America/Santiago",
            after: "2026-09-05T12:00:00Z",
            dates: ["09-06 01:00 -03*", "09-07 00:00 -03"]
        ),
        Case(
            words: "30 0 * * 0",
            zone: "America/Havana",
            after: "2026-03-07T12:00:00Z",
            dates: ["03-08 01:00 CDT*", "03-15 00:30 CDT"]
        ),
        // Lord Howe shifts by half an hour.
        Case(
            words: "15 2 * * *",
            zone: "Australia/Lord_Howe",
            after: "2026-10-03T00:00:00Z",
            dates: ["10-04 02:30 +11*", "10-05 02:15 +11"]
        ),
        Case(
            words: "45 1 * * *",
            zone: "Australia/Lord_Howe",
            after: "2026-04-04T00:00:00Z",
            dates: ["04-05 01:45 +11", "04-06 01:45 +1030"]
        ),
        // Apia went from 29 to 31 December 2011.
        Case(
            words: "0 12 * * *",
            zone: "Pacific/Apia",
            after: "2011-12-29T00:00:00Z",
            dates: ["12-29 12:00 -10", "12-31 00:00 +14*", "12-31 12:00 +14"]
        ),
        Case(
            words: "0 9 30 12 *",
            zone: "Pacific/Apia",
            after: "2011-12-01T00:00:00Z",
            dates: ["12-31 00:00 +14*", "12-30 09:00 +14"]
        ),
        // Troll shifts by two hours.
        Case(
            words: "0 1,2 * * *",
            zone: "Antarctica/Troll",
            after: "2026-03-28T12:00:00Z",
            dates: ["03-29 03:00 +02*", "03-30 01:00 +02", "03-30 02:00 +02"]
        ),
        // Caracas changed its rule by half an hour, once, at 02:30.
        Case(
            words: "45 2 * * *",
            zone: "America/Caracas",
            after: "2016-05-01T00:00:00Z",
            dates: ["05-01 03:00 -04*", "05-02 02:45 -04"]
        ),
        // Istanbul gave up winter time in 2016.
        Case(
            words: "30 3 * * 0",
            zone: "Europe/Istanbul",
            after: "2016-10-23T12:00:00Z",
            dates: ["10-30 03:30 +03", "11-06 03:30 +03"]
        ),
        // Apia gave up summer time in 2021: the last change of its table.
        Case(
            words: "30 3 * * *",
            zone: "Pacific/Apia",
            after: "2021-04-03T00:00:00Z",
            dates: ["04-04 03:30 +14", "04-05 03:30 +13"]
        ),
        Case(
            words: "30 3 * * *",
            zone: "Pacific/Apia",
            after: "2021-04-03T14:10:00Z",
            dates: ["04-05 03:30 +13"]
        ),
        // Beyond 2038 and in 2199 the rule goes on.
        Case(
            words: "30 2 * * *",
            zone: "America/New_York",
            after: "2199-03-09T12:00:00Z",
            dates: ["03-10 03:00 EDT*", "03-11 02:30 EDT"]
        ),
        Case(
            words: "30 1 * * *",
            zone: "America/New_York",
            after: "2199-11-02T12:00:00Z",
            dates: ["11-03 01:30 EDT", "11-04 01:30 EST"]
        ),
        // A step is a list of fixed times, unless it begins with "*" (cron's own flag).
        Case(
            words: "30 0-23/1 * * *",
            zone: "America/New_York",
            after: "2026-11-01T05:00:00Z",
            dates: ["11-01 01:30 EDT", "11-01 02:30 EST"]
        ),
        Case(
            words: "30 0-22/2 * * *",
            zone: "Europe/Berlin",
            after: "2026-03-28T22:00:00Z",
            dates: ["03-29 00:30 CET", "03-29 03:00 CEST*", "03-29 04:30 CEST"]
        ),
        Case(
            words: "5,*/20 3 * * *",
            zone: "Europe/Berlin",
            after: "2026-10-24T23:30:00Z",
            dates: ["10-25 03:00 CET", "10-25 03:05 CET", "10-25 03:20 CET"]
        ),
    ]

    static let wildcard = [
        Case(
            words: "*/30 2 * * *",
            zone: "Europe/Berlin",
            after: "2026-03-28T00:30:00Z",
            dates: ["03-28 02:00 CET", "03-28 02:30 CET", "03-30 02:00 CEST"]
        ),
        Case(
            words: "0 * * * *",
            zone: "Europe/Berlin",
            after: "2026-10-24T23:30:00Z",
            dates: ["10-25 02:00 CEST", "10-25 02:00 CET", "10-25 03:00 CET"]
        ),
        Case(
            words: "*/20 * * * *",
            zone: "Australia/Lord_Howe",
            after: "2026-04-04T14:30:00Z",
            dates: [
                "04-05 01:40 +11", "04-05 01:40 +1030", "04-05 02:00 +1030", "04-05 02:20 +1030",
            ]
        ),
        Case(
            words: "0 */6 * * *",
            zone: "Pacific/Apia",
            after: "2011-12-30T00:00:00Z",
            dates: ["12-29 18:00 -10", "12-31 00:00 +14", "12-31 06:00 +14"]
        ),
        // The second pass of an hour still fires when nothing matches after it.
        Case(
            words: "59 * 1 11 *",
            zone: "America/New_York",
            after: "2026-11-01T05:30:00Z",
            dates: ["11-01 01:59 EDT", "11-01 01:59 EST", "11-01 02:59 EST"]
        ),
    ]

    @Test("A fixed time that is skipped fires after the gap, a repeated one once", arguments: fixed)
    func fixedTimes(example: Case) throws {
        try check(example)
    }

    @Test("Minutes or hours that begin with a star follow real time", arguments: wildcard)
    func realTime(example: Case) throws {
        try check(example)
    }

    @Test(
        "An hourly schedule fires 23, 24 and 25 times a day",
        arguments: [
            ("2026-03-28T23:00:00Z", 23), ("2026-03-29T22:00:00Z", 24),
            ("2026-10-24T22:00:00Z", 25),
        ]
    )
    func hourly(midnight: String, count: Int) throws {
        let zone = try Zone(named: "Europe/Berlin")
        let start = try instant(midnight)
        let end = start + .seconds(Int64(count) * 3600)
        for schedule: Schedule in [
            .cron(try CronExpression(parsing: "@hourly", zone: zone)),
            .calendar(try CalendarExpression(parsing: "hourly", zone: zone)),
        ] {
            let dates = nextDates(schedule, after: start - TimeSpan(microseconds: 1), count: count)
            #expect(dates.last == end - .seconds(3600))
            #expect(zone.localTime(at: end).description.hasSuffix("00:00:00"))
        }
    }

    @Test(
        "Calendar expressions keep the same rule",
        arguments: [
            ("*-*-* 02:30", "30 2 * * *"), ("02:0/30", "0-59/30 2 * * *"), ("02:*", "* 2 * * *"),
            ("*:0/30", "*/30 * * * *"), ("0/2:15", "15 0-23/2 * * *"),
            ("02,03:00,30", "0,30 2,3 * * *"), ("Sun 01..03:30", "30 1-3 * * 0"),
        ]
    )
    func calendar(calendar: String, cron: String) throws {
        let transitions = [
            ("Europe/Berlin", "2026-03-28T12:00:00Z"), ("Europe/Berlin", "2026-10-24T12:00:00Z"),
            ("America/Santiago", "2026-09-05T12:00:00Z"),
            ("Australia/Lord_Howe", "2026-04-04T00:00:00Z"),
            ("Pacific/Apia", "2011-12-29T00:00:00Z"),
        ]
        for (name, date) in transitions {
            let zone = try Zone(named: name)
            let left = Schedule.calendar(try CalendarExpression(parsing: calendar, zone: zone))
            let right = Schedule.cron(try CronExpression(parsing: cron, zone: zone))
            let dates = nextDates(left, after: try instant(date), count: 100)
            #expect(dates == nextDates(right, after: try instant(date), count: 100))
            #expect(
                dates.map(left.movedByDaylightSaving) == dates.map(right.movedByDaylightSaving)
            )
        }
    }

    @Test("The second pass of a repeated hour counts as after its fixed times")
    func insideRepeatedHour() throws {
        let zone = try Zone(named: "Europe/Berlin")
        let schedule = Schedule.cron(try CronExpression(parsing: "30 2 * * *", zone: zone))
        // 02:10 the second time: 02:30 has come already.
        let next = schedule.nextFireDate(after: try instant("2026-10-25T01:10:00Z"))
        #expect(next == (try instant("2026-10-26T01:30:00Z")))
    }

    @Test("A date set by hand is not one that daylight saving moved")
    func setByHand() throws {
        let zone = try Zone(named: "Europe/Berlin")
        for text in ["30 2 * * *", "*/30 * * * *"] {
            let schedule = Schedule.cron(try CronExpression(parsing: text, zone: zone))
            #expect(!schedule.movedByDaylightSaving(try instant("2026-03-29T01:10:00Z")))
            #expect(!schedule.movedByDaylightSaving(try instant("2026-07-01T01:10:00Z")))
        }
    }

    @Test("An interval does not notice")
    func interval() throws {
        let start = try instant("2026-10-24T23:00:00Z")
        let schedule = Schedule.every(IntervalGrid(first: start, interval: .seconds(3600)))
        let dates = nextDates(schedule, after: start, count: 5)
        #expect(dates.last == start + .seconds(5 * 3600))
        #expect(dates.allSatisfy { !schedule.movedByDaylightSaving($0) })
    }

    @Test(
        "Local times resolve as unique, in a gap, or repeated",
        arguments: [
            ("Europe/Berlin", "2026-03-29T01:59:59Z", "unique 2026-03-29T00:59:59.000000Z"),
            ("Europe/Berlin", "2026-03-29T02:00:00Z", "gap 2026-03-29T01:00:00.000000Z"),
            ("Europe/Berlin", "2026-03-29T02:59:59Z", "gap 2026-03-29T01:00:00.000000Z"),
            ("Europe/Berlin", "2026-03-29T03:00:00Z", "unique 2026-03-29T01:00:00.000000Z"),
            ("Europe/Berlin", "2026-10-25T01:59:59Z", "unique 2026-10-24T23:59:59.000000Z"),
            (
                "Europe/Berlin", "2026-10-25T02:00:00Z",
                "repeated 2026-10-25T00:00:00.000000Z 2026-10-25T01:00:00.000000Z"
            ),
            ("Europe/Berlin", "2026-10-25T03:00:00Z", "unique 2026-10-25T02:00:00.000000Z"),
            ("Pacific/Apia", "2011-12-30T12:00:00Z", "gap 2011-12-30T10:00:00.000000Z"),
            (
                "Australia/Lord_Howe", "2026-04-05T01:45:00Z",
                "repeated 2026-04-04T14:45:00.000000Z 2026-04-04T15:15:00.000000Z"
            ),
        ]
    )
    func resolution(name: String, local: String, expected: String) throws {
        let time = LocalTime(microseconds: try instant(local).microseconds)
        let text: String
        switch try Zone(named: name).resolve(time) {
        case .unique(let date): text = "unique \(date)"
        case .gap(let date): text = "gap \(date)"
        case .repeated(let first, let second): text = "repeated \(first) \(second)"
        }
        #expect(text == expected)
    }

    private func check(_ example: Case) throws {
        let zone = try Zone(named: example.zone)
        let schedule = Schedule.cron(try CronExpression(parsing: example.words, zone: zone))
        let dates = nextDates(
            schedule,
            after: try instant(example.after),
            count: example.dates.count
        )
        let texts = dates.map { date in
            let local = zone.localTime(at: date).description.dropFirst(5).dropLast(3)
            let mark = schedule.movedByDaylightSaving(date) ? "*" : ""
            return "\(local) \(zone.abbreviation(at: date))\(mark)"
        }
        #expect(texts == example.dates)
    }
}
