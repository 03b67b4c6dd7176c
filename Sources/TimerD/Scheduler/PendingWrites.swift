// SPDX-License-Identifier: Apache-2.0

import Locks
import TimerControl

/// Which writes are on their way, by the user whom each is about: who reads waits for those that he
/// may have heard of, and not for another's thousand jobs.
final class PendingWrites: Sendable {
    enum Write: Hashable, Sendable {
        /// A change that this user has asked for.
        case command(of: UInt32)
        /// What has happened to a job of this user's.
        case record(about: UInt32)
        /// What anybody may have heard of.
        case common
    }

    private struct Counts {
        var byWrite: [Write: Int] = [:]
        var records = 0
    }

    private let counts = Locked(Counts())

    func begin(_ write: Write) { change(write, by: 1) }

    /// To be called once it is stored, or has failed.
    func end(_ write: Write) { change(write, by: -1) }

    /// Whether one of them may be what `caller` knows of: what he has asked for, what has happened
    /// to his jobs, and for an administrator to anybody's.
    func concern(_ caller: Caller) -> Bool {
        counts.withLock { counts in
            if caller.isAdministrator, counts.records > 0 { return true }
            let own: [Write] = [.command(of: caller.uid), .record(about: caller.uid), .common]
            return own.contains { counts.byWrite[$0] != nil }
        }
    }

    /// Whether one of them is a change that `caller` has asked for, or of what anybody may have heard of.
    func areAskedFor(by caller: Caller) -> Bool {
        counts.withLock { counts in
            [.command(of: caller.uid), .common].contains { counts.byWrite[$0] != nil }
        }
    }

    /// Whether one of them is of what has been told to who may know of the jobs of `owner`; nil for
    /// those of all.
    func areTold(to owner: Owner?) -> Bool {
        counts.withLock { counts in
            guard let owner else { return counts.records > 0 || counts.byWrite[.common] != nil }
            return [.record(about: owner.uid), .common].contains { counts.byWrite[$0] != nil }
        }
    }

    private func change(_ write: Write, by count: Int) {
        counts.withLock { counts in
            let rest = counts.byWrite[write, default: 0] + count
            counts.byWrite[write] = rest > 0 ? rest : nil
            if case .record = write { counts.records += count }
        }
    }
}
