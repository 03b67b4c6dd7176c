// SPDX-License-Identifier: Apache-2.0

package import Schedules

/// The stretches of time that a calendar counts by: each begins where the one before ends.
package struct CalendarBuckets: Hashable, Sendable {
    /// Where they begin, and where the last one ends, which is the first instant behind it.
    package let bounds: [Timestamp]

    package var count: Int { bounds.count - 1 }

    /// Buckets of an hour, from `from` on.
    package init?(hoursFrom from: Timestamp, before end: Timestamp, atMost most: Int) {
        self.init(from: from, before: end, atMost: most) { $0 + .seconds(3600) }
    }

    /// Buckets up to each midnight of the zone, or to what comes in its place where daylight saving skips it.
    package init?(daysFrom from: Timestamp, before end: Timestamp, in zone: Zone, atMost most: Int)
        throws(ScheduleError)
    {
        // The rules by which jobs fire at midnight decide which instant that is.
        let midnights = try Schedule.midnights(in: zone)
        self.init(from: from, before: end, atMost: most) {
            midnights.nextFireDate(after: $0) ?? .distantFuture
        }
    }

    /// Nil if there are more than `most`, or none.
    private init?(
        from: Timestamp,
        before end: Timestamp,
        atMost most: Int,
        next: (Timestamp) -> Timestamp
    ) {
        guard from < end else { return nil }
        var bounds = [from]
        while let last = bounds.last, last < end {
            guard bounds.count <= most else { return nil }
            bounds.append(min(max(next(last), last + TimeSpan(microseconds: 1)), end))
        }
        self.bounds = bounds
    }

    /// The bucket in which a date lies; nil for one outside of all.
    package func index(of date: Timestamp) -> Int? {
        guard let first = bounds.first, let end = bounds.last, first <= date, date < end else {
            return nil
        }
        var (low, high) = (0, count)
        while high - low > 1 {
            let middle = (low + high) / 2
            if bounds[middle] <= date { low = middle } else { high = middle }
        }
        return low
    }

    /// `number` dates, of which only the first and the last are known, spread evenly over the buckets.
    package func spread(_ number: Int, from first: Timestamp, through last: Timestamp) -> [(
        bucket: Int, count: Int
    )] {
        guard number > 1, last > first else {
            return index(of: first).map { [(bucket: $0, count: number)] } ?? []
        }
        let length = (last - first).microseconds
        // How many of them lie before a date; the product may be more than 64 bits hold.
        func before(_ date: Timestamp) -> Int {
            if date <= first { return 0 }
            if date > last { return number }
            let product = (date - first).microseconds.multipliedFullWidth(by: Int64(number - 1))
            let (quotient, remainder) = length.dividingFullWidth(product)
            return Int(quotient) + (remainder > 0 ? 1 : 0)
        }
        return (0..<count).compactMap { bucket in
            let inside = before(bounds[bucket + 1]) - before(bounds[bucket])
            return inside > 0 ? (bucket, inside) : nil
        }
    }
}
