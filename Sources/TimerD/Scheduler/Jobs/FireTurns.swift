// SPDX-License-Identifier: Apache-2.0

import DequeModule
import Schedules
import TimerControl

/// Whose due fire begins next, so that no user's fires keep those of another waiting; pure.
///
/// A fire that is due alone begins at once. Fires wait in their user's queue when more are due than can begin
/// in about a millisecond, or when the user's share is used up; users with waiting fires take turns. A user's
/// share is a token bucket: so many fires a second, and a burst for many jobs on one date. All dates are
/// elapsed time.
struct FireTurns: Sendable {
    /// How long the timers' thread handles fires before it lets the run loop go on.
    static let slice = TimeSpan.milliseconds(1)
    /// How long it handles fires that have had their turn and only have to start: else they would wait until all
    /// that are due with them are in their queues.
    static let readySlice = TimeSpan.milliseconds(5)
    /// How long the thread rests between two slices while commands are being started.
    ///
    /// It goes before the threads and the program that store and start them; without rest, a thousand fires that only
    /// have to wait for a place would keep the processor from the first that have one.
    static let restForStarts = TimeSpan(microseconds: 500)
    /// Two fires further apart than this belong to different passes of the run loop.
    static let gap = TimeSpan(microseconds: 100)
    /// The most begun fires of one user whose record is not on disk yet: another user's record waits behind
    /// them.
    static let unstoredLimit = 64
    /// How long the fires of a user without tokens wait, so that one wake-up serves many.
    static let rest = TimeSpan.milliseconds(5)
    /// How long until the next look at a user who has reached `unstoredLimit`: by then the store may report
    /// trouble.
    static let patience = TimeSpan.seconds(1)

    struct Limits: Hashable, Sendable {
        /// How many fires of one user begin in a second, in the long run.
        var perSecond = 1000
        /// How many may begin at once: as many as a user may have jobs.
        var burst = 10_000
        /// The daemon's own user, who has no limit, as root has none.
        var exempt: UInt32 = 0
    }

    private struct User {
        /// Jobs whose fires wait, in the order in which they became due.
        var due: Deque<JobID> = []
        /// Jobs whose fires have had their turn, in that order: their runs are stored and only have to start.
        var ready: Deque<JobID> = []
        var tokens: Double
        /// When `tokens` was counted.
        var countedAt: Timestamp
        var unstored = 0

        var isWaiting: Bool { !due.isEmpty || !ready.isEmpty }
    }

    var limits: Limits
    /// Whether `unstoredLimit` holds.
    ///
    /// Not while the disk takes no records: else all further fires of their user would wait for it.
    var countsUnstored = true
    /// How many fires have waited for their turn since the start.
    private(set) var waited = 0

    private var users: [UInt32: User] = [:]
    /// The users whose fires wait; `turn` is the index of the next one.
    private var order: [UInt32] = []
    private var turn = 0
    private var waiting: Set<JobID> = []
    /// When the fires that the thread handles without a pause began, and when the last of them was done.
    private var passBegan = Timestamp.distantPast
    private var lastDone = Timestamp.distantPast

    init(_ limits: Limits) { self.limits = limits }

    func isLimited(_ owner: UInt32) -> Bool { owner != 0 && owner != limits.exempt }

    /// Whether fires of the user wait, so that one which is due now comes after them.
    func isBehind(_ owner: UInt32) -> Bool { users[owner]?.isWaiting ?? false }

    /// How many fires wait.
    var count: Int { waiting.count }

    /// Whether so many fires of the user are not on disk yet that the next record must not wait for others.
    func isCrowded(_ owner: UInt32) -> Bool {
        users[owner].map { $0.unstored >= Self.unstoredLimit / 2 } ?? false
    }

    // MARK: - A fire that is due

