// SPDX-License-Identifier: Apache-2.0

import Schedules

/// When to look for stored rows to remove; pure.
///
/// All dates are elapsed time.
struct Retention: Sendable {
    /// The shortest time between two looks that age alone calls for.
    static let pause = TimeSpan.seconds(60)
    /// The shortest time between two looks at all ended jobs of a user who has more stored than the limit: many may have to
    /// stay, and each run that fails calls for a look.
    static let endedPause = TimeSpan.seconds(10)
    /// How many events beyond those that are kept call for a look.
    static let surplus = 1000

    var limits: RetentionLimits
    var progress = PruneProgress()
    /// When to look; nil while a look is under way.
    private(set) var date: Timestamp?
    /// Until then a look removes nothing for its age.
    private var agesFrom: Timestamp
    /// The event with this number calls for a look before `date`.
    private var event: Int64
    /// From when on the ended jobs of such users are looked at from the first on.
    private var endedFromStart = Timestamp.distantPast
    /// Whether a user had more stored than the limit since the ended jobs were last looked at from the first on.
    private var isEndedLookOwed = false
    /// Whether a user had too much while a look was under way, which may have been past that user's jobs.
    private var isLookOwed = false

    /// The first look comes at once: a daemon may never live for long.
    ///
    /// `isClockKept`: whether something keeps the clock in time, so that it is not doubted for having been wrong before.
    init(
        _ limits: RetentionLimits,
        now: Timestamp,
        nextEvent: Int64,
        isClockKept: Bool = false
    ) {
        self.limits = limits
        date = now
        agesFrom = now + (isClockKept ? Self.pause : limits.doubt)
        event = nextEvent + Int64(Self.surplus)
    }

    func isDue(now: Timestamp) -> Bool { date.map { $0 <= now } ?? false }

    func isDue(nextEvent: Int64) -> Bool { nextEvent >= event && date != nil }

    /// Whether what is too old is removed now; where not, only what is too much is.
    func removesAged(now: Timestamp) -> Bool { now >= agesFrom }

    /// Nothing was kept when the daemon started: there is nothing to look for before what comes gets too old.
    mutating func startedWithNothing(now: Timestamp) {
        date = now + max(limits.shortestAge, Self.pause)
    }

    mutating func begin(now: Timestamp) {
        date = nil
        guard isEndedLookOwed, endedFromStart <= now else { return }
        isEndedLookOwed = false
        progress.endedOfFull = [:]
        endedFromStart = now + Self.endedPause
    }

    /// Ends a look that has found nothing more to do before `next`.
    mutating func ended(next: Timestamp, now: Timestamp) {
        date = max(next, agesFrom, now + Self.pause)
        if isEndedLookOwed { date = max(endedFromStart, now) }
        if isLookOwed { isOverfull(now: now) }
        // Before this number no user can have more than `surplus` events too many.
        let most = progress.events.values.max() ?? 0
        event =
            progress.eventsCountedThrough + Int64(limits.eventsKept - most + Self.surplus)
    }

    /// Ends a look that the store had trouble with.
    mutating func failed(now: Timestamp) {
        date = now + Self.pause
        event = .max
    }

    /// A user has more stored than the limit: calls for a look now, or after the one that is under way.
    ///
    /// It goes on behind the ended jobs that were looked at in the last seconds; another one looks at these again, once they are
    /// over: a job among them may be over by then.
    mutating func isOverfull(now: Timestamp) {
        isEndedLookOwed = true
        isLookOwed = date == nil
        if let date { self.date = min(date, now) }
    }

    /// Something was stored that gets too old at `end`.
    mutating func isKept(until end: Timestamp) {
        if let date { self.date = min(date, end) }
    }

    mutating func clockWentAhead(now: Timestamp) { agesFrom = now + limits.doubt }
}
