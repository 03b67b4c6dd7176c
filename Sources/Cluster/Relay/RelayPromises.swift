// SPDX-License-Identifier: Apache-2.0

import Platform

/// How much the relayed connections of each user were promised beyond what each begins with.
///
/// Who reads nothing is promised no more; but who has read fast may stop to, with many connections.
struct RelayPromises {
    /// A user of one host.
    struct User: Hashable {
        var node: String
        var uid: UInt32
    }

    private let limits: RelayLimits
    private var grownOfUser: [User: Int] = [:]
    private var grown = 0

    init(_ limits: RelayLimits) { self.limits = limits }

    /// How much more may be promised to a user's connections.
    func growth(of user: User) -> Int {
        min(limits.maxGrownPerUser - grownOfUser[user, default: 0], limits.maxGrown - grown)
    }

    /// Notes what a connection of the user was promised before and now.
    mutating func change(of user: User, from before: Int, to now: Int) {
        guard before != now else { return }
        grown += now - before
        grownOfUser.count(now - before, of: user)
    }
}