    /// Lets a fire through that is due at `now`, if it may begin at once; else queues it, and `next` returns it in its turn.
    ///
    /// `hasHadTurn`: it has had its turn and only has to start.
    ///
    /// - Returns: whether it may begin.
    mutating func tryBegin(
        _ job: JobID,
        of owner: UInt32,
        hasHadTurn: Bool = false,
        at now: Timestamp
    ) -> Bool {
        if waiting.contains(job) { return false }
        if now < lastDone || now - lastDone > Self.gap { passBegan = now }
        let isInTime = now - passBegan < (hasHadTurn ? Self.readySlice : Self.slice)
        // One that only has to start goes before those that wait for their turn.
        let isBehind = hasHadTurn ? users[owner]?.ready.isEmpty == false : isBehind(owner)
        guard isInTime, !isBehind, hasHadTurn || maySpend(owner, at: now) else {
            wait(job, of: owner, hasHadTurn: hasHadTurn, at: now)
            return false
        }
        if !hasHadTurn { spend(owner, at: now) }
        return true
    }

    /// Appends a fire to its user's queue.
    mutating func wait(_ job: JobID, of owner: UInt32, hasHadTurn: Bool = false, at now: Timestamp)
    {
        guard waiting.insert(job).inserted else { return }
        waited += 1
        if !isBehind(owner) { order.append(owner) }
        let new = User(tokens: Double(limits.burst), countedAt: now)
        // In its place: a copy of the user would copy the queue with it.
        if hasHadTurn {
            users[owner, default: new].ready.append(job)
        } else {
            users[owner, default: new].due.append(job)
        }
    }

    /// The fire that `tryBegin` has let through has been handled.
    mutating func done(at now: Timestamp) { lastDone = now }

    // MARK: - Turns

    /// Begins a new slice: a fire that becomes due now may begin at once.
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

    /// A fire that `spend` has counted does not begin yet: it will be counted when it does.
    mutating func giveBack(_ owner: UInt32) {
        guard isLimited(owner) else { return }
        users[owner]?.tokens += 1
        users[owner]?.unstored -= 1
    }

    /// The records of so many fires are on disk.
    ///
    /// - Returns: whether a fire of the user has waited for this.
    mutating func stored(_ owner: UInt32, count: Int = 1, at now: Timestamp) -> Bool {
        guard let unstored = users[owner]?.unstored, unstored > 0 else { return false }
        let rest = max(unstored - count, 0)
        users[owner]?.unstored = rest
        if isBehind(owner) { return unstored >= Self.unstoredLimit && rest < Self.unstoredLimit }
        forget(owner, at: now)
        return false
    }

    /// When to call `next`: `now` if a fire may begin at once; nil if none waits.
    ///
    /// `isStarting`: commands that have a place have no process yet, and the thread rests for their sake.
    func nextTurn(at now: Timestamp, isStarting: Bool = false) -> Timestamp? {
        let rested = isStarting ? now + Self.restForStarts : now
        return soonestTurn(at: now).map { max($0, rested) }
    }

    private func soonestTurn(at now: Timestamp) -> Timestamp? {
        order.compactMap { owner -> Timestamp? in
            guard let user = users[owner] else { return nil }
            if !user.ready.isEmpty || !isLimited(owner) { return now }
            if isStuck(user) { return now + Self.patience }
            let tokens = tokens(of: user, at: now)
            if tokens >= 1 { return now }
            let batch = Double(limits.perSecond) * Self.rest.inSeconds
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
        let passed = max(now - user.countedAt, .zero)
        return min(Double(limits.burst), user.tokens + passed.inSeconds * Double(limits.perSecond))
    }

    /// Forgets a user with no waiting fire, no unstored record and a full bucket: a new entry would be the
    /// same.
    private mutating func forget(_ owner: UInt32, at now: Timestamp) {
        guard let user = users[owner], !user.isWaiting, user.unstored == 0,
            tokens(of: user, at: now) >= Double(limits.burst)
        else { return }
        users[owner] = nil
    }
}
