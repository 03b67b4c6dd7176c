// SPDX-License-Identifier: Apache-2.0

import Schedules
import TestRandom
import Testing

@Suite("Next dates by brute force") struct PropertyTests {
    /// Zones with a change of offset, and a day on which it happens.
    static let changes = [
        ("Europe/Berlin", "2026-03-29"), ("Europe/Berlin", "2026-10-25"),
        ("America/New_York", "2045-03-12"), ("America/New_York", "2045-11-05"),
        ("Australia/Lord_Howe", "2026-04-05"), ("Australia/Lord_Howe", "2026-10-04"),
        ("America/Santiago", "2026-04-05"), ("America/Santiago", "2026-09-06"),
        ("Pacific/Apia", "2011-12-30"), ("Antarctica/Troll", "2026-03-29"),
        ("Pacific/Apia", "2021-04-04"),
        ("Antarctica/Troll", "2026-10-25"), ("Asia/Pyongyang", "2015-08-14"),
        ("America/Caracas", "2016-05-01"), ("Europe/Dublin", "2060-03-28"),
        ("Pacific/Kwajalein", "1993-08-21"), ("America/Havana", "2026-03-08"),
        ("Africa/Casablanca", "2026-02-15"), ("Asia/Kathmandu", "2026-05-05"),
    ]

    @Test(
        "Around a change of offset, the dates are those of a walk through every minute",
        arguments: changes
    )
    func minutes(name: String, day: String) throws {
        let zone = try Zone(named: name)
        let start = try instant(day + "T00:00:00Z") - .seconds(36 * 3600)
        // Every minute of four days with its local time; the latest local time decides fixed times.
        let minutes = (0..<(4 * 1440)).map { minute in
            let date = start + .seconds(Int64(minute) * 60)
            let local = zone.localTime(at: date)
            return (date: date, local: local, wall: WallMinute(local))
        }
        var generator = SplitMix(seed: 4)
        for _ in 0..<25 {
            let random = RandomCron(using: &generator)
            let schedule = Schedule.cron(try CronExpression(parsing: random.text, zone: zone))
            var expected: [Timestamp] = []
            var latest = minutes[0].local
            for (date, local, wall) in minutes.dropFirst() {
                if random.followsRealTime {
                    if random.matches(wall) { expected.append(date) }
                } else if local > latest {
                    // The local minutes that have come by now and had not before: in a gap, many.
                    var hasMatch = random.matches(wall)
                    var passed = latest.microseconds + 60_000_000
                    while !hasMatch, passed < local.microseconds {
                        hasMatch = random.matches(LocalTime(microseconds: passed))
                        passed += 60_000_000
                    }
                    if hasMatch { expected.append(date) }
                }
                latest = max(latest, local)
            }
            let end = minutes[minutes.count - 1].date
            let dates = nextDates(schedule, after: start, count: expected.count + 1)
            #expect(
                dates.filter { $0 <= end } == expected,
                "\(random.text) in \(name) around \(day)"
            )
        }
    }

    @Test("Over years, no earlier day matches")
    func days() throws {
        var generator = SplitMix(seed: 5)
        for _ in 0..<300 {
            let random = RandomCron(using: &generator)
            let schedule = Schedule.cron(try CronExpression(parsing: random.text, zone: .utc))
            let start = Timestamp(
                microseconds: .random(in: 0..<4_000_000_000_000_000, using: &generator)
            )
            let next = schedule.nextFireDate(after: start)
            // The first minute of each matching hour and day, sought day by day.
            let hour = random.hours.min() ?? 0
            let minute = random.minutes.min() ?? 0
            let first = Int64(hour * 3600 + minute * 60) * 1_000_000
            var midnight = (start.microseconds / 86_400_000_000 + 1) * 86_400_000_000
            if let next, next.microseconds < midnight {
                #expect(next > start)
                #expect(random.matches(LocalTime(microseconds: next.microseconds)))
                continue
            }
            var found: Timestamp?
            for _ in 0..<3000 where found == nil {
                if random.matches(LocalTime(microseconds: midnight + first)) {
                    found = Timestamp(microseconds: midnight + first)
                }
                midnight += 86_400_000_000
            }
            if let found { #expect(next == found, "\(random.text) after \(start)") }
            if let next, found == nil { #expect(next.microseconds >= midnight) }
        }
    }

    @Test("Dates strictly increase, and lie in the expression, in every zone", arguments: changes)
    func increasing(name: String, day: String) throws {
        let zone = try Zone(named: name)
        var generator = SplitMix(seed: 6)
        for _ in 0..<40 {
            let random = RandomCron(using: &generator)
            let schedule = Schedule.cron(try CronExpression(parsing: random.text, zone: zone))
            let start = try instant(day + "T00:00:00Z") - .seconds(86_400)
            var last = start
            for date in nextDates(schedule, after: start, count: 60) {
                #expect(date > last)
                let isMoved = schedule.movedByDaylightSaving(date)
                #expect(isMoved != random.matches(zone.localTime(at: date)))
                #expect(schedule.nextFireDate(after: date - TimeSpan(microseconds: 1)) == date)
                last = date
            }
        }
    }

    @Test("A grid's next date is on the grid, and the first after its argument")
    func grid() throws {
        var generator = SplitMix(seed: 7)
        for _ in 0..<1000 {
            let first = Timestamp(
                microseconds: .random(in: 0..<4_000_000_000_000_000, using: &generator)
            )
            let interval = TimeSpan(
                microseconds: .random(in: 1000..<90_000_000_000, using: &generator)
            )
            let schedule = Schedule.every(IntervalGrid(first: first, interval: interval))
            let distance = TimeSpan(
                microseconds: .random(
                    in: -1_000_000_000_000..<1_000_000_000_000,
                    using: &generator
                )
            )
            let date = first + distance
            let next = try #require(schedule.nextFireDate(after: date))
            #expect(next > date && next >= first)
            #expect((next - first).microseconds % interval.microseconds == 0)
            #expect(next - interval <= date || next == first)
        }
    }
}
