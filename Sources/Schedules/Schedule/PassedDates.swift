// SPDX-License-Identifier: Apache-2.0

/// The fire dates of a schedule that lie in a stretch of time, without holding them all.
public struct PassedDates: Hashable, Sendable {
    /// How many there are; 0 when the stretch ends before its first date.
    public var count: Int
    public var first: Timestamp
    /// The newest date; `first` when there is none.
    public var last: Timestamp
    /// The newest dates, oldest first; as many as were asked for, or all.
    public var newest: [Timestamp]

    /// No date at all.
    init(first: Timestamp) {
        (count, self.first, last, newest) = (0, first, first, [])
    }

    init(count: Int, first: Timestamp, last: Timestamp, newest: [Timestamp]) {
        self.count = count
        self.first = first
        self.last = last
        self.newest = newest
    }

    /// `first` and the dates of a pattern after it, through `now`.
    ///
    /// Counts by arithmetic, finds where the newest `n` begin by bisection, and walks through those
    /// alone. The bisection counts no stretch twice that it is done with, and costs about as much as one count.
    init(
        of pattern: some CivilPattern,
        in zone: Zone,
        from first: Timestamp,
        through now: Timestamp,
        newest n: Int
    ) {
        self.init(first: first)
        guard first <= now else { return }
        let (first, now) = (first.clamped, now.clamped)
        let later = zone.count(of: pattern, after: first, through: now)
        count = later + 1
        // The latest instant with as many dates after it as are wanted.
        let wanted = max(1, n)
        var start = first
        if later > wanted {
            var (end, behind) = (now, 0)
            // Most often they lie within the last day; where they do not, twice as far is looked next.
            var step: Int64 = 86_400_000_000
            while end.microseconds - start.microseconds > 1 {
                step = min(step, (end.microseconds - start.microseconds) / 2)
                let middle = Timestamp(microseconds: end.microseconds - step)
                let inside = zone.count(of: pattern, after: middle, through: end)
                if behind + inside < wanted {
                    (end, behind) = (middle, behind + inside)
                    step *= 2
                } else {
                    start = middle
                }
            }
        }
        var dates = start == first ? [first] : []
        while let date = zone.nextDate(after: start, matching: pattern), date <= now {
            dates.append(date)
            start = date
        }
        last = dates.last ?? first
        newest = dates.suffix(max(0, n))
    }
}
