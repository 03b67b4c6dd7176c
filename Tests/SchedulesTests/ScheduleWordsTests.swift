// SPDX-License-Identifier: Apache-2.0

import Foundation
import Schedules
import Testing

@Suite("ScheduleWords") struct ScheduleWordsTests {
    private static let now = Timestamp(microseconds: 1_796_112_000_000_000)  // 2026-12-01T08:00Z

    private func resolve(_ words: ScheduleWords) throws -> ResolvedSchedule {
        let zone = try Zone(named: "Europe/Berlin")
        return try words.resolve(now: Self.now, zone: zone)
    }

    @Test("A delay and an interval count from now, on the elapsed clock")
    func elapsed() throws {
        let delay = try resolve(ScheduleWords(in: "30m"))
        #expect(delay.schedule == .once(Self.now + .seconds(1800)))
        #expect(delay.clock == .elapsed)
        #expect(delay.firstFireDate == Self.now + .seconds(1800))
        let interval = try resolve(ScheduleWords(every: "5s"))
        let grid = IntervalGrid(first: Self.now + .seconds(5), interval: .seconds(5))
        #expect(interval.schedule == .every(grid))
        #expect(interval.clock == .elapsed)
        #expect(interval.firstFireDate == grid.first)
    }

    @Test("A date and a grid from a date are on the wall clock")
    func wall() throws {
        let once = try resolve(ScheduleWords(at: "2026-12-24 18:00"))
        #expect(once.firstFireDate == (try instant("2026-12-24T17:00:00Z")))
        #expect(once.clock == .wall)
        let tokyo = try resolve(ScheduleWords(at: "2026-12-24 18:00", tz: "Asia/Tokyo"))
        #expect(tokyo.firstFireDate == (try instant("2026-12-24T09:00:00Z")))
        // The grid began in the past: its next date is the first.
        let grid = try resolve(ScheduleWords(every: "1h", from: "2026-11-30 10:15"))
        #expect(grid.schedule.anchor == (try instant("2026-11-30T09:15:00Z")))
        #expect(grid.firstFireDate == (try instant("2026-12-01T08:15:00Z")))
        #expect(grid.clock == .wall)
        let ahead = try resolve(ScheduleWords(every: "1h", from: "tomorrow 00:00", tz: "UTC"))
        #expect(ahead.firstFireDate == (try instant("2026-12-02T00:00:00Z")))
    }

    @Test("Cron and calendar words are read in their zone, else in the default one")
    func expressions() throws {
        let cron = try resolve(ScheduleWords(cron: "0 12 * * *"))
        #expect(cron.firstFireDate == (try instant("2026-12-01T11:00:00Z")))
        #expect(cron.clock == .wall)
        let zoned = try resolve(ScheduleWords(cron: "0 12 * * *", tz: "America/New_York"))
        #expect(zoned.firstFireDate == (try instant("2026-12-01T17:00:00Z")))
        let calendar = try resolve(ScheduleWords(calendar: "12:00", tz: "UTC"))
        #expect(calendar.firstFireDate == (try instant("2026-12-01T12:00:00Z")))
        let own = try resolve(ScheduleWords(calendar: "12:00 Asia/Tokyo", tz: "Asia/Tokyo"))
        #expect(own.firstFireDate == (try instant("2026-12-02T03:00:00Z")))
    }

    @Test("@reboot has no date of its own")
    func reboot() throws {
        let resolved = try resolve(ScheduleWords(cron: " @Reboot "))
        #expect(resolved.schedule == .reboot)
        #expect(resolved.firstFireDate == nil)
        #expect(resolved.schedule.nextFireDate(after: .distantPast) == nil)
    }

