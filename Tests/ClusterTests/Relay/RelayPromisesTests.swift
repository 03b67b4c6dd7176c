// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Cluster

@Suite("What relayed connections were promised")
struct RelayPromisesTests {
    private static func user(_ uid: UInt32) -> RelayPromises.User {
        RelayPromises.User(node: "a", uid: uid)
    }

    private static let limits: RelayLimits = {
        var limits = RelayLimits()
        (limits.maxGrownPerUser, limits.maxGrown) = (100, 150)
        return limits
    }()

    @Test("A user gets what his own connections leave, and what those of all do")
    func bounds() {
        var promises = RelayPromises(Self.limits)
        let (ann, ben) = (Self.user(1), Self.user(2))
        promises.change(of: ann, from: 10, to: 90)
        #expect(promises.growth(of: ann) == 20)
        #expect(promises.growth(of: ben) == 70)
        promises.change(of: ben, from: 10, to: 80)
        #expect(promises.growth(of: ann) == 0)
        promises.change(of: ann, from: 90, to: 10)
        #expect(promises.growth(of: ann) == 80)
        #expect(promises.growth(of: ben) == 30)
        let other = RelayPromises.User(node: "b", uid: 2)
        #expect(promises.growth(of: other) == 80, "a number means somebody else on each host")
    }
}
