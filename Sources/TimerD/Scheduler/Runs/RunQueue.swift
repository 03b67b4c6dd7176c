// SPDX-License-Identifier: Apache-2.0

import DequeModule
import Platform
import TimerControl

/// Which fires have a place among the runs in progress, and whose is next; pure.
///
/// A fire has its place from before its row says `running` until its run is over. Fires that wait are served
/// in order, the users in turn: a user who starts a thousand runs at once does not hold up the one run of
/// another. Root may have a reserve that all others together cannot take. Late fires, as after a start, have
/// at most a quarter of the places, at least one, and come after fires that are due now; but where there are always some of
/// these, each fourth place that is given on is a late one's.
struct RunQueue: Sendable {
    struct Limits: Hashable, Sendable {
        /// How many runs are in progress at once; at least 1.
        var all: Int
        /// How many runs of each user are in progress at once; at least 1.
        var perUser = Int.max
        /// Whether all users but root together leave root some of the places.
        var hasReserve = false

        /// How many places all users but root together may have; at least 1.
        var ofOthers: Int { hasReserve ? max(all - RunQueue.reserve(of: all), 1) : all }
        /// How many are root's alone; nil where none is.
        var keptForRoot: Int? { ofOthers < all ? all - ofOthers : nil }
    }

    private struct Place {
        var user: UInt32
        var isLate: Bool
    }

    private struct Waiter {
        var place: Place
        /// Distinguishes it from an earlier entry of the same fire that has left the queue.
        var ticket: Int
    }

    /// The queues of one user's fires; entries of fires that have left are passed over.
    private struct Line {
        var due: Deque<(fire: FireID, ticket: Int)> = []
        var late: Deque<(fire: FireID, ticket: Int)> = []
        /// How many of them still wait.
        var count = 0
    }

    private(set) var limits: Limits
    private var places: [FireID: Place] = [:]
    private var latePlaces = 0
    private var used: [UInt32: Int] = [:]
    private var waiters: [FireID: Waiter] = [:]
    private var lines: [UInt32: Line] = [:]
    /// Users with a line, the next to be served first.
    private var turns: Deque<UInt32> = []
    private var lastTicket = 0
    /// How many late fires wait, and how many places were given to fires that are due since one of them got one.
    private var waitingLate = 0
    private var passedBy = 0

    init(_ limits: Limits) { self.limits = limits }

    /// How many places are taken.
    var taken: Int { places.count }
    /// How many fires wait for one.
    var waiting: Int { waiters.count }

    func hasPlace(_ fire: FireID) -> Bool { places[fire] != nil }

    /// Which limit keeps a fire from its place; nil where none does, or it does not wait for one.
    func limit(of fire: FireID) -> Run.PlaceLimit? { waiters[fire].flatMap { limit(of: $0.place) } }

    /// How many of `limit` places are root's alone: a sixteenth, at least one.
    static func reserve(of limit: Int) -> Int { max(limit / 16, 1) }

    /// How many of `limit` places late fires may have: a quarter, at least one.
    static func share(ofLateIn limit: Int) -> Int { max(limit / 4, 1) }

    /// How many places are given to fires that are due, one behind another, while late ones wait.
    private static let dueAtMost = 3

    /// Takes a place if one is free, else joins the end of the user's line.
    ///
    /// - Returns: whether the fire has its place now.
    mutating func enter(_ fire: FireID, of user: UInt32, isLate: Bool = false) -> Bool {
        let place = Place(user: user, isLate: isLate)
        if take(fire, place) { return true }
        guard waiters[fire] == nil else { return false }
        lastTicket += 1
        waiters[fire] = Waiter(place: place, ticket: lastTicket)
        if isLate { waitingLate += 1 }
        if lines[user] == nil { turns.append(user) }
        let entry = (fire, lastTicket)
        if isLate {
            lines[user, default: Line()].late.append(entry)
        } else {
            lines[user, default: Line()].due.append(entry)
        }
        lines[user]?.count += 1
        return false
    }

    /// Takes a place if one is free; does not wait for one.
    mutating func enterIfFree(_ fire: FireID, of user: UInt32, isLate: Bool = false) -> Bool {
        take(fire, Place(user: user, isLate: isLate))
    }

    /// Takes a place for a run that is in progress already, also where there is none.
    mutating func enterRunning(_ fire: FireID, of user: UInt32) {
        guard places[fire] == nil else { return }
        places[fire] = Place(user: user, isLate: false)
        used[user, default: 0] += 1
    }

