// SPDX-License-Identifier: Apache-2.0

import DequeModule
import Schedules
import TimerControl

/// Whose due fire begins next, so that no user's fires keep those of another waiting; pure.
///
/// A fire that is due alone begins at once. Where more are due than begin in about a millisecond, and
/// where a user's fires are more than his share, they wait in that user's queue, and users with due
/// fires take turns. A user's share is a token bucket: so many fires a second, and a burst for many
/// jobs on one date. All dates are elapsed time.
struct FireTurns: Sendable {
    /// How long the timers' thread handles fires before it lets the run loop go on.
    static let slice = TimeSpan.milliseconds(1)
    /// Fires with a longer time than that between them are not of one pass of the run loop.
    static let gap = TimeSpan(microseconds: 100)
    /// How many fires of a user may have begun whose record is not on disk yet: what another user's
    /// record has to wait behind.
    static let unstoredLimit = 64
    /// How long the queue of a user without tokens is left alone, so that many wait for one wake-up.
    static let rest = TimeSpan.milliseconds(5)
    /// When to look again at a user whose records are stuck: the store may have told of trouble.
    static let patience = TimeSpan.seconds(1)

    struct Limits: Hashable, Sendable {
        /// How many fires of one user begin in a second, in the long run.
        var perSecond = 1000
        /// How many may begin at once: as many as a user may have jobs.
        var burst = 10_000
        /// Whom no limit holds for, besides root: the daemon's own user.
        var exempt: UInt32 = 0
    }

    private struct User {
        /// Jobs whose fires wait, in the order in which they became due.
        var due: Deque<JobID> = []
        /// The same of fires that have had their turn: their runs are stored, and only to be started.
        var ready: Deque<JobID> = []
        var tokens: Double
        /// When `tokens` was counted.
        var countedAt: Timestamp
        var unstored = 0

        var isWaiting: Bool { !due.isEmpty || !ready.isEmpty }
    }

    var limits: Limits
    /// Whether records that are not stored count: not while the disk takes none, when they would keep
    /// all else of their user from being told.
    var countsUnstored = true
    /// How many fires have waited for their turn since the start.
    private(set) var waited = 0

    private var users: [UInt32: User] = [:]
    /// The users with due fires, and whose turn is next.
    private var order: [UInt32] = []
    private var turn = 0
    private var waiting: Set<JobID> = []
    /// When the fires that the thread handles without a pause began, and when the last of them was done.
    private var passBegan = Timestamp.distantPast
    private var lastDone = Timestamp.distantPast

    init(_ limits: Limits) { self.limits = limits }

    func isLimited(_ owner: UInt32) -> Bool { owner != 0 && owner != limits.exempt }

    /// Whether the fire of a job waits for its turn.
    func isWaiting(_ job: JobID) -> Bool { waiting.contains(job) }

    /// Whether fires of the user wait, so that one which is due now comes after them.
    func isBehind(_ owner: UInt32) -> Bool { users[owner]?.isWaiting ?? false }

    /// How many fires wait.
    var count: Int { waiting.count }

    // MARK: - A fire that is due

    /// Whether a fire that is due at `now` begins at once; else it waits, and `next` tells when.
    ///
    /// `isPaid`: it has had its turn, and is only to be started.
    mutating func begins(
        _ job: JobID,
        of owner: UInt32,
        isPaid: Bool = false,
        at now: Timestamp
    ) -> Bool {
        if waiting.contains(job) { return false }
        if now < lastDone || now - lastDone > Self.gap { passBegan = now }
        let isInTime = now - passBegan < Self.slice
        guard isInTime, !isBehind(owner), isPaid || maySpend(owner, at: now) else {
            wait(job, of: owner, isPaid: isPaid, at: now)
            return false
        }
        if !isPaid { spend(owner, at: now) }
        return true
    }

    /// Puts a fire behind those of its user that wait.
    mutating func wait(_ job: JobID, of owner: UInt32, isPaid: Bool = false, at now: Timestamp) {
        guard waiting.insert(job).inserted else { return }
        waited += 1
        var user = users[owner] ?? User(tokens: Double(limits.burst), countedAt: now)
        if !user.isWaiting { order.append(owner) }
        if isPaid { user.ready.append(job) } else { user.due.append(job) }
        users[owner] = user
    }