    @Test("A date that has passed is returned, and refused on request")
    func past() throws {
        let resolved = try resolve(ScheduleWords(at: "2026-11-30 09:00"))
        #expect(resolved.firstFireDate == (try instant("2026-11-30T08:00:00Z")))
        let error = #expect(throws: ScheduleError.self) {
            try resolved.requireFuture(after: Self.now)
        }
        #expect(error?.code == .neverFires)
        try resolved.requireFuture(after: instant("2026-11-30T08:00:00Z"))
        try resolve(ScheduleWords(in: "0s")).requireFuture(after: Self.now)
        try resolve(ScheduleWords(cron: "@reboot")).requireFuture(after: Self.now)
    }

    @Test("A local time that does not exist is noted")
    func notes() throws {
        let resolved = try resolve(ScheduleWords(at: "2027-03-28 02:30"))
        #expect(
            resolved.notes == [
                "2027-03-28 02:30:00 does not exist in Europe/Berlin; "
                    + "it becomes 2027-03-28 03:00:00 CEST"
            ]
        )
        #expect(try resolve(ScheduleWords(at: "2027-03-28 03:30")).notes.isEmpty)
    }

    @Test(
        "An interval of days or months says what it is not",
        arguments: ["1d", "7d", "24h", "2w"]
    )
    func gridOfDays(every: String) throws {
        let words = try resolve(ScheduleWords(every: every, from: "2027-03-01 02:15"))
        #expect(words.notes.count == 1)
        #expect(
            words.notes.first?.hasPrefix("a day is 24 hours here: from 2027-03-2") == true
                && words.notes.first?.contains(" 03:15:00 CEST on, after a clock change") == true
        )
        let utc = try ScheduleWords(every: every, from: "2027-03-01 02:15")
            .resolve(now: Self.now, zone: .utc)
        #expect(utc.notes == [])
    }

    @Test(
        "Months and years of an interval are none of the calendar",
        arguments: ["1M", "3months", "1y"]
    )
    func gridOfMonths(every: String) throws {
        let words = ScheduleWords(every: every)
        for zone in [Zone.utc, try Zone(named: "Europe/Berlin")] {
            #expect(
                try words.resolve(now: Self.now, zone: zone).notes == [
                    "a month is 30.4375 days here and a year 365.25, so these dates follow no calendar; "
                        + "calendar 'monthly' or 'yearly' does"
                ]
            )
        }
    }

    @Test("Other intervals have no note", arguments: ["5s", "1h", "36h", "25h"])
    func gridOfHours(every: String) throws {
        #expect(try resolve(ScheduleWords(every: every)).notes == [])
    }

    @Test(
        "Words that do not go together are refused",
        arguments: [
            (
                ScheduleWords(), ScheduleError.Code.badSchedule,
                "a schedule is exactly one of 'in', 'at', 'every', 'cron' and 'calendar'; "
                    + "none is given"
            ),
            (
                ScheduleWords(in: "5s", every: "5s"), .badSchedule,
                "a schedule is exactly one of 'in', 'at', 'every', 'cron' and 'calendar'; "
                    + "'in' and 'every' are given"
            ),
            (
                ScheduleWords(from: "now", cron: "* * * * *"), .badSchedule,
                "'from' belongs to 'every'; 'cron' has no grid"
            ),
            (
                ScheduleWords(calendar: "daily Asia/Tokyo", tz: "UTC"), .badSchedule,
                "calendar 'daily Asia/Tokyo' names its zone, 'Asia/Tokyo'; 'tz' is 'UTC', expected none"
            ),
            (
                ScheduleWords(every: "5s", tz: "UTC"), .badSchedule,
                "'tz' belongs to 'at', 'from', 'cron' and 'calendar'; a length of time has no zone"
            ),
            (
                ScheduleWords(in: "999us"), .badDuration,
                "duration '999us' is too short; accepted are 0s, which is at once, and 1ms to 100 years"
            ),
            (
                ScheduleWords(calendar: "2025-01-01"), .neverFires,
                "calendar '2025-01-01' never fires: "
                    + "its only date, 2025-01-01 00:00:00 CET, has passed"
            ),
            (
                ScheduleWords(cron: "0 0 30 2 *"), .neverFires,
                "cron '0 0 30 2 *' never fires: there is no day 30 in February"
            ),
        ]
    )
    func refused(words: ScheduleWords, code: ScheduleError.Code, message: String) {
        #expect(throws: ScheduleError(code, message)) { try resolve(words) }
    }

    @Test(
        "A schedule that never fires is refused with the reason",
        arguments: [
            (ScheduleWords(cron: "0 0 L-30 2 *"), "there is no day 31 from the end in February"),
            (ScheduleWords(cron: "0 0 31 4,6 *"), "there is no day 31 in April and June"),
            (ScheduleWords(cron: "0 0 30,31 2 *"), "there are no days 30 and 31 in February"),
            (ScheduleWords(cron: "0 0 30W 2 *"), "never fires: there is no day 30 in February"),
            (
                ScheduleWords(cron: "0 0 */33 * 7L"),
                "day 1 of the month is never the last Sunday of the month"
            ),
            (ScheduleWords(calendar: "*-02-30"), "there is no day 30 in February"),
            (ScheduleWords(calendar: "*-4,6-31"), "there is no day 31 in April and June"),
            (ScheduleWords(calendar: "2027-02-29"), "there is no day 29 in February 2027"),
            (
                ScheduleWords(calendar: "Mon 2026-12-24"),
                "day 24 of December 2026 is never Monday"
            ),
            (ScheduleWords(calendar: "2025-*-* 10:00"), "its last date has passed"),
        ]
    )
    func neverFires(words: ScheduleWords, reason: String) {
        let error = #expect(throws: ScheduleError.self) { try resolve(words) }
        #expect(error?.code == .neverFires)
        #expect(error?.message.hasSuffix(reason) == true, "\(error?.message ?? "")")
    }

    @Test("A schedule whose days all come, but too late, has none of them for its reason")
    func dateTooLate() throws {
        let now = try instant("9996-03-01T00:00:00Z")
        let error = #expect(throws: ScheduleError.self) {
            try ScheduleWords(cron: "0 0 29 2 *").resolve(now: now, zone: .utc)
        }
        #expect(
            error?.message
                == "cron '0 0 29 2 *' never fires: no date after '9996-03-01T00:00:00.000000Z' matches"
        )
    }

    @Test(
        "Words have the dates of others that mean the same, however they are spelled",
        arguments: [
            (ScheduleWords(cron: "0 0 * * 7"), ScheduleWords(cron: "0 0 * * 0"), true),
            (ScheduleWords(cron: "* * * * *"), ScheduleWords(cron: "*/1 * * * *"), true),
            (ScheduleWords(cron: "0 9 ? * 1-5"), ScheduleWords(cron: "0 9 * * MON,2,3,4,5"), true),
            (ScheduleWords(cron: "@daily"), ScheduleWords(cron: "0 0 0 * * *"), true),
            // Daylight saving moves the one and not the other.
            (ScheduleWords(cron: "0 0-23 * * *"), ScheduleWords(cron: "0 * * * *"), false),
            // Either day is enough, or both are needed.
            (ScheduleWords(cron: "0 0 1 * 0-6"), ScheduleWords(cron: "0 0 1 * *"), false),
            (ScheduleWords(cron: "0 9 * * *"), ScheduleWords(cron: "0 9 * * *", tz: "UTC"), false),
            (ScheduleWords(cron: "0 9 * * *"), ScheduleWords(calendar: "09:00"), false),
            (ScheduleWords(calendar: "*:0,30"), ScheduleWords(calendar: "*:0/30"), true),
            (ScheduleWords(calendar: "*:0..30"), ScheduleWords(calendar: "*:0/30"), false),
            (
                ScheduleWords(calendar: "2030..2031-*-* 9:00"),
                ScheduleWords(calendar: "2030,2031-1..12-* 9:00"), true
            ),
            (ScheduleWords(calendar: "9:00:0/20"), ScheduleWords(calendar: "9:00:0,20,40"), true),
            (ScheduleWords(calendar: "9:00:0/20"), ScheduleWords(calendar: "9:00:0,20"), false),
            (ScheduleWords(calendar: "0..23:00"), ScheduleWords(calendar: "hourly"), false),
            (
                ScheduleWords(calendar: "9:00 Asia/Tokyo"),
                ScheduleWords(calendar: "9:00", tz: "Asia/Tokyo"), true
            ),
            (ScheduleWords(calendar: "9:00 Asia/Tokyo"), ScheduleWords(calendar: "9:00"), false),
            (ScheduleWords(in: "90s"), ScheduleWords(in: "1min 30s"), true),
            (ScheduleWords(at: "2027-01-01 01:00"), ScheduleWords(at: "2027-01-01T00:00Z"), true),
        ] as [(ScheduleWords, ScheduleWords, Bool)]
    )
    func sameDates(one: ScheduleWords, other: ScheduleWords, isSame: Bool) throws {
        let zone = try Zone(named: "Europe/Berlin")
        #expect(try one.hasDates(of: other, now: Self.now, zone: zone) == isSame)
        #expect(try other.hasDates(of: one, now: Self.now, zone: zone) == isSame)
    }

    @Test(
        "An unknown zone, cron or calendar keeps its own code",
        arguments: [
            (ScheduleWords(at: "09:00", tz: "Mars/Base"), ScheduleError.Code.badZone),
            (ScheduleWords(cron: "nonsense"), .badCron),
            (ScheduleWords(calendar: "nonsense"), .badCalendar),
            (ScheduleWords(at: "nonsense"), .badDate),
            (ScheduleWords(every: "nonsense"), .badDuration),
            (ScheduleWords(every: "5s", from: "nonsense"), .badDate),
        ]
    )
    func codes(words: ScheduleWords, code: ScheduleError.Code) {
        let error = #expect(throws: ScheduleError.self) { try resolve(words) }
        #expect(error?.code == code)
    }

    @Test(
        "What the store kept makes the same schedule again",
        arguments: [
            ScheduleWords(in: "30m"), ScheduleWords(at: "tomorrow 09:00"),
            ScheduleWords(every: "5s"),
            ScheduleWords(every: "1h", from: "2020-01-01 00:00"),
            ScheduleWords(cron: "*/5 * * * *"),
            ScheduleWords(calendar: "Mon 09:00"), ScheduleWords(cron: "@reboot"),
        ]
    )
    func again(words: ScheduleWords) throws {
        let resolved = try resolve(words)
        let anchor = resolved.schedule.anchor ?? .distantPast
        let zone = try Zone(named: "Europe/Berlin")
        #expect(try words.schedule(anchor: anchor, zone: zone) == resolved.schedule)
    }

    @Test("Moving the grid moves once and every, and nothing else")
    func moving() throws {
        let date = try instant("2027-01-01T00:00:00Z")
        for words in [ScheduleWords(in: "30m"), ScheduleWords(every: "5s")] {
            let moved = try resolve(words).schedule.movingGrid(to: date)
            #expect(moved.anchor == date)
            #expect(moved.nextFireDate(after: date - .seconds(1)) == date)
        }
        let cron = try resolve(ScheduleWords(cron: "* * * * *")).schedule
        #expect(cron.movingGrid(to: date) == cron)
        #expect(cron.anchor == nil)
    }

    @Test("On the wire only the words that were given appear")
    func coding() throws {
        let words = ScheduleWords(every: "5s", from: "2026-12-01 09:00", tz: "UTC")
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let data = try encoder.encode(words)
        #expect(
            String(decoding: data, as: UTF8.self)
                == #"{"every":"5s","from":"2026-12-01 09:00","tz":"UTC"}"#
        )
        #expect(try JSONDecoder().decode(ScheduleWords.self, from: data) == words)
        let delay = try JSONDecoder().decode(
            ScheduleWords.self,
            from: Data(#"{"in": "5s", "at": null}"#.utf8)
        )
        #expect(delay == ScheduleWords(in: "5s"))
    }

    @Test("An unknown key, or a value that is no string, is refused")
    func badCoding() {
        let error = #expect(throws: ScheduleError.self) {
            try JSONDecoder().decode(
                ScheduleWords.self,
                from: Data(#"{"every": "5s", "evry": "5s"}"#.utf8)
            )
        }
        #expect(
            error?.message
                == "a schedule has no field 'evry'; its fields are 'in', 'at', 'every', 'from', "
                + "'cron', 'calendar', 'tz'"
        )
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(ScheduleWords.self, from: Data(#"{"every": 5}"#.utf8))
        }
    }
}