    /// Gives back the fire's place, or leaves the line; does nothing if it has neither.
    ///
    /// - Returns: the fires that get a place by this.
    mutating func leave(_ fire: FireID) -> [FireID] {
        if let waiter = waiters.removeValue(forKey: fire) {
            shorten(waiter.place)
            return []
        }
        guard let place = places.removeValue(forKey: fire) else { return [] }
        if place.isLate { latePlaces -= 1 }
        used.count(-1, of: place.user)
        return serve()
    }

    /// Has fires wait for a place no more; one that has its place keeps it.
    mutating func leaveLine(_ fires: some Sequence<FireID>) {
        for fire in fires {
            if let waiter = waiters.removeValue(forKey: fire) { shorten(waiter.place) }
        }
    }

    /// Sets other limits; runs that are in progress beyond a lower one go on.
    ///
    /// - Returns: the fires that get a place by this.
    mutating func setLimits(_ new: Limits) -> [FireID] {
        limits = new
        return serve()
    }

    // MARK: -

    private func hasRoom(for place: Place) -> Bool { limit(of: place) == nil }

    /// Which limit leaves no room for it; nil if there is room.
    private func limit(of place: Place) -> Run.PlaceLimit? {
        guard used[place.user, default: 0] < limits.perUser else {
            // A user's limit counts as its own reason only where it is below the limit of all.
            return limits.perUser < limits.all
                ? .init(.maxRunsPerUser, limits.perUser) : .init(.maxRuns, limits.all)
        }
        if place.isLate, latePlaces >= Self.share(ofLateIn: limits.all) {
            return .init(.maxRuns, Self.share(ofLateIn: limits.all), late: true)
        }
        let ofAll = Run.PlaceLimit(.maxRuns, limits.all)
        guard limits.hasReserve else { return taken < limits.all ? nil : ofAll }
        let roots = used[0, default: 0]
        let others = limits.ofOthers
        // With a limit of 1 that place may be another user's: root then gets one more.
        if place.user == 0 {
            return roots < limits.all && taken < max(limits.all, others + 1) ? nil : ofAll
        }
        guard taken < limits.all else { return ofAll }
        return taken - roots < others
            ? nil : .init(.maxRuns, others, keptForRoot: limits.keptForRoot)
    }

    private mutating func take(_ fire: FireID, _ place: Place) -> Bool {
        guard places[fire] == nil else { return true }
        guard hasRoom(for: place) else { return false }
        places[fire] = place
        used[place.user, default: 0] += 1
        if place.isLate { latePlaces += 1 }
        return true
    }

    private mutating func serve() -> [FireID] {
        var served: [FireID] = []
        while let fire = serveNext() { served.append(fire) }
        return served
    }

    private mutating func serveNext() -> FireID? {
        // Else late fires would never begin, and their jobs would not go on.
        let isTurnOfLate = waitingLate > 0 && passedBy >= Self.dueAtMost
        if isTurnOfLate, let fire = serveOne(late: true) { return fire }
        return serveOne(late: false) ?? serveOne(late: true)
    }

    /// Gives a place to the first of the users in turn who may have one more.
    private mutating func serveOne(late: Bool) -> FireID? {
        for (index, user) in turns.enumerated()
        where hasRoom(for: Place(user: user, isLate: late)) {
            guard let fire = first(of: user, late: late), let waiter = waiters[fire] else {
                continue
            }
            waiters[fire] = nil
            _ = take(fire, waiter.place)
            turns.remove(at: index)
            turns.append(user)
            shorten(waiter.place)
            passedBy = late || waitingLate == 0 ? 0 : passedBy + 1
            return fire
        }
        return nil
    }

    /// Takes the first fire that still waits out of a user's line.
    private mutating func first(of user: UInt32, late: Bool) -> FireID? {
        while let entry = late ? lines[user]?.late.popFirst() : lines[user]?.due.popFirst() {
            if waiters[entry.fire]?.ticket == entry.ticket { return entry.fire }
        }
        return nil
    }

    /// Counts that a fire which waited has left its user's line, and ends a line in which none waits.
    private mutating func shorten(_ place: Place) {
        let user = place.user
        if place.isLate { waitingLate -= 1 }
        guard var line = lines[user] else { return }
        line.count -= 1
        guard line.count > 0 else {
            lines[user] = nil
            turns.removeAll { $0 == user }
            return
        }
        // Entries that have left are removed only once they outnumber those that wait, so a leave costs O(1)
        // on average.
        if line.due.count + line.late.count > 2 * line.count + 16 {
            line.due.removeAll { waiters[$0.fire]?.ticket != $0.ticket }
            line.late.removeAll { waiters[$0.fire]?.ticket != $0.ticket }
        }
        lines[user] = line
    }
}
