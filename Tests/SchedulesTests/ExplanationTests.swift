// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing

@Suite("Explanation") struct ExplanationTests {
    @Test(
        "A cron expression in one sentence",
        arguments: [
            ("* * * * *", "every minute"), ("*/5 * * * *", "every 5 minutes"),
            ("*/7 * * * *", "at every 7th minute of every hour"),
            ("2/5 * * * *", "every 5 minutes from minute 2"), ("0 * * * *", "every hour"),
            ("30 * * * *", "at minute 30 of every hour"), ("0 */2 * * *", "every 2 hours"),
            ("15 */2 * * *", "at minute 15 of every 2nd hour"),
            ("*/5 9-17 * * mon-fri", "every 5 minutes of the hours 9 to 17 on Monday to Friday"),
            ("* 9 * * *", "every minute of hour 9"), ("@daily", "at 00:00 every day"),
            ("0 9 * * 1-5", "at 09:00 on Monday to Friday"),
            ("0 9,12,18 * * *", "at 09:00, 12:00 and 18:00 every day"),
            ("5 0 * * 0,6", "at 00:05 on Saturday and Sunday"),
            ("0 0 1 * *", "at 00:00 on day 1 of the month"),
            ("0 0 1 1 *", "at 00:00 on day 1 of January"),
            ("0 0 1,15 * 0", "at 00:00 on days 1 and 15 of the month or Sunday"),
            ("0 0 1-7 * */7", "at 00:00 on days 1 to 7 of the month if it is Sunday"),
            ("0 0 L * *", "at 00:00 on the last day of the month"),
            ("0 0 L-3 2 *", "at 00:00 on day 4 from the end of February"),
            ("0 0 LW * *", "at 00:00 on the last working day of the month"),
            ("0 12 15W * *", "at 12:00 on the working day nearest to day 15 of the month"),
            ("0 9 * * 5L", "at 09:00 on the last Friday of the month"),
            ("0 9 * * 1#2", "at 09:00 on the 2nd Monday of the month"),
            ("0 0 */2 * *", "at 00:00 on every 2nd day from day 1 of the month"),
            ("*/10 * * * * *", "every 10 seconds"), ("* * * * * *", "every second"),
            ("30 * * * * *", "at second 30 of every minute"),
            ("5 30 9 * * *", "at 09:30:05 every day"),
            (
                "1,2,3,50 0-5,7 * feb,jul-sep *",
                "at minutes 1 to 3 and 50 of the hours 0 to 5 and 7 "
                    + "in February and July to September"
            ),
        ]
    )
    func cron(text: String, sentence: String) throws {
        let zone = try Zone(named: "Europe/Berlin")
        let schedule = Schedule.cron(try CronExpression(parsing: text, zone: zone))
        #expect(schedule.explanation(in: .utc) == sentence + ", Europe/Berlin")
    }

    @Test(
        "A calendar expression in one sentence",
        arguments: [
            ("daily", "at 00:00 every day"), ("hourly", "every hour"),
            ("*:0/15", "every 15 minutes"),
            ("Mon..Fri 09:00", "at 09:00 on Monday to Friday"),
            ("*-*~1 23:59", "at 23:59 on the last day of the month"),
            ("*-02~03..05", "at 00:00 on days 3 to 5 from the end of February"),
            ("Mon *-05~07/1", "at 00:00 on the last 7 days of the month if it is Monday in May"),
            ("2026-12-24 18:00", "at 18:00 on day 24 of December 2026"),
            ("2026..2028-*-* 12:00", "at 12:00 in 2026 to 2028"),
            ("2024/4-02-29", "at 00:00 on day 29 of February every 4th year from 2024"),
            ("*:*:1.5", "at second 1.5 of every minute"),
            ("*:*:0/0.5", "every 0.5 seconds"),
            ("*:*:0.25/0.5", "every 0.5 seconds from second 0.25"),
            ("9..17:*:0/2.5", "every 2.5 seconds of every minute of the hours 9 to 17"),
            ("09:00:00.5", "at 09:00:00.5 every day"),
            ("Mon 09:00,30:1.5,2", "at 09:00:01.5, 09:00:02, 09:30:01.5 and 09:30:02 on Monday"),
            (
                "09:00:1..8/0.7,10",
                "at seconds 1 to 8 in steps of 0.7 and 10 of minute 0 of hour 9"
            ),
        ]
    )
    func calendar(text: String, sentence: String) throws {
        let schedule = Schedule.calendar(try CalendarExpression(parsing: text, zone: .utc))
        #expect(schedule.explanation(in: .utc) == sentence + ", UTC")
    }

    @Test("Lengths and dates in one sentence")
    func others() throws {
        let date = try instant("2026-12-01T08:00:00Z")
        let berlin = try Zone(named: "Europe/Berlin")
        #expect(
            Schedule.once(date).explanation(in: berlin) == "once, at 2026-12-01 09:00:00 CET"
        )
        #expect(Schedule.reboot.explanation(in: .utc) == "once at each start of the machine")
        for (span, words) in [
            ("5s", "every 5 seconds"), ("1h", "every hour"), ("90s", "every 1 minute 30 seconds"),
            ("1.5s", "every 1.5 seconds"), ("250ms", "every 250 milliseconds"),
            ("1w", "every week"),
        ] {
            let grid = IntervalGrid(first: date, interval: try TimeSpan(parsing: span))
            #expect(Schedule.every(grid).explanation(in: .utc) == words)
        }
    }
}
