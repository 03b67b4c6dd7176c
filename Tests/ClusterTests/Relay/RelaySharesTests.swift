// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Cluster

@Suite("Shares of what waits for PostgreSQL")
struct RelaySharesTests {
    private static let ann = RelayPromises.User(node: "a", uid: 1)
    private static let ben = RelayPromises.User(node: "a", uid: 2)
    private static let limits = RelayLimits()

    @Test(
        "Who has added his share waits until that is on its way, and keeps nobody else from reading"
    )
    func flood() {
        var shares = RelayShares(Self.limits)
        let much = NotifyCarrier.much
        func mayRead(_ user: RelayPromises.User, _ unsent: Int) -> Bool {
            shares.mayRead(user, unsent: unsent)
        }
        shares.note(Self.limits.maxUnsentPerUser, of: Self.ann)
        #expect(!mayRead(Self.ann, much))
        #expect(mayRead(Self.ben, much))
        #expect(mayRead(Self.ann, much - 1), "so little waits that nobody is told of its end")
        #expect(
            !mayRead(Self.ben, Self.limits.maxUnsent + 1),
            "nobody's, where all of it is too much"
        )
        shares.begin()
        #expect(mayRead(Self.ann, much))
        shares.note(Self.limits.maxUnsentPerUser, of: Self.ann)
        #expect(mayRead(Self.ann, 0))
        #expect(mayRead(Self.ann, much), "nothing waited in between")
    }
}
