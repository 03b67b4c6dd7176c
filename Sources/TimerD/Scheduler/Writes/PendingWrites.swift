// SPDX-License-Identifier: Apache-2.0

import Locks
import Platform
import TimerControl

/// Counts the writes that are on their way to disk, by user.
///
/// A read waits for the writes that its user may know of, and not for a thousand jobs of another user.
final class PendingWrites: Sendable {
    enum Write: Hashable, Sendable {
        /// A change that this user has asked for.
        case command(of: UInt32)
        /// What has happened to a job of this user's.
        case record(about: UInt32)
        /// A write that any user may know of.
        case common
    }

    private struct Counts {
        var byWrite: [Write: Int] = [:]
        var records = 0
        /// When of each user the latest record was stored.
        var lastStored: [UInt32: SuspendingClock.Instant] = [:]
    }

    private let counts = Locked(Counts())

    func begin(_ write: Write) { change(write, by: 1) }

    /// To be called once it is stored, or has failed.
    func end(_ write: Write) { change(write, by: -1) }

    /// Whether `caller` may know of one of them: his own change, or what happened to his jobs, to an
    /// administrator to anybody's.
    func concern(_ caller: Caller) -> Bool {
        counts.withLock { counts in
            if caller.isAdministrator, counts.records > 0 { return true }
            let own: [Write] = [.command(of: caller.uid), .record(about: caller.uid), .common]
            return own.contains { counts.byWrite[$0] != nil }
        }
    }

    /// Whether one of them is a change that `caller` has asked for.
    func areAskedFor(by caller: Caller) -> Bool {
        counts.withLock { $0.byWrite[.command(of: caller.uid)] != nil }
    }

    /// Whether one of them stores events of the jobs of `owner`, nil for all owners, or is one that any user
    /// may know of.
    func areTold(to owner: Owner?) -> Bool {
        counts.withLock { counts in
            guard let owner else { return counts.records > 0 || counts.byWrite[.common] != nil }
            return [.record(about: owner.uid), .common].contains { counts.byWrite[$0] != nil }
        }
    }

    /// Whether something that has happened to the jobs of another user than `uid` is on its way, or was within `time`.
    func areOthersAtWork(than uid: UInt32, within time: Duration) -> Bool {
        let now = SuspendingClock.now
        return counts.withLock { counts in
            counts.lastStored.contains { $0.key != uid && now - $0.value <= time }
                || counts.byWrite.contains { write, _ in
                    if case .record(let other) = write { other != uid } else { false }
                }
        }
    }

    private func change(_ write: Write, by count: Int) {
        counts.withLock { counts in
            counts.byWrite.count(count, of: write)
            guard case .record(let user) = write else { return }
            counts.records += count
            if count < 0 { counts.lastStored[user] = .now }
        }
    }
}