    /// The fire that `begins` has let through, or a turn, is done with.
    mutating func done(at now: Timestamp) { lastDone = now }

    // MARK: - Turns

    /// The run loop has been at other work: what is due now finds time.
    mutating func beginPass(at now: Timestamp) { passBegan = now }

    /// Takes the fire whose turn it is out of its queue; nil where none may begin at `now`.
    ///
    /// The caller calls `spend` if it does begin.
    mutating func next(at now: Timestamp) -> JobID? {
        for _ in 0..<order.count {
            if turn >= order.count { turn = 0 }
            let owner = order[turn]
            guard let job = take(of: owner, at: now) else {
                turn += 1
                continue
            }
            if isBehind(owner) {
                turn += 1
            } else {
                order.remove(at: turn)
                forget(owner, at: now)
            }
            waiting.remove(job)
            return job
        }
        return nil
    }

    /// Counts a fire of the user that begins.
    mutating func spend(_ owner: UInt32, at now: Timestamp) {
        guard isLimited(owner) else { return }
        refill(owner, at: now)
        users[owner]?.tokens -= 1
        users[owner]?.unstored += 1
    }

    /// The record of a fire is on disk.
    ///
    /// - Returns: whether another fire of the user has waited for that.
    mutating func stored(_ owner: UInt32, at now: Timestamp) -> Bool {
        guard let unstored = users[owner]?.unstored, unstored > 0 else { return false }
        users[owner]?.unstored = unstored - 1
        if isBehind(owner) { return unstored == Self.unstoredLimit }
        forget(owner, at: now)
        return false
    }

    /// When to ask for the next turn; nil while none is to come, not in the future for one that may be
    /// taken now.
    func nextTurn(at now: Timestamp) -> Timestamp? {
        order.compactMap { owner -> Timestamp? in
            guard let user = users[owner] else { return nil }
            if !user.ready.isEmpty || !isLimited(owner) { return now }
            if isStuck(user) { return now + Self.patience }
            let tokens = tokens(of: user, at: now)
            if tokens >= 1 { return now }
            let batch = Double(limits.perSecond) * Double(Self.rest.microseconds) / 1_000_000
            let wanted = max(1, min(batch.rounded(.down), Double(user.due.count)))
            let wait = (wanted - tokens) / Double(limits.perSecond) * 1_000_000
            return now + TimeSpan(microseconds: Int64(wait.rounded(.up)))
        }.min()
    }

    // MARK: - Tokens

    private mutating func take(of owner: UInt32, at now: Timestamp) -> JobID? {
        if let job = users[owner]?.ready.popFirst() { return job }
        return maySpend(owner, at: now) ? users[owner]?.due.popFirst() : nil
    }

    private mutating func maySpend(_ owner: UInt32, at now: Timestamp) -> Bool {
        guard isLimited(owner) else { return true }
        refill(owner, at: now)
        return users[owner].map { $0.tokens >= 1 && !isStuck($0) } ?? true
    }

    private func isStuck(_ user: User) -> Bool {
        countsUnstored && user.unstored >= Self.unstoredLimit
    }

    private mutating func refill(_ owner: UInt32, at now: Timestamp) {
        guard let user = users[owner] else {
            users[owner] = User(tokens: Double(limits.burst), countedAt: now)
            return
        }
        let tokens = tokens(of: user, at: now)
        users[owner]?.tokens = tokens
        users[owner]?.countedAt = now
    }

    private func tokens(of user: User, at now: Timestamp) -> Double {
        let passed = Double(max(0, (now - user.countedAt).microseconds)) / 1_000_000
        return min(Double(limits.burst), user.tokens + passed * Double(limits.perSecond))
    }

    /// Drops what is known of a user who is as one that never fired.
    private mutating func forget(_ owner: UInt32, at now: Timestamp) {
        guard let user = users[owner], !user.isWaiting, user.unstored == 0,
            tokens(of: user, at: now) >= Double(limits.burst)
        else { return }
        users[owner] = nil
    }
}
