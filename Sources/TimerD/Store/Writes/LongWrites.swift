// SPDX-License-Identifier: Apache-2.0

import Locks

/// What commands of users have taken of the store's thread, of those whose commands took long; from any thread.
///
/// `BulkRests` takes it out as a change of the user ends, and has him rest.
final class LongWrites: Sendable {
    private let times = Locked<[UInt32: Duration]>([:])

    func note(_ time: Duration, of user: UInt32) {
        times.withLock { $0[user, default: .zero] += time }
    }

    /// What was noted of the user since this was called last; nil for nothing.
    func take(of user: UInt32) -> Duration? {
        times.withLock { $0.isEmpty ? nil : $0.removeValue(forKey: user) }
    }
}

/// What commands of each user have taken of the store's thread in one batch.
struct BatchWork {
    /// Less is not worth a commit of its own, nor a rest: hundreds of small changes take no more.
    static let much = Duration.milliseconds(20)

    private var times: [UInt32: Duration] = [:]

    /// Returns whether those of the user have taken long.
    mutating func add(_ time: Duration, of user: UInt32) -> Bool {
        let sum = times[user, default: .zero] + time
        times[user] = sum
        return sum >= Self.much
    }

    /// The batch is over: notes who has taken long, and begins anew.
    mutating func end(notingIn long: LongWrites) {
        for (user, time) in times where time >= Self.much { long.note(time, of: user) }
        times.removeAll(keepingCapacity: true)
    }
}
