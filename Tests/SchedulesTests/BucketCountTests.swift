// SPDX-License-Identifier: Apache-2.0

import Schedules
import TestRandom
import Testing

@Suite("Dates counted by buckets") struct BucketCountTests {
    /// Compares the numbers with those of a walk through all dates.
    private func check(
        _ schedule: Schedule,
        _ bounds: [Timestamp],
        ahead shift: TimeSpan = .zero,
        after date: Timestamp,
        before end: Timestamp
    ) {
        var expected = Array(repeating: 1, count: bounds.count - 1)
        // What lies before the first bucket need not be walked through.
        let instant = TimeSpan(microseconds: 1)
        var next = schedule.nextFireDate(after: max(date, bounds[0] - shift - instant))
        while let date = next, date < end, date + shift < bounds[bounds.count - 1] {
            if let bucket = bounds.lastIndex(where: { $0 <= date + shift }) {
                expected[bucket] += 1
            }
            next = schedule.nextFireDate(after: date)
        }
        var numbers = Array(repeating: 1, count: bounds.count - 1)
        schedule.count(between: bounds, ahead: shift, after: date, before: end, into: &numbers)
        #expect(numbers == expected, "\(schedule)")
    }

    private func bounds(_ start: Timestamp, _ count: Int64, _ length: Int64) -> [Timestamp] {
        (0...count).map { start + .seconds(length * $0) }
    }

    @Test("As many as a walk finds, around changes of offset", arguments: PropertyTests.changes)
    func patterns(name: String, day: String) throws {
        let zone = try Zone(named: name)
        let start = try instant(day + "T00:00:00Z") - .seconds(36 * 3600)
        var generator = SplitMix(seed: 9)
        for length: Int64 in [3600, 1700, 86_400] {
            let bounds = bounds(start, 5 * 86_400 / length, length)
            for _ in 0..<10 {
                let cron = try CronExpression(
                    parsing: RandomCron(using: &generator).text,
                    zone: zone
                )
                check(.cron(cron), bounds, after: .distantPast, before: .distantFuture)
                check(
                    .cron(cron),
                    bounds,
                    after: start + .seconds(40_001),
                    before: start + .seconds(250_007)
                )
            }
        }
    }

    @Test(
        "Of expressions with parts of seconds",
        arguments: ["*:*:0/7.5", "Mon..Fri 09..17:00/15", "02:30", "*-*-25 23:59:59.999999"]
    )
    func expressions(text: String) throws {
        let zone = try Zone(named: "Europe/Berlin")
        let schedule = Schedule.calendar(try CalendarExpression(parsing: text, zone: zone))
        let start = try instant("2026-10-24T20:00:00Z")
        check(schedule, bounds(start, 30, 3600), after: start, before: .distantFuture)
    }

    @Test(
        "Of grids, fast and slow, begun and not begun, on a clock of their own",
        arguments: [1_000_000, 59_999_999, 3_600_000_000, 3_599_999_999, 86_400_000_000, 7],
        [-1_000_003, 0, 5_000_000_001]
    )
    func grids(interval: Int64, first: Int64) throws {
        let start = try instant("2026-12-01T08:00:00Z")
        let grid = IntervalGrid(
            first: start + TimeSpan(microseconds: first),
            interval: TimeSpan(microseconds: interval)
        )
        // A walk through each of very many dates would take long.
        let bounds =
            interval < 1000
            ? (0...5).map { start + TimeSpan(microseconds: $0 * 100) } : bounds(start, 5, 3600)
        for shift: Int64 in [0, 500, -1_700_000_001] {
            let shift = TimeSpan(microseconds: interval < 1000 ? shift % 600 : shift)
            check(.every(grid), bounds, ahead: shift, after: start, before: .distantFuture)
            check(.every(grid), bounds, ahead: shift, after: .distantPast, before: bounds[4])
        }
    }

    @Test("Of one date, and of none")
    func few() throws {
        let start = try instant("2026-12-01T08:00:00Z")
        let bounds = bounds(start, 3, 3600)
        for seconds: Int64 in [-1, 0, 3599, 3600, 10_800] {
            check(.once(start + .seconds(seconds)), bounds, after: .distantPast, before: bounds[3])
        }
        check(.reboot, bounds, after: .distantPast, before: bounds[3])
    }
}
