// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// Decides which events a watcher is sent, and where they come from: each once, in order, no gap.
///
/// A watcher is behind until it is live. While it is behind it reads pages from the database, from its cursor
/// on, until the ring of recent events reaches back to the cursor; then it takes those and is live. A live
/// watcher that cannot keep up is behind again. So a slow watcher costs no more memory than its cursor.
struct Subscription {
    enum Phase: Equatable {
        /// The reply to the subscription has not left yet; events must follow it.
        case waiting
        case behind
        /// A page was asked for when `newest` was the last number that had been published.
        case reading(newest: Int64)
        case live
    }

    /// What a watcher that is behind has to do.
    enum Step {
        /// Send these, and each event from now on.
        case goLive([SharedEvent])
        case read(after: Int64)
    }

    private let types: Set<Event.Kind>?
    private let jobs: Set<JobID>?
    /// The only owner whose events are sent; nil for all.
    private let owner: Owner?
    /// All events up to this number were sent, or were not wanted.
    private(set) var cursor: Int64
    private(set) var phase = Phase.waiting
    /// The watcher has been told of all missing events up to this number.
    private var toldThrough: Int64 = 0

    /// `newest`: the last number that has been published; `owner`: the only owner whose events are sent, nil
    /// for all.
    init(_ request: Subscribe, owner: Owner?, newest: Int64) {
        self.owner = owner
        types = request.types.map(Set.init)
        jobs = request.jobs.map(Set.init)
        cursor = request.since ?? newest
    }

    /// Begins, once the reply to the subscription has left.
    mutating func begin() {
        if phase == .waiting { phase = .behind }
    }

    /// What a watcher that is behind does next; to be carried out at once.
    ///
    /// `newest`: the last number that has been published, or one before it.
    mutating func step(ring: EventRing, newest: Int64) -> Step {
        if let events = ring.events(after: cursor) {
            phase = .live
            return .goLive(events)
        }
        phase = .reading(newest: newest)
        return .read(after: cursor)
    }

    /// Moves the cursor past an event.
    ///
    /// - Returns: whether it is to be sent.
    mutating func take(_ event: Event) -> Bool {
        guard event.seq > cursor else { return false }
        cursor = event.seq
        if let owner, event.owner != owner { return false }
        return types?.contains(event.type) != false && jobs?.contains(event.job) != false
    }

    /// Notes that the watcher cannot take new events now.
    mutating func fallBehind() { phase = .behind }

    /// The events before the end of a page that are no longer kept; nil for none, or if they were told
    /// before.
    ///
    /// For a watcher of all owners, some events in that range may still be kept.
    mutating func missed(by page: EventPage) -> EventsLost? {
        let known = max(cursor, toldThrough)
        guard page.prunedThrough > known else { return nil }
        toldThrough = page.prunedThrough
        // For one owner, all events up to that number are gone; for all owners, some may still be kept.
        if owner != nil { cursor = max(cursor, page.prunedThrough) }
        return EventsLost(after: known, through: page.prunedThrough)
    }

    /// Notes that all events of a page have been taken.
    ///
    /// - Parameter isLast: whether no further event existed when the page was read.
    mutating func pageTaken(isLast: Bool) {
        // No event has a number from the page's end to `newest`. A crash leaves out numbers, and the ring
        // does not reach back over those: so the cursor skips them.
        if case .reading(let newest) = phase, isLast { cursor = max(cursor, newest) }
        phase = .behind
    }
}
