// SPDX-License-Identifier: Apache-2.0

// The one place that knows daylight saving.
//
// The rule is Debian cron's, for cron and calendar expressions alike:
//
// - A fixed-time schedule fires once for each of its local times. A local time that is skipped
//   fires at the first instant after the gap; one that comes twice fires the first time. Local
//   times that fall onto the same instant are one fire.
// - A schedule whose minutes or hours begin with `*` (`*`, `*/5`, but not `1-23/2`) follows real
//   time: it fires whenever the clock on the wall matches, so never in a gap and twice in a
//   repeated hour. An hourly one fires 23, 24 or 25 times a day.
//
// The first follows from one definition: a local time comes at the first instant whose local time is not before
// it. Neither asks how long a shift is: half hours, shifts at midnight and skipped days are no special cases.

/// What a clock on the wall shows: a date and a time without a zone.
///
/// Counts µs since 1970-01-01 00:00:00 of that clock.
public struct LocalTime: Hashable, Comparable, Sendable {
    public var microseconds: Int64

    public init(microseconds: Int64) {
        self.microseconds = microseconds
    }

    init(_ date: CivilDate, microsecondOfDay: Int64) {
        microseconds = Int64(date.daysSince1970) * 86_400_000_000 + microsecondOfDay
    }

    public static func < (left: Self, right: Self) -> Bool {
        left.microseconds < right.microseconds
    }

    /// What becomes of a local time in a zone.
    public enum Resolution: Hashable, Sendable {
        /// It comes once.
        case unique(Timestamp)
        /// It is skipped: the first instant after the gap.
        case gap(Timestamp)
        /// It comes more than once: the first and the second time.
        case repeated(Timestamp, Timestamp)

        /// The instant the rule chooses.
        public var date: Timestamp {
            switch self {
            case .unique(let date), .gap(let date), .repeated(let date, _): date
            }
        }
    }
}

extension LocalTime: CustomStringConvertible {
    /// "2026-12-01 09:00:00", with six fraction digits only if they are not all zero.
    public var description: String {
        let text = Timestamp(microseconds: microseconds).rfc3339
        let end = floorDivide(microseconds, by: 1_000_000).remainder == 0 ? 8 : 1
        return text.dropLast(end).split(separator: "T").joined(separator: " ")
    }
}

extension Zone {
    /// What the clock on the wall shows at `date`.
    public func localTime(at date: Timestamp) -> LocalTime {
        let instant = date.clamped.microseconds
        return LocalTime(microseconds: instant + period(at: instant).offset)
    }

    /// When a local time comes.
    public func resolve(_ local: LocalTime) -> LocalTime.Resolution {
        // Local times are clamped to the range of instants; that is wrong only for a day or two at its ends.
        let local = Timestamp(microseconds: local.microseconds).clamped
        let (period, instant) = firstInstant(notBefore: local.microseconds)
        let first = Timestamp(microseconds: instant)
        if instant + period.offset > local.microseconds { return .gap(first) }
        var later = period
        while later.end < instant + Self.longestShift {
            later = self.period(at: later.end)
            let again = local.microseconds - later.offset
            if again >= later.start, again < later.end {
                return .repeated(first, Timestamp(microseconds: again))
            }
        }
        return .unique(first)
    }

    /// More than any two offsets can differ by, in µs: offsets lie within 26 hours of UTC.
    static let longestShift: Int64 = 52 * 3_600_000_000

    /// A period of the zone in µs.
    struct Period {
        var start: Int64
        var end: Int64
        var offset: Int64
    }

    @inline(__always)
    func period(at microseconds: Int64) -> Period {
        let period = table.period(at: floorDivide(microseconds, by: 1_000_000).quotient)
        return Period(
            start: period.start == .min ? .min : period.start * 1_000_000,
            end: period.end == .max ? .max : period.end * 1_000_000,
            offset: period.offset * 1_000_000
        )
    }

    /// The first instant whose local time is `local` or later, with its period.
    func firstInstant(notBefore local: Int64) -> (period: Period, instant: Int64) {
        var period = period(at: local - Self.longestShift / 2)
        while period.end != .max, local >= period.end + period.offset {
            period = self.period(at: period.end)
        }
        return (period, max(local - period.offset, period.start))
    }
}

/// A set of local times: what a cron or calendar expression matches.
protocol LocalPattern {
    /// Whether its minutes or its hours begin with `*`.
    var followsRealTime: Bool { get }

