// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// Decides which events a watcher is sent, and where they come from: each once, in order, no gap.
///
/// It stands behind, at its cursor, until it is live. What is behind reads on from the database,
/// page by page, until the ring of recent events reaches back to its cursor; then it takes those
/// and is live. What is live and cannot keep up is behind again. So the memory for a slow watcher
/// is its cursor.
struct Subscription {
    enum Phase: Equatable {
        /// Its reply has not left yet, which the events must follow.
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
    /// Of what is missing up to this number it has been told.
    private var toldThrough: Int64 = 0

    /// `newest`: the last number that has been published; `owner`: whose events alone are sent, nil
    /// for those of all.
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

    /// How to get on from behind; the answer is to be carried out at once.
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

    /// Moves the cursor over an event; whether it is to be sent.
    mutating func take(_ event: Event) -> Bool {
        guard event.seq > cursor else { return false }
        cursor = event.seq
        if let owner, event.owner != owner { return false }
        return types?.contains(event.type) != false && jobs?.contains(event.job) != false
    }

    /// The watcher cannot take what comes now.
    mutating func fallBehind() { phase = .behind }

    /// Looks for a gap that a page has: events that are no longer kept, though others between them may
    /// be; to be told, once.
    mutating func missed(by page: EventPage) -> EventsLost? {
        let known = max(cursor, toldThrough)
        guard page.prunedThrough > known else { return nil }
        toldThrough = page.prunedThrough
        // Of one owner, all before it have gone; of all, those of other owners may be kept.
        if owner != nil { cursor = max(cursor, page.prunedThrough) }
        return EventsLost(after: known, through: page.prunedThrough)
    }

    /// All events of a page have been taken.
    ///
    /// - Parameter isLast: whether the page was shorter than asked for.
    mutating func pageTaken(isLast: Bool) {
        // Nothing between the page's end and what was published when it was asked for: numbers are
        // left out after a crash, and the ring does not reach back over them.
        if case .reading(let newest) = phase, isLast { cursor = max(cursor, newest) }
        phase = .behind
    }
}
