// SPDX-License-Identifier: Apache-2.0

extension Schedule {
    /// How many fire dates lie after `date`, up to and including `last`.
    ///
    /// Takes a few steps for each month and each change of the clocks, however many dates there are.
    public func count(after date: Timestamp, through last: Timestamp) -> Int {
        guard date < last else { return 0 }
        switch self {
        case .once(let instant): return date < instant && instant <= last ? 1 : 0
        case .every(let grid):
            guard let first = grid.nextFireDate(after: date), first <= last else { return 0 }
            return Int((last - first).microseconds / grid.interval.microseconds) + 1
        case .cron(let expression):
            return expression.zone.count(of: expression.fields, after: date, through: last)
        case .calendar(let expression):
            return expression.zone.count(of: expression.fields, after: date, through: last)
        case .reboot: return 0
        }
    }

    /// The beginning of each day in `zone`.
    public static func midnights(in zone: Zone) throws(ScheduleError) -> Schedule {
        .cron(try CronExpression(parsing: "0 0 * * *", zone: zone))
    }
}