    /// The first matching local time at or after `local`, both in µs; nil when there is none.
    func firstMatch(atOrAfter local: Int64) -> Int64?
}

extension Zone {
    /// The first instant after `date` at which `pattern` fires by the rule above; nil when there is
    /// none.
    ///
    /// Searches the pattern once, and at most once more for each change of offset on the way; allocates
    /// nothing.
    func nextDate(after date: Timestamp, matching pattern: some LocalPattern) -> Timestamp? {
        let instant =
            pattern.followsRealTime
            ? nextRealTime(after: date.clamped.microseconds, pattern)
            : nextFixedTime(after: date.clamped.microseconds, pattern)
        guard let instant, instant <= Timestamp.distantFuture.microseconds else { return nil }
        return Timestamp(microseconds: instant)
    }

    /// Whether `date`, a fire date of `pattern`, stands for a local time that was skipped.
    func isMoved(_ date: Timestamp, from pattern: some LocalPattern) -> Bool {
        let instant = date.clamped.microseconds
        let period = period(at: instant)
        // A gap ends where a period begins; no date elsewhere was moved by daylight saving.
        guard period.start == instant else { return false }
        let local = instant + period.offset
        return pattern.firstMatch(atOrAfter: local) != local
    }

    private func nextFixedTime(after instant: Int64, _ pattern: some LocalPattern) -> Int64? {
        let period = period(at: instant)
        let latest = latestLocalTime(by: instant, in: period)
        guard let match = pattern.firstMatch(atOrAfter: latest + 1) else { return nil }
        if match - period.offset < period.end {
            return match - period.offset
        }
        return firstInstant(notBefore: match).instant
    }

    /// The latest local time that has come by `instant`, in µs.
    ///
    /// In a repeated hour the clock shows an earlier one than that.
    func latestLocalTime(by instant: Int64, in period: Period) -> Int64 {
        var latest = instant + period.offset
        var earlier = period
        while earlier.start != .min, instant - earlier.start < Self.longestShift {
            let start = earlier.start
            earlier = self.period(at: start - 1)
            latest = max(latest, start + earlier.offset - 1)
        }
        return latest
    }

    private func nextRealTime(after instant: Int64, _ pattern: some LocalPattern) -> Int64? {
        var period = period(at: instant)
        var from = instant + period.offset + 1
        var match = pattern.firstMatch(atOrAfter: from)
        while true {
            if let match, match - period.offset < period.end { return match - period.offset }
            if period.end == .max { return nil }
            var next = period.end
            // Once no change can bring back a local time before `from`, only those near the match matter.
            if let match, next >= instant + Self.longestShift {
                next = max(next, match - Self.longestShift)
            }
            period = self.period(at: next)
            let start = period.start + period.offset
            // The match stays the next one, unless the clock went back before it or jumped over it.
            if start < from || start > match ?? .max {
                match = pattern.firstMatch(atOrAfter: start)
            } else if match == nil {
                return nil
            }
            from = start
        }
    }
}

extension Zone {
    /// How many fire dates of `pattern` lie after `date`, up to and including `now`.
    ///
    /// Counts the local times in between, and corrects that at each change of offset.
    ///
    /// - Complexity: a few steps for each year and each change of offset, however many dates there are.
    func count(of pattern: some CivilPattern, after date: Timestamp, through now: Timestamp) -> Int
    {
        let (start, end) = (date.clamped.microseconds, now.clamped.microseconds)
        guard start < end else { return 0 }
        var period = period(at: start)
        let isFixed = !pattern.followsRealTime
        /// The local times before this one have come, or do not come again.
        var next = (isFixed ? latestLocalTime(by: start, in: period) : start + period.offset) + 1
        let first = next
        var correction = 0
        while period.end <= end {
            let before = period.end + period.offset
            period = self.period(at: period.end)
            let after = period.start + period.offset
            next = isFixed ? max(next, before) : before
            if after > next {
                // The skipped local times fire as one, at the change, unless that fires by itself; or not at all.
                let skipped = pattern.count(from: next, to: after)
                correction -= skipped
                if isFixed, skipped > 0, pattern.count(from: after, to: after + 1) == 0 {
                    correction += 1
                }
            } else if !isFixed {
                correction += pattern.count(from: after, to: next)
            }
            next = isFixed ? max(next, after) : after
        }
        let last = end + period.offset + 1
        next = isFixed ? max(next, last) : last
        // A clock that went back may show an earlier time than at first.
        return correction + pattern.count(from: first, to: next)
            - pattern.count(from: next, to: first)
    }
}
