// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Cluster

/// A node whose core cannot begin.
extension LeadershipTests {
    @Test("One whose core cannot begin gives the lease back, and lets the others try, ever longer")
    func couldNotLead() {
        var node = Self.standby()
        var now = Self.start
        for pause in [3_333_333, 6_666_666, 13_333_332] as [Int64] {
            let free = Self.look(epoch: 6, holder: nil, remaining: 0)
            _ = node.receive(.answered(.renew(epoch: nil), free, sent: now), at: now)
            guard case .send(.take(let seen), _) = node.next(at: now) else {
                Issue.record("it does not take the lease: \(node.next(at: now))")
                return
            }
            let taken = Self.look(
                .taken(epoch: 6),
                epoch: 6,
                holder: "me",
                remaining: 10 * Self.second
            )
            _ = node.receive(.answered(.take(seen), taken, sent: now), at: now)
            #expect(node.epoch == 6)
            #expect(node.receive(.couldNotLead, at: now) == [.closeFence, .leader(nil)])
            #expect(node.next(at: now) == .send(.release(epoch: 6), within: 2 * Self.second))
            _ = node.receive(.answered(.release(epoch: 6), free, sent: now), at: now)
            // Its own notice has it look again, and the lease is free.
            let end = now + pause
            while now < end {
                _ = node.receive(.notified, at: now)
                #expect(node.next(at: now) == .send(.renew(epoch: nil), within: 2 * Self.second))
                _ = node.receive(.answered(.renew(epoch: nil), free, sent: now), at: now)
                guard case .wait(let until) = node.next(at: now) else {
                    Issue.record("it takes the lease after \(now + pause - end) µs")
                    return
                }
                now = until
            }
            #expect(now == end)
        }
        // What it could lead with after all ends that.
        _ = node.receive(.coreStopped, at: now)
        #expect(node.failedStarts == 0)
    }
}
