// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing

@Suite("CronExpression") struct CronExpressionTests {
    private func dates(
        _ text: String,
        after date: String,
        count: Int = 3
    ) throws -> [String] {
        let schedule = Schedule.cron(try CronExpression(parsing: text, zone: .utc))
        return nextDates(schedule, after: try instant(date), count: count).map {
            String($0.rfc3339.prefix(16))
        }
    }

    @Test(
        "Special days of the month and of the week",
        arguments: [
            ("0 0 L * *", ["2026-01-31T00:00", "2026-02-28T00:00", "2026-03-31T00:00"]),
            ("0 0 L-2 * *", ["2026-01-29T00:00", "2026-02-26T00:00", "2026-03-29T00:00"]),
            ("0 0 1,L * *", ["2026-01-31T00:00", "2026-02-01T00:00", "2026-02-28T00:00"]),
            ("0 0 LW * *", ["2026-01-30T00:00", "2026-02-27T00:00", "2026-03-31T00:00"]),
            ("0 0 1W * *", ["2026-02-02T00:00", "2026-03-02T00:00", "2026-04-01T00:00"]),
            ("0 0 31w * *", ["2026-01-30T00:00", "2026-03-31T00:00", "2026-05-29T00:00"]),
            ("0 0 15W * *", ["2026-01-15T00:00", "2026-02-16T00:00", "2026-03-16T00:00"]),
            ("0 0 * * 5L", ["2026-01-30T00:00", "2026-02-27T00:00", "2026-03-27T00:00"]),
            ("0 0 * * 0L", ["2026-01-25T00:00", "2026-02-22T00:00", "2026-03-29T00:00"]),
            ("0 0 * * mon#1", ["2026-01-05T00:00", "2026-02-02T00:00", "2026-03-02T00:00"]),
            ("0 0 * * 7#5", ["2026-03-29T00:00", "2026-05-31T00:00", "2026-08-30T00:00"]),
            ("0 0 * * 1#1,5L", ["2026-01-05T00:00", "2026-01-30T00:00", "2026-02-02T00:00"]),
            ("0 0 ? * mon", ["2026-01-05T00:00", "2026-01-12T00:00", "2026-01-19T00:00"]),
            ("0 0 13 * 5", ["2026-01-02T00:00", "2026-01-09T00:00", "2026-01-13T00:00"]),
            ("0 0 */2 * 1", ["2026-01-05T00:00", "2026-01-19T00:00", "2026-02-09T00:00"]),
            ("0 0 1-7 * *", ["2026-01-02T00:00", "2026-01-03T00:00", "2026-01-04T00:00"]),
        ]
    )
    func days(text: String, expected: [String]) throws {
        #expect(try dates(text, after: "2026-01-01T00:00:00Z") == expected)
    }

    @Test(
        "Ranges may wrap around the end",
        arguments: [
            ("0 22-2/2 * * *", ["2026-01-01T02:00", "2026-01-01T22:00", "2026-01-02T00:00"]),
            ("0 0 * * fri-mon", ["2026-01-02T00:00", "2026-01-03T00:00", "2026-01-04T00:00"]),
            ("0 0 1 nov-feb *", ["2026-02-01T00:00", "2026-11-01T00:00", "2026-12-01T00:00"]),
            ("58-1 0 1 1 *", ["2026-01-01T00:01", "2026-01-01T00:58", "2026-01-01T00:59"]),
        ]
    )
    func wrapping(text: String, expected: [String]) throws {
        #expect(try dates(text, after: "2026-01-01T00:00:00Z") == expected)
    }

