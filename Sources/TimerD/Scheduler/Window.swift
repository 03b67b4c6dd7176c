// SPDX-License-Identifier: Apache-2.0

import Schedules

/// Which of the waiting jobs are in the scheduler's hands, and when to load more; pure.
///
/// Everything that is due before `horizon` is claimed and armed; the rest waits in the store. A run
/// loop keeps its timers in an array, so the window is short and holds a few thousand at most. All
/// dates are elapsed time, which goes one way only.
struct Window: Hashable, Sendable {
    /// How far ahead the window reaches when it is loaded.
    static let span = TimeSpan.seconds(6)
    /// How long ahead of the first waiting date the next window is loaded: its claims are to be on
    /// disk by then.
    static let lead = TimeSpan.seconds(3)
    /// The longest time between two loads while something waits: each keeps how far the clocks have come.
    static let rhythm = TimeSpan.seconds(3600)
    /// How many jobs a load fills it up to.
    static let capacity = 4096
    /// How long to wait with the next load after one that failed.
    static let retryDelay = TimeSpan.seconds(1)

    private(set) var horizon: Timestamp
    /// The first date of those that wait; perhaps too early, never too late.
    ///
    /// Nil for none.
    private(set) var nextWaiting: Timestamp?
    /// Whether the last load left out jobs that are due before its horizon.
    private(set) var isCrowded = false
    private(set) var isLoading = false
    private var lastLoad: Timestamp
    private var retryDate: Timestamp?
    /// When the wall clock was stepped during the load that is under way.
    private var steppedAt: Timestamp?

    /// A window that holds nothing yet: the first load is due at once.
    init(now: Timestamp) {
        horizon = .distantPast
        nextWaiting = now
        lastLoad = now
    }

    /// The first date of those that wait; nil for none, and while nothing was loaded yet.
    var firstKnown: Timestamp? { horizon > .distantPast ? nextWaiting : nil }

    /// When to load, by elapsed time; nil while nothing waits or a load is under way.
    var loadDate: Timestamp? {
        guard !isLoading, !isCrowded, let nextWaiting else { return nil }
        let date = min(nextWaiting - Self.lead, lastLoad + Self.rhythm)
        return max(date, retryDate ?? .distantPast)
    }

    /// Whether a load is due, at `now` and with `armed` jobs in the loop.
    func isLoadDue(now: Timestamp, armed: Int) -> Bool {
        if isCrowded, !isLoading { return armed <= Self.capacity / 2 }
        return loadDate.map { $0 <= now } ?? false
    }

    /// Moves the horizon on where that needs no load: nothing waits before the new one.
    mutating func extend(now: Timestamp) {
        let reached = now + Self.span
        guard !isLoading, !isCrowded, reached > horizon, nextWaiting.map({ $0 >= reached }) ?? true
        else { return }
        horizon = reached
    }

    /// Starts a load; what is written to the store from now on is claimed up to its horizon too.
    mutating func beginLoad(now: Timestamp) {
        isLoading = true
        lastLoad = now
        retryDate = nil
        horizon = max(horizon, now + Self.span)
    }

    /// Ends a load that went well.
    ///
    /// - Parameters:
    ///   - last: the last date that was loaded, where there was no room for all.
    ///   - next: the first date that still waits.
    mutating func loaded(upTo last: Timestamp?, nextWaiting next: Timestamp?) {
        isLoading = false
        isCrowded = last != nil
        if let last { horizon = min(horizon, last) }
        nextWaiting = next
        if let steppedAt { waits(for: steppedAt) }
        steppedAt = nil
    }

    /// Ends a load that failed; the next is due a little later.
    mutating func loadFailed(now: Timestamp) {
        isLoading = false
        steppedAt = nil
        nextWaiting = min(nextWaiting ?? now, now)
        retryDate = now + Self.retryDelay
    }

    /// The wall clock was stepped: any job may be due now, whatever a load says that began before.
    mutating func clockStepped(now: Timestamp) {
        waits(for: now)
        if isLoading { steppedAt = now }
    }

    /// Takes note of a job that waits for `date`.
    mutating func waits(for date: Timestamp) {
        nextWaiting = min(nextWaiting ?? date, date)
    }
}
