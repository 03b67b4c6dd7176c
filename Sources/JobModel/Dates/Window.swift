// SPDX-License-Identifier: Apache-2.0

package import Schedules

/// Which of the waiting jobs are in the scheduler's hands, and when to load more; pure.
///
/// Everything that is due before `horizon` is claimed and armed; the rest waits in the store. A run
/// loop keeps its timers in an array, so the window is short and holds a few thousand at most. All
/// dates are elapsed time, which goes one way only.
package struct Window: Hashable, Sendable {
    /// How far ahead the window reaches when it is loaded.
    package static let span = TimeSpan.seconds(6)
    /// How long ahead of the first waiting date the next window is loaded: its claims are to be on
    /// disk by then.
    package static let lead = TimeSpan.seconds(3)
    /// The longest time between two loads while something waits: each load also stores the clocks.
    package static let rhythm = TimeSpan.seconds(3600)
    /// How many jobs loads fill it up to, over all users.
    package static let capacity = 4096
    /// How many of each user it holds at least, however many users are crowded.
    package static let reserve = 64
    /// How long to wait with the next load after one that failed.
    package static let retryDelay = TimeSpan.seconds(1)

    /// The part of the window of a user who has more due jobs than places.
    package struct Part: Hashable, Sendable {
        /// The first date that was left out, in elapsed time: what is due before it is claimed.
        package var horizon: Timestamp
        /// How many jobs it is filled up to.
        package var places: Int
        /// Whether there are places left, and more is to be loaded at once.
        package var isFilling: Bool

        package init(
            horizon: Timestamp,
            places: Int,
            isFilling: Bool
        ) {
            self.horizon = horizon
            self.places = places
            self.isFilling = isFilling
        }
    }

    package private(set) var horizon: Timestamp
    /// The first date of the waiting jobs, without those of crowded users; perhaps too early, never too late.
    ///
    /// Nil for none.
    package private(set) var nextWaiting: Timestamp?
    /// The crowded users: the last load left out some of their jobs that are due before its horizon.
    package private(set) var parts: [OwnerID: Part] = [:]
    package private(set) var isLoading = false
    private var lastLoad: Timestamp
    private var retryDate: Timestamp?
    /// When the wall clock was stepped during the load that is under way.
    private var steppedAt: Timestamp?

    /// A window that holds nothing yet: the first load is due at once.
    package init(now: Timestamp) {
        horizon = .distantPast
        nextWaiting = now
        lastLoad = now
    }

    /// When to load, by elapsed time; nil while nothing waits or a load is under way.
    package var loadDate: Timestamp? {
        guard !isLoading, let nextWaiting else { return nil }
        let date = min(nextWaiting - Self.lead, lastLoad + Self.rhythm)
        return max(date, retryDate ?? .distantPast)
    }

    /// How many places each of `users` crowded users has.
    package static func places(for users: Int) -> Int { max(reserve, capacity / max(users, 1)) }

    /// How far it reaches, for each user's jobs.
    package var horizons: Horizons {
        Horizons(all: horizon, crowded: parts.isEmpty ? [:] : parts.mapValues(\.horizon))
    }

    /// Whether a load is due at `now`; `armed` tells how many jobs of a user are in the loop.
    ///
    /// A crowded user's next jobs are loaded once half of the places are free.
    package func isLoadDue(now: Timestamp, armed: (OwnerID) -> Int) -> Bool {
        guard !isLoading, retryDate.map({ $0 <= now }) ?? true else { return false }
        if let loadDate, loadDate <= now { return true }
        return parts.contains { rests($0.value, armed: armed($0.key)) == false }
    }

    /// What is to be loaded now, with so many jobs of each user in the loop.
    package func load(armed: [OwnerID: Int]) -> WindowLoad {
        let resting = parts.filter { rests($0.value, armed: armed[$0.key] ?? 0) }
        return WindowLoad(
            room: max(Self.capacity - armed.values.reduce(0, +), 0),
            armed: armed,
            resting: resting,
            filling: Set(parts.keys).subtracting(resting.keys)
        )
    }

    private func rests(_ part: Part, armed: Int) -> Bool {
        !part.isFilling && armed > part.places / 2
    }

    /// Moves the horizon on where that needs no load: nothing waits before the new one.
    package mutating func extend(now: Timestamp) {
        let reached = now + Self.span
        guard !isLoading, reached > horizon, nextWaiting.map({ $0 >= reached }) ?? true else {
            return
        }
        horizon = reached
    }

    /// Starts a load; what is written to the store from now on is claimed up to its horizon too.
    package mutating func beginLoad(now: Timestamp) {
        isLoading = true
        lastLoad = now
        retryDate = nil
        horizon = max(horizon, now + Self.span)
    }

    /// Ends a load that went well, and left out `rest`.
    package mutating func loaded(_ rest: WindowRest) {
        isLoading = false
        parts = rest.parts
        nextWaiting = rest.nextWaiting
        if let steppedAt { clockStepped(now: steppedAt) }
        steppedAt = nil
    }

    /// Ends a load that failed; the next is due a little later.
    package mutating func loadFailed(now: Timestamp) {
        isLoading = false
        steppedAt = nil
        nextWaiting = min(nextWaiting ?? now, now)
        retryDate = now + Self.retryDelay
    }

    /// The wall clock was stepped: any job may be due now, whatever a load says that began before.
    package mutating func clockStepped(now: Timestamp) {
        nextWaiting = min(nextWaiting ?? now, now)
        for owner in parts.keys { parts[owner]?.isFilling = true }
        if isLoading { steppedAt = now }
    }

    /// Takes note of a job of `owner` that waits for `date`.
    ///
    /// For a crowded user nothing is noted: the next load of that user's jobs asks the store.
    package mutating func noteWaiting(for date: Timestamp, of owner: OwnerID) {
        guard parts[owner] == nil else { return }
        nextWaiting = min(nextWaiting ?? date, date)
    }
}

/// How far a window reaches: what is due before is claimed as it is written.
package struct Horizons: Hashable, Sendable {
    /// For the jobs of all users but the crowded ones, in elapsed time.
    package var all: Timestamp
    package var crowded: [OwnerID: Timestamp] = [:]

    /// For the jobs of `owner`.
    package subscript(owner: OwnerID) -> Timestamp {
        guard !crowded.isEmpty, let own = crowded[owner] else { return all }
        return min(own, all)
    }

    package init(
        all: Timestamp,
        crowded: [OwnerID: Timestamp] = [:]
    ) {
        self.all = all
        self.crowded = crowded
    }
}
