// SPDX-License-Identifier: Apache-2.0

extension Schedule {
    /// How many fire dates lie after `date`, up to and including `last`.
    ///
    /// Takes a few steps for each year and each change of the clocks, however many dates there are.
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

    /// The last of the first `number` dates after `date`, of those up to and including `end`, and how many they are; nil
    /// where there is none.
    ///
    /// Dates that lie close are counted, a stretch at a time: ten thousand take some dozen steps. Those that lie far apart
    /// take a step each.
    public func last(of number: Int, after date: Timestamp, through end: Timestamp)
        -> (date: Timestamp, count: Int)?
    {
        var (at, count) = (date, 0)
        var found: Timestamp?
        var span = Self.countedAtOnce
        while count < number, let next = nextFireDate(after: at), next <= end {
            (at, found, count) = (next, next, count + 1)
            // As few are found as soon by themselves.
            guard number - count > 16 else { continue }
            let through = min(at + span, end)
            let passed = self.count(after: at, through: through)
            let isBeyond = passed >= number - count
            if !isBeyond { (at, count) = (through, count + passed) }
            // A longer stretch pays only where it has a date for about each step that its count takes.
            let isDense = Int64(passed) >= span.microseconds / Self.countedAtOnce.microseconds
            span = isBeyond || !isDense ? span.half : span + span
        }
        guard let found else { return nil }
        // Where no date follows the last stretch, that one has the last date.
        return (found < at ? passedDates(from: found, through: at, newest: 1).last : found, count)
    }

    /// How much time is counted about as quickly as one date is found.
    private static let countedAtOnce = TimeSpan.seconds(64 * 86_400)

    /// The beginning of each day in `zone`.
    public static func midnights(in zone: Zone) throws(ScheduleError) -> Schedule {
        .cron(try CronExpression(parsing: "0 0 * * *", zone: zone))
    }
}

extension TimeSpan {
    fileprivate var half: TimeSpan { TimeSpan(microseconds: microseconds / 2) }
}
