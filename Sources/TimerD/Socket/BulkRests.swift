// SPDX-License-Identifier: Apache-2.0

/// Who has changed many jobs, and lets the others work for as long before the next time.
///
/// So nobody has more than half of what all users' changes go through; pure. Nobody rests while alone, and administrators never do.
struct BulkRests {
    /// Since any instant, the same for all calls.
    typealias Instant = Duration

    private struct Rest {
        /// When the bulk began that is in progress; nil for none.
        var began: Instant?
        /// When the next one may begin.
        var end = Instant.zero
    }

    private var rests: [UInt32: Rest] = [:]
    /// When somebody last asked for anything.
    private var lastAsked: [UInt32: Instant] = [:]

    /// Who has asked for nothing for so long needs nothing.
    static let attention = Duration.seconds(2)
    /// The longest rest: a bulk that took longer was held up by the disk.
    static let longest = Duration.seconds(10)
    /// How many users' last requests are remembered before those of long ago are left out.
    private static let remembered = 64

    /// How many users are remembered.
    var count: Int { rests.count + lastAsked.count }

    /// A user asks for something.
    mutating func note(_ uid: UInt32, at now: Instant) {
        lastAsked[uid] = now
        guard lastAsked.count > Self.remembered else { return }
        lastAsked = lastAsked.filter { now - $0.value <= Self.attention }
        rests = rests.filter { $0.value.began != nil || $0.value.end > now }
    }

    /// A user's bulk begins.
    mutating func begin(_ uid: UInt32, at now: Instant) { rests[uid, default: Rest()].began = now }

    /// A user's bulk is over.
    mutating func end(_ uid: UInt32, at now: Instant) {
        guard let began = rests[uid]?.began else { return }
        rests[uid] = Rest(began: nil, end: now + min(now - began, Self.longest))
    }

    /// When a user's next bulk may begin; nil for now.
    ///
    /// It is asked for anew once that has come: others may have asked for something, or for nothing more.
    func end(of uid: UInt32, at now: Instant) -> Instant? {
        guard let end = rests[uid]?.end, end > now, areOthersAwake(than: uid, at: now) else {
            return nil
        }
        return end
    }

    private func areOthersAwake(than uid: UInt32, at now: Instant) -> Bool {
        lastAsked.contains { $0.key != uid && now - $0.value <= Self.attention }
    }
}
