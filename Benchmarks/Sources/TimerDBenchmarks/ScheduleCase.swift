// SPDX-License-Identifier: Apache-2.0

import Schedules

/// A schedule whose next dates are counted, and the stretch of time they are looked for in.
struct ScheduleCase: Sendable {
    var kind: Kind
    var expression: String
    var zone: String
    /// The first so many dates are gone through, over and over; never more than there are.
    var dates: Int

    enum Kind: String, Sendable { case every, cron, calendar }

    /// The day before clocks go forward in Berlin: dense schedules cross that, sparse ones many.
    static let start = Timestamp(microseconds: 1_774_656_000_000_000)

    /// Each schedule in a zone without changes of offset, and in one with two a year.
    static let all: [ScheduleCase] =
        [ScheduleCase(kind: .every, expression: "5s", zone: "UTC", dates: 10_000)]
        + ["UTC", "Europe/Berlin"].flatMap { zone in
            expressions.map { kind, expression, dates in
                ScheduleCase(kind: kind, expression: expression, zone: zone, dates: dates)
            }
        }

    private static let expressions: [(Kind, String, Int)] = [
        (.cron, "*/5 * * * *", 1000),
        (.cron, "0 9 * * 1-5", 1000),
        (.cron, "0 0 29 2 *", 100),
        (.cron, "*/5 * * * * *", 1000),
        (.cron, "30 2 L * *", 500),
        (.cron, "0 9 LW * *", 500),
        (.cron, "0 9 * * 5#3", 500),
        (.calendar, "*:0/5", 1000),
        (.calendar, "Mon..Fri 09:00", 1000),
        (.calendar, "*-*~01 02:30", 500),
        (.calendar, "*:*:0/0.25", 1000),
        // systemd looks no further than the year 2199.
        (.calendar, "*-02-29", 40),
    ]

    var name: String { kind == .every ? "every \(expression)" : "\(kind) '\(expression)' \(zone)" }

    func schedule() throws -> Schedule {
        let zone = try Zone(named: zone)
        return switch kind {
        case .every:
            .every(IntervalGrid(first: Self.start, interval: try TimeSpan(parsing: expression)))
        case .cron: .cron(try CronExpression(parsing: expression, zone: zone))
        case .calendar: .calendar(try CalendarExpression(parsing: expression, zone: zone))
        }
    }

    /// Dates for a second of processor time, and the last one of the stretch.
    ///
    /// - Throws: `BenchmarkError` where there are fewer dates.
    func rate(seconds: Double) throws -> DateRate {
        let schedule = try schedule()
        // To read the clock takes longer than some tens of dates.
        let passesInPart = max(1, 10_000 / dates)
        var passes = 0
        var last = Self.start
        let elapsed = try Clock.processorTime(atLeast: seconds) {
            for _ in 0..<passesInPart {
                last = Self.start
                for _ in 0..<dates {
                    guard let next = schedule.nextFireDate(after: last) else {
                        throw BenchmarkError("\(name) has fewer than \(dates) dates")
                    }
                    last = next
                }
            }
            passes += passesInPart
        }
        return DateRate(rate: Double(passes * dates) / elapsed, last: last)
    }
}

/// How fast dates were found, and which was the last: nil where the program did not tell.
struct DateRate: Sendable {
    var rate: Double
    var last: Timestamp?
}
