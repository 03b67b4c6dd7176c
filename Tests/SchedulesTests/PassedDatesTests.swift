// SPDX-License-Identifier: Apache-2.0

import Schedules
import TestRandom
import Testing

@Suite("PassedDates") struct PassedDatesTests {
    @Test(
        "Counting agrees with a walk, through changes of offset",
        arguments: PropertyTests.changes
    )
    func walk(name: String, day: String) throws {
        let zone = try Zone(named: name)
        var generator = SplitMix(seed: 8)
        for round in 0..<30 {
            let random = RandomCron(using: &generator)
            let hasSeconds = round % 3 == 0
            let text = hasSeconds ? "*/17 " + random.text : random.text
            let schedule = Schedule.cron(try CronExpression(parsing: text, zone: zone))
            let middle = try instant(day + "T12:00:00Z")
            let hours = Int64.random(in: 1...(hasSeconds ? 4 : 40), using: &generator)
            let spread = 3_600_000_000 * hours
            let start = middle - TimeSpan(microseconds: .random(in: 0...spread, using: &generator))
            let now = middle + TimeSpan(microseconds: .random(in: 0...spread, using: &generator))
            guard let first = schedule.nextFireDate(after: start) else { continue }
            try check(schedule, first, now, newest: .random(in: 0...20, using: &generator))
        }
    }

    @Test(
        "Calendar expressions, with parts of seconds and bounded years",
        arguments: [
            "*:*:0/7.5", "Mon..Fri 09..17:00/15", "*-*~3..5 *:30", "2026..2027-*-* 12:00:00.000001",
            "02:30", "*-02-29", "*:0/20:10..30/5,59.999999", "*:0/7:10..30/5",
            "*:0/9:3.25..50/0.5", "*:*:59.999999", "*:0/30:0/2,0/3",
        ]
    )
    func calendar(text: String) throws {
        let zone = try Zone(named: "Europe/Berlin")
        let schedule = Schedule.calendar(try CalendarExpression(parsing: text, zone: zone))
        for (start, end) in [
            ("2026-03-27T00:00:00Z", "2026-03-30T12:00:00Z"),
            ("2026-10-24T00:00:00Z", "2026-10-26T12:00:00.000001Z"),
            ("2026-01-31T09:15:00Z", "2026-01-31T16:15:00Z"),
        ] {
            guard let first = schedule.nextFireDate(after: try instant(start)) else { continue }
            try check(schedule, first, try instant(end), newest: 5)
        }
    }

    @Test("Two weeks of every second, and a century of every minute, are counted at once")
    func far() throws {
        let zone = try Zone(named: "Europe/Berlin")
        let first = try instant("2026-03-01T00:00:00Z")
        let seconds = Schedule.cron(try CronExpression(parsing: "* * * * * *", zone: zone))
        let passed = seconds.passedDates(
            from: first,
            through: first + .seconds(1_209_600),
            newest: 2
        )
        #expect(passed.count == 1_209_601)
        #expect(passed.newest == [first + .seconds(1_209_599), first + .seconds(1_209_600)])
        let minutes = Schedule.cron(try CronExpression(parsing: "* * * * *", zone: zone))
        let century = minutes.passedDates(
            from: first,
            through: first + .seconds(3_155_760_000),
            newest: 1
        )
        #expect(century.count == 52_596_001)
        #expect(century.last == first + .seconds(3_155_760_000))
    }

    @Test("A hundred dates a second for ten years are counted at once")
    func partsOfSeconds() throws {
        let first = try instant("2026-03-01T00:00:00Z")
        let now = try instant("2036-03-01T00:00:00Z")
        let schedule = Schedule.calendar(try CalendarExpression(parsing: "*:*:0/0.01", zone: .utc))
        let passed = schedule.passedDates(from: first, through: now, newest: 2)
        #expect(passed.count == 3653 * 8_640_000 + 1)
        #expect(passed.newest == [now - .milliseconds(10), now])
    }

    @Test("Skipped times count as one, and not at all beside a time that comes as they do")
    func gap() throws {
        let zone = try Zone(named: "Europe/Berlin")
        let first = try instant("2026-03-28T12:00:00Z")
        let now = try instant("2026-03-29T01:30:00Z")
        for (text, count) in [("0,30 2 * * *", 1), ("0,30 2,3 * * *", 2), ("0 3 * * *", 1)] {
            let schedule = Schedule.cron(try CronExpression(parsing: text, zone: zone))
            #expect(schedule.passedDates(from: first, through: now, newest: 9).count == 1 + count)
            try check(schedule, first, now, newest: 9)
        }
    }

