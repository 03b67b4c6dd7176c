// SPDX-License-Identifier: Apache-2.0

/// The dates `first + n * interval`, for n from 0 on.
public struct IntervalGrid: Hashable, Sendable {
    public var first: Timestamp
    /// At least 1 µs; users' intervals are at least 1 ms.
    public let interval: TimeSpan

    /// A grid; an interval below 1 µs is raised to it, so that every date has a next one.
    public init(first: Timestamp, interval: TimeSpan) {
        self.first = first
        self.interval = max(interval, TimeSpan(microseconds: 1))
    }

    /// The first date of the grid strictly after `date`; nil beyond the year 9999.
    public func nextFireDate(after date: Timestamp) -> Timestamp? {
        if date < first { return first }
        let steps = (date - first).microseconds / interval.microseconds
        let (distance, overflow) = (steps + 1).multipliedReportingOverflow(
            by: interval.microseconds
        )
        if overflow { return nil }
        let (sum, carry) = first.microseconds.addingReportingOverflow(distance)
        if carry || sum > Timestamp.distantFuture.microseconds { return nil }
        return Timestamp(microseconds: sum)
    }

    /// The dates from `start`, itself a fire date, to `now`.
    ///
    /// - Complexity: O(`n`).
    func passedDates(from start: Timestamp, through now: Timestamp, newest n: Int) -> PassedDates {
        guard start <= now else { return PassedDates(first: start) }
        let steps = (now - start).microseconds / interval.microseconds
        let kept = min(Int64(max(n, 0)), steps + 1)
        let date = { (step: Int64) in
            Timestamp(microseconds: start.microseconds + step * interval.microseconds)
        }
        return PassedDates(
            count: Int(steps) + 1,
            first: start,
            last: date(steps),
            newest: ((steps + 1 - kept)..<(steps + 1)).map(date)
        )
    }
}
