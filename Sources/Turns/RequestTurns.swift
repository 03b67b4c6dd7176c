// SPDX-License-Identifier: Apache-2.0

import DequeModule

/// Decides which requests begin: users take turns wherever one could keep others waiting.
///
/// A request needs a place of its kind. If none is free it waits: users take turns, and the connections of
/// one user go in order. Pure; `RequestGate` carries it out.
package struct RequestTurns<Waiter: Hashable> {
    /// Who asks.
    package struct User: Hashable, Sendable {
        package let uid: UInt32
        /// Root and the daemon's own user, who may take the reserved places too.
        var isAdministrator: Bool

        package init(uid: UInt32, isAdministrator: Bool) {
            (self.uid, self.isAdministrator) = (uid, isAdministrator)
        }
    }

    private struct Waiting {
        var waiter: Waiter
        var load: RequestLoad
    }

    private struct Line {
        /// The units that are taken.
        var used = 0
        /// Those who wait, by user; no queue is empty.
        var waiting: [User: Deque<Waiting>] = [:]
        /// The users with somebody who waits; whose turn is next comes first.
        var order: Deque<User> = []
    }

    private var uses: [UInt32: UserUse] = [:]
    private var lines: [Line] = Array(repeating: Line(), count: RequestLoad.Kind.allCases.count)
    private(set) var waitingCount = 0
    private var rests = BulkRests()
    /// The time on a monotonic clock; the caller sets it before each call.
    var now = BulkRests.Instant.zero
    /// How many requests of a user may be in progress, over all connections.
    var requestsPerUser: Int
    /// How many bytes the connections of a user may hold together.
    var bytesPerUser: Int

    /// `areOthersAtWork`, `takeLongWrites`: see `BulkRests`.
    init(
        requestsPerUser: Int,
        bytesPerUser: Int = RequestTurns.bytesPerUser,
        areOthersAtWork: @escaping @Sendable (UInt32, Duration) -> Bool = { _, _ in false },
        takeLongWrites: @escaping @Sendable (UInt32) -> Duration? = { _ in nil }
    ) {
        self.requestsPerUser = requestsPerUser
        self.bytesPerUser = bytesPerUser
        rests.areOthersAtWork = areOthersAtWork
        rests.takeLongWrites = takeLongWrites
    }

    static var bytesPerUser: Int { 16 << 20 }
    /// How many bytes all users' connections may hold together.
    ///
    /// If several users hold `much`, each may hold an equal share of this, but never less than `leastBytes`.
    static var bytesOfAll: Int { 24 << 20 }
    /// Less is no reason for others to hold less: a few workers or watchers hold it for as long as they like.
    static var much: Int { RequestLoad.muchHeld }
    static var leastBytes: Int { 2 << 20 }
    /// What small requests may take beyond a user's share, so that a user with many long replies on their way
    /// can still manage jobs.
    static var smallBytes: Int { 4 << 20 }

    /// Takes a place if one is free and nobody else is first; if not, `waiter` waits for it.
    mutating func take(_ load: RequestLoad, for user: User, _ waiter: Waiter) -> Bool {
        if load.kind.isRequest {
            let isChange = load.kind == .write || load.kind == .bulk
            rests.note(user.uid, isChange: isChange, at: now)
        }
        let isFree = mayBegin(load, user) && !isSomebodyBefore(user, load.kind)
        if isFree {
            begin(load, user)
        } else {
            waitingCount += 1
            let line = load.kind.rawValue
            if lines[line].waiting[user] == nil { lines[line].order.append(user) }
            lines[line].waiting[user, default: []].append(Waiting(waiter: waiter, load: load))
        }
        return isFree
    }

    /// Gives a place back; the bytes of the request are given back with `hold`.
    mutating func end(_ load: RequestLoad, of uid: UInt32) {
        lines[load.kind.rawValue].used -= load.units
        if load.kind == .bulk { rests.end(uid, at: now) }
        if load.kind == .write { rests.endChange(uid, at: now) }
        change(uid) {
            if load.kind.isRequest { $0.requests -= 1 }
            if load.lasts { $0.lasting -= load.bytes }
            $0.countPlaces(-load.units, load.kind)
        }
    }

    /// Counts that a user's connections hold `bytes` more, or fewer if negative.
    ///
    /// `read`: how many of them are of lines that were read, whose requests wait to begin: they keep none of these from
    /// beginning alone, which would wait for them. `unread`: beside them those of lines that wait to be read.
    mutating func hold(_ bytes: Int, read: Int = 0, unread: Int = 0, of uid: UInt32) {
        change(uid) {
            $0.bytes += bytes
            $0.lasting += read
            $0.read += read
            $0.unread += unread
        }
    }

    /// Gives a place to the waiter whose turn it is, and returns that waiter; nil if all have to wait.
    mutating func next() -> Waiter? {
        guard waitingCount > 0 else { return nil }
        for kind in RequestLoad.Kind.allCases where !lines[kind.rawValue].order.isEmpty {
            if let waiter = next(of: kind) { return waiter }
        }
        return nil
    }

    /// The waiter waits no longer.
    mutating func cancel(_ waiter: Waiter, _ kind: RequestLoad.Kind, of user: User) {
        let line = kind.rawValue
        guard
            let index = lines[line].waiting[user]?.firstIndex(where: { $0.waiter == waiter })
        else { return }
        lines[line].waiting[user]?.remove(at: index)
        leaveIfDone(user, kind)
        waitingCount -= 1
    }

    /// Whether a request of the user waits for bytes that the user's own connections hold.
    func isShortOfBytes(_ uid: UInt32) -> Bool {
        lines.contains { line in
            line.waiting.contains { user, waiting in
                user.uid == uid && waiting.first.map { !hasBytes(for: $0.load, uid) } == true
            }
        }
    }

    /// Whether the user's connections hold more than requests that were reckoned right ever do.
    ///
    /// A change of one job is reckoned with little, and its answer may have 1 MiB. A line that was read may be larger by
    /// itself, and goes as its requests begin.
    func holdsTooMuch(_ uid: UInt32) -> Bool { heldBytes(of: uid) > 3 * bytesPerUser }

    /// Whether they hold so much that nobody is given time to take it.
    func holdsFarTooMuch(_ uid: UInt32) -> Bool { heldBytes(of: uid) > 6 * bytesPerUser }

    private func heldBytes(of uid: UInt32) -> Int {
        let use = uses[uid, default: UserUse()]
        return use.bytes - use.read
    }

    /// Whether a request of the user waits.
    func isWaiting(_ uid: UInt32) -> Bool {
        waitingCount > 0 && lines.contains { line in line.order.contains { $0.uid == uid } }
    }

    /// When `next` has to be asked again because a rest ends; nil if no user who waits for a change rests.
    var nextRestEnd: BulkRests.Instant? {
        guard waitingCount > 0 else { return nil }
        return Self.earlier(firstRestEnd(.bulk), firstRestEnd(.write))
    }

    private func firstRestEnd(_ kind: RequestLoad.Kind) -> BulkRests.Instant? {
        lines[kind.rawValue].order.compactMap { restEnd(of: $0, kind) }.min()
    }

    private static func earlier(_ one: BulkRests.Instant?, _ other: BulkRests.Instant?)
        -> BulkRests.Instant?
    {
        guard let one, let other else { return one ?? other }
        return min(one, other)
    }

    // MARK: - Places

    private func mayBegin(_ load: RequestLoad, _ user: User) -> Bool {
        hasRoom(for: load, user) && hasPlace(for: load, user)
    }

    /// When the user's next request of that kind may begin; nil for now.
    private func restEnd(of user: User, _ kind: RequestLoad.Kind) -> BulkRests.Instant? {
        guard kind == .bulk || kind == .write, !user.isAdministrator else { return nil }
        if kind == .bulk, let end = rests.end(of: user.uid, at: now) { return end }
        return rests.endOfChanges(of: user.uid, at: now)
    }

    /// Whether the user's own bounds allow it.
    private func hasRoom(for load: RequestLoad, _ user: User) -> Bool {
        let uid = user.uid
        let use = uses[uid, default: UserUse()]
        let isBelow = !load.kind.isRequest || use.requests < requestsPerUser
        let isRested = restEnd(of: user, load.kind) == nil
        return isBelow && isRested && leavesTurns(load, user) && leavesPlaces(load, user)
            && hasBytes(for: load, uid)
    }

    /// Whether others' next request of that kind waits for a few of the user's at most.
    private func leavesPlaces(_ load: RequestLoad, _ user: User) -> Bool {
        guard load.kind.ofUser < .max, !user.isAdministrator else { return true }
        let use = uses[user.uid, default: UserUse()]
        let used = load.kind == .lookup ? use.lookups : use.remotes
        return used + load.units <= load.kind.ofUser
    }

    /// Whether others wait for one list of the user's changes at most, or for one change of whose changes take long;
    /// alone, a user may take all places.
    private func leavesTurns(_ load: RequestLoad, _ user: User) -> Bool {
        guard load.kind == .write, !user.isAdministrator else { return true }
        let used = uses[user.uid, default: UserUse()].writes
        guard used > 0 else { return true }
        return used + load.units <= RequestLoad.manyJobs
            && !rests.areChangesLong(of: user.uid, at: now)
            || !rests.areOthersChanging(than: user.uid, at: now)
    }

    private func hasBytes(for load: RequestLoad, _ uid: UInt32) -> Bool {
        // Its request holds them, and gives them back only once this part of it is done.
        if load.kind.isPart { return true }
        let use = uses[uid, default: UserUse()]
        let bytesPerUser = share(of: uid)
        // Long lines and bulks may wait for other requests, so they have to leave half of it to those.
        let more = load.bytes <= RequestLoad.small ? Self.smallBytes : 0
        let limit =
            load.kind == .bulk || load.kind == .input ? bytesPerUser / 2 : bytesPerUser + more
        // Lines that wait to be read keep no request from beginning, but others from being taken in.
        let unread = load.kind == .input ? use.unread : 0
        // What lasts never begins alone, and may itself be what the rest of its line waits for.
        let read = load.lasts ? use.read : 0
        if use.bytes - read + unread + load.bytes <= limit { return true }
        // What lasts keeps nothing else from beginning alone. But lines whose requests wait begin by themselves: until then
        // no further one is read, or a user had one of each connection in memory.
        let isBehindLines = load.isReading && use.read + unread > 0
        return !load.lasts && use.bytes == use.lasting && !isBehindLines
    }

    /// How many bytes the user's connections may hold, given how many users hold much.
    private func share(of uid: UInt32) -> Int {
        let others = uses.count { $0.key != uid && $0.value.bytes >= Self.much }
        guard others > 0 else { return bytesPerUser }
        return min(bytesPerUser, max(Self.leastBytes, Self.bytesOfAll / (others + 1)))
    }

    /// Whether a place is free; a load larger than all places begins once it is alone.
    private func hasPlace(for load: RequestLoad, _ user: User) -> Bool {
        let used = lines[load.kind.rawValue].used
        let reserve = user.isAdministrator ? load.kind.reserve : 0
        return used == 0 || used + load.units <= load.kind.places + reserve
    }

    /// Whether somebody who waits comes before a newcomer.
    private func isSomebodyBefore(_ user: User, _ kind: RequestLoad.Kind) -> Bool {
        let line = lines[kind.rawValue]
        guard !line.order.isEmpty else { return false }
        guard line.waiting[user] == nil else { return true }
        return !user.isAdministrator && line.order.contains { isHeldUpByOthers($0, line) }
    }

    /// Whether a waiting user lacks nothing but a free place.
    private func isHeldUpByOthers(_ user: User, _ line: Line) -> Bool {
        line.waiting[user]?.first.map { hasRoom(for: $0.load, user) } == true
    }

    private mutating func next(of kind: RequestLoad.Kind) -> Waiter? {
        let line = kind.rawValue
        guard let user = nextUser(of: kind),
            let first = lines[line].waiting[user]?.popFirst()
        else { return nil }
        begin(first.load, user)
        waitingCount -= 1
        lines[line].order.removeAll { $0 == user }
        lines[line].order.append(user)
        leaveIfDone(user, kind)
        return first.waiter
    }

    /// The user whose turn it is, and who may begin.
    private func nextUser(of kind: RequestLoad.Kind) -> User? {
        let line = lines[kind.rawValue]
        var isFull = false
        return line.order.first { user in
            guard let first = line.waiting[user]?.first, hasRoom(for: first.load, user) else {
                return false
            }
            // A free place goes to the user whose turn it is; others may pass only with places of the
            // reserve.
            guard hasPlace(for: first.load, user), !isFull || user.isAdministrator else {
                isFull = true
                return false
            }
            return true
        }
    }

    private mutating func begin(_ load: RequestLoad, _ user: User) {
        lines[load.kind.rawValue].used += load.units
        if load.kind == .bulk { rests.begin(user.uid, at: now) }
        change(user.uid) {
            $0.bytes += load.bytes
            if load.kind.isRequest { $0.requests += 1 }
            if load.lasts { $0.lasting += load.bytes }
            $0.countPlaces(load.units, load.kind)
        }
    }

    /// Takes a user of whom nobody waits any more out of a line.
    private mutating func leaveIfDone(_ user: User, _ kind: RequestLoad.Kind) {
        let line = kind.rawValue
        guard lines[line].waiting[user]?.isEmpty == true else { return }
        lines[line].waiting[user] = nil
        lines[line].order.removeAll { $0 == user }
    }

    private mutating func change(_ uid: UInt32, _ body: (inout UserUse) -> Void) {
        body(&uses[uid, default: UserUse()])
        if uses[uid]?.isEmpty == true { uses[uid] = nil }
    }
}
