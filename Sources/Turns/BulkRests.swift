// SPDX-License-Identifier: Apache-2.0

/// After a change of many jobs (a bulk), has its user rest for as long as the change took before the next
/// one, a minute at most; and after smaller changes that kept the store for long, before any next change, for as
/// long as they kept it, five seconds at most.
///
/// So no user has more than half of the time of all bulks. A user rests only while other users are active: they ask for
/// something (change something, for the rests of smaller changes), or their jobs are at work. Administrators never rest (`RequestTurns` sees to that). Pure, but for
/// `areOthersAtWork` and `takeLongWrites`.
struct BulkRests {
    /// Time since an instant that is the same for all calls.
    typealias Instant = Duration

    private struct Rest {
        /// When the bulk in progress began; nil for none.
        var began: Instant?
        /// When the next one may begin.
        var end = Instant.zero
        /// When the next change of any kind may begin, after smaller ones that kept the store for long.
        var changesEnd = Instant.zero
    }

    private var rests: [UInt32: Rest] = [:]
    /// When each user last asked for anything.
    private var lastAsked: [UInt32: Instant] = [:]
    /// When each user last asked for a change.
    private var lastChanged: [UInt32: Instant] = [:]
    /// Whether something of the jobs of another user than this one is on its way to the store, or was within that time.
    var areOthersAtWork: @Sendable (UInt32, Duration) -> Bool = { _, _ in false }
    /// How long writes of this user have kept the store since this was called last, where they kept it for long; nil
    /// where they did not.
    var takeLongWrites: @Sendable (UInt32) -> Duration? = { _ in nil }

    /// A user who has asked for nothing for this long is not active.
    static let attention = Duration.seconds(2)
    /// A bulk that took longer has waited for a disk that takes nothing, or for others' bulks.
    static let longest = Duration.seconds(60)
    /// What a worker says of its task waits for such a rest too, and is to come before the lease ends.
    static let longestOfChanges = Duration.seconds(5)
    /// With more users than this, those who are not active and do not rest are forgotten.
    private static let remembered = 64

    /// How many users are remembered.
    var count: Int { rests.count + lastAsked.count }

    /// A user asks for something, which may be a change.
    mutating func note(_ uid: UInt32, isChange: Bool = false, at now: Instant) {
        lastAsked[uid] = now
        if isChange { lastChanged[uid] = now }
        guard lastAsked.count > Self.remembered else { return }
        lastAsked = lastAsked.filter { now - $0.value <= Self.attention }
        lastChanged = lastChanged.filter { now - $0.value <= Self.attention }
        rests = rests.filter {
            $0.value.began != nil
                || max($0.value.end, $0.value.changesEnd + Self.attention) > now
        }
    }

    /// A user's bulk begins.
    mutating func begin(_ uid: UInt32, at now: Instant) { rests[uid, default: Rest()].began = now }

    /// A user's bulk is over.
    mutating func end(_ uid: UInt32, at now: Instant) {
        guard let began = rests[uid]?.began else { return }
        // It is rested from as a whole.
        _ = takeLongWrites(uid)
        rests[uid]?.began = nil
        rests[uid]?.end = now + min(now - began, Self.longest)
    }

    /// A user's change is over that is no bulk.
    mutating func endChange(_ uid: UInt32, at now: Instant) {
        // What the store has done meanwhile may be the bulk.
        guard rests[uid]?.began == nil, let time = takeLongWrites(uid) else { return }
        let end = max(rests[uid, default: Rest()].changesEnd, now) + time
        rests[uid, default: Rest()].changesEnd = min(end, now + Self.longestOfChanges)
    }

    /// When the user's next change may begin, of any kind, for what smaller ones took; nil for now.
    func endOfChanges(of uid: UInt32, at now: Instant) -> Instant? {
        guard let end = rests[uid]?.changesEnd, end > now, areOthersChanging(than: uid, at: now)
        else { return nil }
        return end
    }

    /// Whether the user's changes kept the store for long lately: then they go one at a time.
    func areChangesLong(of uid: UInt32, at now: Instant) -> Bool {
        rests[uid].map { now < $0.changesEnd + Self.attention && $0.changesEnd > .zero } ?? false
    }

    /// When the user's next bulk may begin; nil for now.
    ///
    /// The caller asks again at that time: by then other users may have become active or inactive.
    func end(of uid: UInt32, at now: Instant) -> Instant? {
        guard let end = rests[uid]?.end, end > now, areOthersAwake(than: uid, at: now) else {
            return nil
        }
        return end
    }

    /// Whether other users are active.
    func areOthersAwake(than uid: UInt32, at now: Instant) -> Bool {
        lastAsked.contains { $0.key != uid && now - $0.value <= Self.attention }
            || areOthersAtWork(uid, Self.attention)
    }

    /// Whether other users change something, or their jobs are at work: who only looks waits for no change.
    func areOthersChanging(than uid: UInt32, at now: Instant) -> Bool {
        lastChanged.contains { $0.key != uid && now - $0.value <= Self.attention }
            || areOthersAtWork(uid, Self.attention)
    }
}
