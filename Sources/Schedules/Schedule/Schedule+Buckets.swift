// SPDX-License-Identifier: Apache-2.0

extension Schedule {
    /// Adds to each number how many fire dates lie from its bound up to the next one, of those after `date` and
    /// before `end`; there is one bound more than numbers.
    ///
    /// The clock of the bounds is ahead of the schedule's own by `shift`. Takes a few steps for each bucket, however
    /// many dates there are, and no more than a step for each date where there are few.
    public func count(
        between bounds: [Timestamp],
        ahead shift: TimeSpan,
        after date: Timestamp,
        before end: Timestamp,
        into numbers: inout [Int]
    ) {
        let stretches = Stretches(
            bounds: bounds,
            shift: shift.microseconds,
            start: date.clamped.microseconds + 1,
            end: end.clamped.microseconds
        )
        switch self {
        case .every(let grid): grid.count(in: stretches, into: &numbers)
        case .cron(let expression):
            expression.zone.count(of: expression.fields, in: stretches, into: &numbers)
        case .calendar(let expression):
            expression.zone.count(of: expression.fields, in: stretches, into: &numbers)
        case .once(let instant):
            stretches.each { index, start, end in
                if start <= instant.microseconds, instant.microseconds < end { numbers[index] += 1 }
            }
        case .reboot: return
        }
    }
}

/// The buckets as far as they are asked for, on the schedule's clock, in µs.
private struct Stretches {
    let bounds: [Timestamp]
    let shift: Int64
    let start: Int64
    let end: Int64

    /// Gives those that are not empty, one behind the other.
    @inline(__always)
    func each(_ body: (_ index: Int, _ start: Int64, _ end: Int64) -> Void) {
        for index in bounds.indices.dropLast() {
            let first = max(bounds[index].microseconds - shift, start)
            let next = min(bounds[index + 1].microseconds - shift, end)
            if first < next { body(index, first, next) }
        }
    }
}

extension IntervalGrid {
    fileprivate func count(in stretches: Stretches, into numbers: inout [Int]) {
        let (origin, step) = (first.microseconds, interval.microseconds)
        /// How many dates of the grid lie before an instant.
        func before(_ instant: Int64) -> Int64 {
            instant <= origin ? 0 : (instant - origin - 1) / step + 1
        }
        // Where buckets follow each other, the end of one is the start of the next.
        var (known, count) = (Int64.min, Int64(0))
        stretches.each { index, start, end in
            if start != known { count = before(start) }
            // Most buckets of a slow grid have no date, and need no division.
            if origin + count * step >= end {
                known = end
                return
            }
            let next = before(end)
            numbers[index] += Int(next - count)
            (known, count) = (end, next)
        }
    }
}

extension Zone {
    fileprivate func count(
        of pattern: some CivilPattern,
        in stretches: Stretches,
        into numbers: inout [Int]
    ) {
        var day = DayCount(pattern)
        // The instants for which the offset is known, and no change is near enough to matter.
        var (calm, offset) = (Int64(0)..<0, Int64(0))
        stretches.each { index, start, end in
            if !calm.contains(start) || end > calm.upperBound {
                let period = period(at: start)
                let begin = period.start == .min ? .min : period.start + Self.longestShift
                calm = begin < period.end ? begin..<period.end : 0..<0
                offset = period.offset
            }
            if calm.contains(start), end <= calm.upperBound {
                numbers[index] += day.count(from: start + offset, to: end + offset)
            } else {
                let before = Timestamp(microseconds: start - 1)
                numbers[index] += count(
                    of: pattern,
                    after: before,
                    through: Timestamp(microseconds: end - 1)
                )
            }
        }
    }
}

/// Counts the local times of a pattern that follow each other, and remembers the day that it is at.
private struct DayCount<Pattern: CivilPattern> {
    private let pattern: Pattern
    private var day = Int64.min
    private var isMatching = false
    /// The last local time up to which the day's times were counted, and how many they are.
    private var last: (local: Int64, count: Int) = (.min, 0)

    init(_ pattern: Pattern) { self.pattern = pattern }

    mutating func count(from start: Int64, to end: Int64) -> Int {
        let length: Int64 = 86_400_000_000
        var (count, from) = (0, start)
        while from < end {
            let (day, time) = floorDivide(from, by: length)
            let midnight = day * length
            let to = min(end, midnight + length)
            if day != self.day {
                self.day = day
                isMatching = pattern.countOfDays(from: Int(day), to: Int(day) + 1) == 1
                last = (midnight, 0)
            }
            if isMatching {
                if last.local != from { last = (from, pattern.countOfTimes(before: time)) }
                let through = pattern.countOfTimes(before: to - midnight)
                count += through - last.count
                last = (to, through)
            }
            from = to
        }
        return count
    }
}