    @Test("Leap days come when they come, far years too")
    func leapDays() throws {
        #expect(
            try dates("0 0 29 2 *", after: "2092-03-01T00:00:00Z", count: 2)
                == ["2096-02-29T00:00", "2104-02-29T00:00"]
        )
        #expect(
            try dates("0 0 29 2 1#5", after: "2026-01-01T00:00:00Z", count: 2)
                == ["2028-02-29T00:00", "2032-02-29T00:00"]
        )
        #expect(
            try dates("59 23 31 12 *", after: "2199-01-01T00:00:00Z", count: 1)
                == ["2199-12-31T23:59"]
        )
        #expect(try dates("* * * * *", after: "9999-12-31T23:58:00Z") == ["9999-12-31T23:59"])
    }

    @Test(
        "Days that never come give no date, at once",
        arguments: [
            "0 0 30 2 *", "0 0 31 4,6,9,11 *", "* * */31 2 0#5", "0 0 */100 * 1#4", "0 0 L-30 2 *",
        ]
    )
    func never(text: String) throws {
        #expect(try dates(text, after: "2026-01-01T00:00:00Z").isEmpty)
        let error = #expect(throws: ScheduleError.self) {
            try ScheduleWords(cron: text).resolve(now: instant("2026-01-01T00:00:00Z"), zone: .utc)
        }
        #expect(error?.code == .neverFires)
    }

    @Test("Six fields begin with seconds")
    func seconds() throws {
        let schedule = Schedule.cron(
            try CronExpression(parsing: "*/20,7 0 12 * * *", zone: .utc)
        )
        let texts = nextDates(
            schedule,
            after: try instant("2026-01-01T12:00:00.5Z"),
            count: 4
        ).map(\.rfc3339)
        #expect(
            texts == [
                "2026-01-01T12:00:07.000000Z", "2026-01-01T12:00:20.000000Z",
                "2026-01-01T12:00:40.000000Z", "2026-01-02T12:00:00.000000Z",
            ]
        )
    }

    @Test(
        "Words stand for fields, whatever their case and the blanks around",
        arguments: [
            ("@yearly", "0 0 1 1 *"), (" @Annually ", "0 0 1 1 *"), ("@MONTHLY", "0 0 1 * *"),
            ("@weekly", "0 0 * * 0"), ("@daily", "0 0 * * *"), ("@midnight", "0 0 * * *"),
            ("@hourly", "0 * * * *"), ("\t0   9 *  * MON-fri ", "0 9 * * 1-5"),
        ]
    )
    func words(word: String, fields: String) throws {
        let date = "2026-03-14T15:09:26Z"
        #expect(try dates(word, after: date) == dates(fields, after: date))
    }

    @Test(
        "Errors name the field, the words and what it takes",
        arguments: [
            ("60 * * * *", "cron '60 * * * *': minute '60' is not accepted; it takes 0 to 59, "),
            (
                "0 1,25 * * *",
                "cron '0 1,25 * * *': hour '25' in '1,25' is not accepted; it takes 0 to 23, "
            ),
            (
                "0 0 32 * *",
                "cron '0 0 32 * *': day of month '32' is not accepted; it takes 1 to 31, "
            ),
            (
                "0 0 * foo *",
                "cron '0 0 * foo *': month 'foo' is not accepted; it takes 1 to 12, jan to dec, "
            ),
            (
                "0 0 * * mon#6",
                "cron '0 0 * * mon#6': day of week 'mon#6' is not accepted; it takes 0 to 7, "
            ),
            (
                "61 0 0 * * *",
                "cron '61 0 0 * * *': second '61' is not accepted; it takes 0 to 59, "
            ),
            (
                "* * *",
                "cron '* * *' has 3 fields; five are needed (minute, hour, day of month, month, "
                    + "day of week), or six with seconds first"
            ),
            ("@fortnightly", "cron '@fortnightly' is unknown; words are @annually, @daily, "),
            ("", "cron '' has 0 fields; "),
            (
                "CRON_TZ=UTC 0 9 * * *",
                "cron 'CRON_TZ=UTC 0 9 * * *' begins with a variable, 'CRON_TZ=UTC'; a zone is "
            ),
            ("*/0 * * * *", "cron '*/0 * * * *': minute '*/0' is not accepted"),
            ("1-2-3 * * * *", "cron '1-2-3 * * * *': minute '1-2-3' is not accepted"),
            ("99999999999999999999 * * * *", "cron '99999999999999999999 * * * *': minute"),
        ]
    )
    func errors(text: String, message: String) {
        let error = #expect(throws: ScheduleError.self) {
            try CronExpression(parsing: text, zone: .utc)
        }
        #expect(error?.code == .badCron)
        #expect(error?.message.hasPrefix(message) == true, "\(error?.message ?? "")")
    }

    @Test("A huge step is just the first value")
    func hugeStep() throws {
        #expect(
            try dates("5/9223372036854775807 0 1 1 *", after: "2026-01-01T00:00:00Z", count: 2)
                == ["2026-01-01T00:05", "2027-01-01T00:05"]
        )
    }
}