    @Test("A date that is not the expression's own still counts as the first")
    func moved() throws {
        let schedule = Schedule.cron(try CronExpression(parsing: "0 * * * *", zone: .utc))
        let first = try instant("2026-01-01T00:10:00Z")
        let passed = schedule.passedDates(
            from: first,
            through: try instant("2026-01-01T02:00:00Z"),
            newest: 10
        )
        #expect(passed.count == 3)
        #expect(passed.newest.first == first)
        #expect(passed.last == (try instant("2026-01-01T02:00:00Z")))
    }

    @Test("Before the first date there is none, and one-shots have one")
    func edges() throws {
        let first = try instant("2026-01-01T00:00:00Z")
        let before = first - TimeSpan(microseconds: 1)
        let schedules: [Schedule] = [
            .once(first), .every(IntervalGrid(first: first, interval: .seconds(5))),
            .cron(try CronExpression(parsing: "* * * * *", zone: .utc)),
        ]
        for schedule in schedules {
            let none = schedule.passedDates(from: first, through: before, newest: 3)
            #expect(none.count == 0 && none.newest.isEmpty && none.last == first)
            let one = schedule.passedDates(from: first, through: first, newest: 3)
            #expect(one.count == 1 && one.newest == [first] && one.last == first)
            let unseen = schedule.passedDates(from: first, through: first, newest: 0)
            #expect(unseen.count == 1 && unseen.newest.isEmpty && unseen.last == first)
        }
        let once = schedules[0].passedDates(from: first, through: .distantFuture, newest: 3)
        #expect(once.count == 1)
    }

    @Test("A grid's passed dates are arithmetic, also after two weeks of 5 seconds")
    func grid() throws {
        let first = try instant("2026-01-01T00:00:00Z")
        let schedule = Schedule.every(IntervalGrid(first: first, interval: .seconds(5)))
        let now = first + .seconds(1_209_600) + .milliseconds(4999)
        let passed = schedule.passedDates(from: first + .seconds(5), through: now, newest: 3)
        #expect(passed.count == 241_920)
        #expect(passed.first == first + .seconds(5))
        #expect(passed.last == first + .seconds(1_209_600))
        #expect(
            passed.newest == [
                first + .seconds(1_209_590), first + .seconds(1_209_595),
                first + .seconds(1_209_600),
            ]
        )
        let all = schedule.passedDates(from: first, through: .distantFuture, newest: 1)
        #expect(all.newest == [all.last])
        #expect(schedule.nextFireDate(after: all.last) == nil)
    }

    @Test(
        "The last of so many dates is that of a walk, through changes of offset and to the end",
        arguments: [
            "*:*:0/7.5", "Mon..Fri 09,17:30", "02:30", "*:0/20", "*-*-1 03:00", "*-02-29",
            "2026..2027-*-* *:0/5", "2026,2040-*-* 02:00/10", "Mon *-02-29",
        ]
    )
    func last(text: String) throws {
        let zone = try Zone(named: "Europe/Berlin")
        let schedule = Schedule.calendar(try CalendarExpression(parsing: text, zone: zone))
        let start = try instant("2026-03-28T11:00:00Z")
        let all = nextDates(schedule, after: start, count: 3000)
        for end in [start + .seconds(86_400), start + .seconds(90 * 86_400), .distantFuture] {
            for number in [1, 17, 18, 100, 3000] {
                let dates = all.prefix(number).prefix { $0 <= end }
                let found = schedule.last(of: number, after: start, through: end)
                #expect(found?.date == dates.last)
                let count = found?.count ?? 0
                #expect(count == dates.count)
            }
        }
    }

    @Test("The last of ten thousand dates of a grid is found, and none of a one-shot that is over")
    func lastOfGrid() throws {
        let first = try instant("2026-01-01T00:00:00Z")
        let schedule = Schedule.every(IntervalGrid(first: first, interval: .milliseconds(1)))
        let found = schedule.last(of: 10_000, after: first, through: .distantFuture)
        #expect(found?.date == first + .milliseconds(10_000))
        #expect(found?.count == 10_000)
        let once = Schedule.once(first).last(of: 5, after: first, through: .distantFuture)
        #expect(once?.count == nil)
    }

    /// Compares with every date taken one by one.
    private func check(
        _ schedule: Schedule,
        _ first: Timestamp,
        _ now: Timestamp,
        newest: Int
    ) throws {
        var dates: [Timestamp] = []
        var date: Timestamp? = first
        while let current = date, current <= now {
            dates.append(current)
            date = schedule.nextFireDate(after: current)
        }
        let passed = schedule.passedDates(from: first, through: now, newest: newest)
        #expect(passed.count == dates.count, "\(schedule.explanation(in: .utc)) from \(first)")
        #expect(passed.first == first)
        #expect(passed.last == dates.last ?? first)
        #expect(passed.newest == dates.suffix(newest))
    }
}
