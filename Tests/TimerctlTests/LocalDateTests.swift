// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl
import TimerWords

@testable import timerctl

@Suite("LocalDate") struct LocalDateTests {
    @Test(
        "A date is shown on the reader's clock, with the zone's name",
        arguments: [
            ("2026-12-01T08:00:05Z", "2026-12-01 09:00:05 CET"),
            ("2026-07-01T08:00:05Z", "2026-07-01 10:00:05 CEST"),
            ("2026-12-01T08:00:05.250999Z", "2026-12-01 09:00:05.250 CET"),
            ("2026-12-01T08:00:05.000999Z", "2026-12-01 09:00:05 CET"),
            ("2026-12-31T23:30:00Z", "2027-01-01 00:30:00 CET"),
        ]
    )
    func full(instant: String, words: String) {
        #expect(testDates.full(date(instant)) == words)
    }

    @Test(
        "The day is named by its distance on the reader's calendar",
        arguments: [
            ("2026-12-01T08:00:05Z", "at 09:00:05"),
            ("2026-11-30T23:00:00Z", "at 00:00:00"),
            ("2026-11-30T22:59:59Z", "yesterday at 23:59:59"),
            ("2026-12-01T23:00:00Z", "tomorrow at 00:00:00"),
            ("2026-12-02T23:00:00Z", "on 2026-12-03 at 00:00:00"),
        ]
    )
    func phrase(instant: String, words: String) {
        #expect(testDates.phrase(date(instant)) == words)
    }

    @Test(
        "A time that the clock shows twice has its zone, so that the two are told apart",
        arguments: [
            ("2027-10-31T00:30:00Z", "2027-10-31 02:30:00 CEST", "on 2027-10-31 at 02:30:00 CEST"),
            ("2027-10-31T01:30:00Z", "2027-10-31 02:30:00 CET", "on 2027-10-31 at 02:30:00 CET"),
            ("2027-10-30T23:59:59Z", "2027-10-31 01:59:59", "on 2027-10-31 at 01:59:59"),
            ("2027-10-31T02:00:00Z", "2027-10-31 03:00:00", "on 2027-10-31 at 03:00:00"),
            ("2027-03-28T01:00:00Z", "2027-03-28 03:00:00", "on 2027-03-28 at 03:00:00"),
        ]
    )
    func ofTwo(instant: String, words: String, phrase: String) {
        #expect(testDates.dayAndTime(date(instant)) == words)
        #expect(testDates.phrase(date(instant)) == phrase)
        // Where the zone stands there anyway, it stands there once.
        let zone = words.count > 19 ? "" : " \(testDates.abbreviation(at: date(instant)))"
        #expect(testDates.full(date(instant)) == words + zone)
    }

    @Test(
        "Weekdays are those of the calendar",
        arguments: [
            ("2026-12-01T08:00:00Z", "Tue"), ("2026-12-01T23:30:00Z", "Wed"),
            ("1970-01-01T00:00:00Z", "Thu"), ("1969-12-31T12:00:00Z", "Wed"),
            ("2000-02-29T12:00:00Z", "Tue"),
        ]
    )
    func weekday(instant: String, name: String) {
        #expect(testDates.weekday(date(instant)) == name)
    }

    @Test("A stamp always has milliseconds, so that stamps align")
    func stamp() {
        #expect(testDates.stamp(testNow) == "2026-12-01 09:00:00.000")
    }

    @Test("A date whose local year would have five digits is shown in UTC")
    func lastYear() throws {
        let dates = LocalDate(now: testNow, zone: try Zone(named: "Pacific/Kiritimati"))
        let last = date("9999-12-31T23:59:59Z")
        #expect(dates.full(last) == "9999-12-31 23:59:59 UTC")
        #expect(dates.weekday(last) == "Fri")
        #expect(dates.stamp(last) == "9999-12-31 23:59:59.000")
        #expect(dates.phrase(last) == "on 9999-12-31 at 23:59:59")
        #expect(dates.abbreviation(at: last) == "UTC")
        #expect(dates.full(date("9999-12-31T09:59:59Z")) == "9999-12-31 23:59:59 +14")
    }

    @Test("Words from the wire that are no date stay as they are")
    func words() {
        #expect(testDates.local("2026-12-01T08:00:00.000000Z") == "2026-12-01 09:00:00 CET")
        #expect(testDates.local("tomorrow 09:00") == "tomorrow 09:00")
    }

    @Test("A refusal has its dates on the reader's clock, and all else as the daemon says it")
    func refusal() {
        let text =
            "'a' fires at '2026-12-01T08:00:05.000000Z', not at '2026-12-01T08:00:06.250000Z'"
        let words = "'a' fires at '2026-12-01 09:00:05 CET', not at '2026-12-01 09:00:06.250 CET'"
        #expect(testDates.localized(text) == words)
        let plain = "job '2 of 7' has no date 'a name of 27 characters, aha'; no such job"
        #expect(testDates.localized(plain) == plain)
        #expect(!Failure(ControlError(.badSchedule, text)).message.contains("05.000000Z"))
        let tag = "no live job has the tag '2026-12-01T08:00:05.000000Z'"
        #expect(Failure(ControlError(.notFound, tag)).message == tag, "as it was said")
    }
}
