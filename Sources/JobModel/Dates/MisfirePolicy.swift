// SPDX-License-Identifier: Apache-2.0

package import Schedules

/// What to do with fire dates that have passed: pure, and the same on a busy host, after a stop and
/// after sleep.
///
/// All passed dates but the latest are missed; the latest is late, and fires, if it is no older
/// than `after` and `tolerance` together, else it is missed too. The mode says what becomes of those that
/// are missed.
package struct MisfirePolicy: Hashable, Sendable {
    package var mode: JobDefinition.Misfire
    /// How many missed dates `all` makes up for: the newest.
    package var limit: Int
    /// How old the latest date may be to count as late.
    package var after: TimeSpan
    /// What was due longer ago than this and `tolerance` is never made up for; nil for no bound.
    package var window: TimeSpan?
    /// By how much a fire may be put off, to share a wake-up: it is not missed for that.
    ///
    /// It counts here as stated, also where half the time until the next fire is shorter.
    package var tolerance = TimeSpan.zero

    /// Whether a date that was due then is missed where it fires no earlier than now.
    package func isMissed(_ due: Timestamp, at now: Timestamp) -> Bool {
        now - due > after + tolerance
    }

    /// Why a date that was due then does not fire any more, whatever comes behind it; nil where it may.
    package func refusal(ofDue due: Timestamp, at now: Timestamp) -> FireReason? {
        if let window, now - due > window + tolerance { return .misfireWindow }
        return mode == .skip && isMissed(due, at: now) ? .misfire : nil
    }

    package init(
        mode: JobDefinition.Misfire = .once,
        limit: Int = 100,
        after: TimeSpan = .seconds(60),
        window: TimeSpan? = nil
    ) {
        (self.mode, self.limit, self.after, self.window) = (mode, limit, after, window)
    }

    /// A fire to be claimed.
    package struct DueFire: Hashable, Sendable {
        package var date: Timestamp
        /// How many missed dates it stands for; one that is made up for by itself counts as one.
        package var missed: Int
    }

    /// Dates, next to each other, which do not become fires.
    package struct SkippedDates: Hashable, Sendable {
        package var first: Timestamp
        package var last: Timestamp
        package var count: Int
        package var reason: FireReason

        package init(first: Timestamp, last: Timestamp, count: Int, reason: FireReason) {
            (self.first, self.last, self.count, self.reason) = (first, last, count, reason)
        }
    }

    package struct Resolution: Hashable, Sendable {
        /// Oldest first; each date that is neither here nor `fire` is later than both.
        package var skipped: [SkippedDates] = []
        /// Nil where none of the passed dates fires.
        package var fire: DueFire?
    }

    /// Decides which of the dates from `first`, itself one that is due, through `now` fires, and why the others do not.
    ///
    /// `until` is the last instant at which the job still has dates, nil for no such end.
    /// Under `all` only the oldest date that is made up for is returned; the next resolution, from
    /// the date that follows it, returns the next.
    package func resolve(
        _ dates: JobDates,
        from first: Timestamp,
        until: Timestamp? = nil,
        at now: Timestamp
    ) -> Resolution {
        let end = min(dates.dueEnd(from: first, at: now), until ?? now)
        var resolution = Resolution()
        var eligible = first
        if let window, let cutoff = expired(dates, from: first, through: end, at: now, window) {
            resolution.skipped.append(cutoff)
            guard let next = dates.next(after: cutoff.last), next <= end else {
                return resolution
            }
            eligible = next
        }

        let passed = dates.passed(from: eligible, through: end, newest: 2)
        let isLate = !isMissed(dates.due(passed.last), at: now)
        if isLate, passed.count == 1 {
            resolution.fire = DueFire(date: passed.last, missed: 0)
            return resolution
        }
        // Those before the latest; none where the job has no date from `first` on.
        let earlier = SkippedDates(
            first: eligible,
            last: passed.newest.first ?? passed.last,
            count: passed.count - 1,
            reason: mode == .once ? .coalesced : .misfire
        )
        switch mode {
        case .once:
            let missed = isLate ? earlier.count : passed.count
            resolution.fire = DueFire(date: passed.last, missed: missed)
            if earlier.count > 0 { resolution.skipped.append(earlier) }
        case .skip where isLate:
            resolution.fire = DueFire(date: passed.last, missed: 0)
            resolution.skipped.append(earlier)
        case .skip:
            var all = earlier
            (all.last, all.count) = (passed.last, passed.count)
            resolution.skipped.append(all)
        case .all:
            resolveAll(
                dates,
                from: eligible,
                through: end,
                count: passed.count,
                isLate: isLate,
                into: &resolution
            )
        }
        return resolution
    }

    /// Decides, under `all`, of the `count` dates from `eligible` through `end`, each of which gets a fire of its own.
    private func resolveAll(
        _ dates: JobDates,
        from eligible: Timestamp,
        through end: Timestamp,
        count: Int,
        isLate: Bool,
        into resolution: inout Resolution
    ) {
        let keep = limit + (isLate ? 1 : 0)
        guard count > keep else {
            // Each of these has its own resolution, which does not walk through those behind it.
            if count > 0 { resolution.fire = DueFire(date: eligible, missed: 1) }
            return
        }
        // Counted, and not walked through: those that are made up for may be ten thousand, of each of a user's jobs.
        let last = dates.last(of: count - keep, from: eligible, through: end).date
        resolution.skipped.append(
            SkippedDates(
                first: eligible,
                last: last,
                count: count - keep,
                reason: .misfireLimit
            )
        )
        if keep > 0, let oldest = dates.next(after: last) {
            resolution.fire = DueFire(date: oldest, missed: isLate && keep == 1 ? 0 : 1)
        }
    }

    /// The dates that were due longer ago than `window` and `tolerance`; nil for none.
    private func expired(
        _ dates: JobDates,
        from first: Timestamp,
        through end: Timestamp,
        at now: Timestamp,
        _ window: TimeSpan
    ) -> SkippedDates? {
        let due = now - window - tolerance - TimeSpan(microseconds: 1)
        let cutoff = min(end, dates.dueEnd(from: first, at: due))
        guard first <= cutoff else { return nil }
        let passed = dates.passed(from: first, through: cutoff, newest: 1)
        return SkippedDates(
            first: first,
            last: passed.last,
            count: passed.count,
            reason: .misfireWindow
        )
    }
}
