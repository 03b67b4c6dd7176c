// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Cluster

/// With leases of 10 s, of which the last second is margin.
@Suite("Leadership")
struct LeadershipTests {
    static let second: Int64 = 1_000_000
    static let start = 1000 * second
    /// Of one that stands by: it has looked at `start`, and the lease runs 8 s more.
    static func standby() -> Leadership {
        var node = fresh()
        _ = node.receive(
            .answered(.renew(epoch: nil), look(remaining: 8 * second), sent: start),
            at: start
        )
        return node
    }

    private static func fresh() -> Leadership {
        Leadership(name: "me", terms: LeaseTerms(length: 10 * second), now: start)
    }

    /// Of one that leads in epoch 6 by what it sent at `start`.
    private static func leader() -> Leadership {
        var node = standby()
        let answer = look(.taken(epoch: 6), epoch: 6, holder: "me", remaining: 10 * second)
        _ = node.receive(.answered(.take(seen), answer, sent: start), at: start + 1)
        return node
    }

    private static let seen = Leadership.Seen(epoch: 5, until: 500, isSurelyOver: false)

    static func look(
        _ outcome: LeaseAnswer.Outcome = .none,
        epoch: Int64 = 5,
        holder: String? = "other",
        until: Int64 = 500,
        remaining: Int64,
        rank: Int = 0,
        drains: Bool = false,
        othersMayLead: Bool = true
    ) -> LeaseAnswer {
        LeaseAnswer(
            outcome: outcome,
            lease: Lease(
                epoch: epoch,
                holder: holder,
                isOwn: holder == "me",
                until: until,
                remaining: remaining,
                length: 10 * second
            ),
            rank: rank,
            drains: drains,
            othersMayLead: othersMayLead
        )
    }

    private static func renewed(drains: Bool = false, othersMayLead: Bool = true) -> LeaseAnswer {
        look(
            .renewed,
            epoch: 6,
            holder: "me",
            remaining: 10 * second,
            drains: drains,
            othersMayLead: othersMayLead
        )
    }

    private static let renewal = Leadership.Request.renew(epoch: 6)

    @Test("It looks first, then renews its row at a third of the lease")
    func looks() {
        #expect(
            Self.fresh().next(at: Self.start)
                == .send(.renew(epoch: nil), within: 2 * Self.second)
        )
        #expect(Self.standby().next(at: Self.start) == .wait(until: Self.start + 3_333_333))
    }

    @Test("It takes the lease of another at its end, and later by its rank", arguments: [0, 3])
    func takes(rank: Int) {
        var node = Self.standby()
        let sent = Self.start + 7 * Self.second
        let answer = Self.look(remaining: Self.second, rank: rank)
        _ = node.receive(.answered(.renew(epoch: nil), answer, sent: sent), at: sent)
        let due = Self.start + 8 * Self.second + Int64(rank) * 20_000
        #expect(node.next(at: due - 1) == .wait(until: due))
        #expect(node.next(at: due) == .send(.take(Self.seen), within: 2 * Self.second))
    }

    @Test("A lease that was given back, and its own of before, it takes at once")
    func takesAtOnce() {
        for holder in [nil, "me"] {
            var node = Self.standby()
            _ = node.receive(.notified, at: Self.start + 1)
            #expect(
                node.next(at: Self.start + 1)
                    == .send(.renew(epoch: nil), within: 2 * Self.second)
            )
            let answer = Self.look(holder: holder, remaining: 5 * Self.second)
            _ = node.receive(
                .answered(.renew(epoch: nil), answer, sent: Self.start + 1),
                at: Self.start + 2
            )
            #expect(
                node.next(at: Self.start + 2) == .send(.take(Self.seen), within: 2 * Self.second)
            )
        }
    }

    @Test("A database's clock that jumps ahead ends no lease of another")
    func jumpAhead() {
        var node = Self.standby()
        let sent = Self.start + Self.second
        let answer = Self.look(remaining: -3600 * Self.second)
        _ = node.receive(.answered(.renew(epoch: nil), answer, sent: sent), at: sent)
        #expect(node.next(at: sent) == .wait(until: sent + 3_333_333))
    }

    @Test("A database's clock that was set back keeps no lease for ever")
    func setBack() {
        var node = Self.standby()
        let over = Self.start + 10 * Self.second
        let answer = Self.look(remaining: 3600 * Self.second)
        _ = node.receive(.answered(.renew(epoch: nil), answer, sent: over - 1), at: over - 1)
        let due = over + 1000
        let seen = Leadership.Seen(epoch: 5, until: 500, isSurelyOver: true)
        #expect(node.next(at: due) == .send(.take(seen), within: 2 * Self.second))
    }

    @Test("It leads from the answer on, until its lease less the margin after the question")
    func leads() {
        var node = Self.standby()
        let answer = Self.look(.taken(epoch: 6), epoch: 6, holder: "me", remaining: 0)
        let end = Self.start + 9 * Self.second
        #expect(
            node.receive(.answered(.take(Self.seen), answer, sent: Self.start), at: end - 1)
                == [.openFence(until: end), .lead(epoch: 6), .leader("me")]
        )
        #expect(node.epoch == 6)
        #expect(
            node.receive(.time, at: end) == [.closeFence, .stopLeading(.leaseOver), .leader(nil)]
        )
        #expect(node.epoch == nil)
    }

    @Test("A take or renewal that is answered after that opens no fence")
    func lateAnswer() {
        let end = Self.start + 9 * Self.second
        var node = Self.standby()
        let answer = Self.look(
            .taken(epoch: 6),
            epoch: 6,
            holder: "me",
            remaining: Self.second
        )
        #expect(
            node.receive(.answered(.take(Self.seen), answer, sent: Self.start), at: end)
                == [.leader(nil)]
        )
        node = Self.leader()
        let effects = node.receive(
            .answered(Self.renewal, Self.renewed(), sent: end - 1),
            at: end
        )
        #expect(effects == [.closeFence, .stopLeading(.leaseOver), .leader(nil)])
    }

    @Test("That the same node leads anew is told: its process may be another")
    func leadsAnew() {
        var node = Self.standby()
        for (epoch, told) in [(Int64(5), false), (6, true), (6, false)] {
            let look = Self.look(epoch: epoch, remaining: 8 * Self.second)
            let effects = node.receive(
                .answered(.renew(epoch: nil), look, sent: Self.start + 2),
                at: Self.start + 2
            )
            #expect(effects == (told ? [.leader("other")] : []))
        }
    }

    @Test("It renews at a third, and gives up a statement in time for the fence's end")
    func renews() {
        var node = Self.leader()
        let due = Self.start + 3_333_333
        #expect(node.next(at: due) == .send(Self.renewal, within: 2 * Self.second))
        let late = Self.start + 8_500_000
        #expect(node.next(at: late) == .send(Self.renewal, within: 500_000))
        #expect(
            node.receive(.answered(Self.renewal, Self.renewed(), sent: late), at: late + 9)
                == [.openFence(until: late + 9 * Self.second)]
        )
    }

    @Test("A failure is tried again soon, then less and less often")
    func retries() {
        var node = Self.leader()
        var now = Self.start + 3_333_333
        for pause: Int64 in [50_000, 100_000, 200_000, 400_000, 800_000, 1_000_000] {
            #expect(node.receive(.failed(Self.renewal), at: now) == [])
            #expect(node.next(at: now) == .wait(until: now + pause))
            now += pause
        }
    }

    @Test("A lease that another holds stops it at once")
    func lost() {
        var node = Self.leader()
        let answer = Self.look(epoch: 7, holder: "other", remaining: Self.second)
        let effects = node.receive(
            .answered(Self.renewal, answer, sent: Self.start + 2),
            at: Self.start + 3
        )
        #expect(
            effects == [.closeFence, .stopLeading(.leaseLost(to: "other")), .leader("other")]
        )
    }

    @Test("Draining, it keeps the lease until its core has stopped, gives it back, takes none")
    func drains() {
        var node = Self.leader()
        let now = Self.start + Self.second
        let effects = node.receive(
            .answered(Self.renewal, Self.renewed(drains: true), sent: now),
            at: now
        )
        #expect(
            effects == [
                .drains(true), .openFence(until: now + 9 * Self.second), .stopLeading(.drains),
                .leader(nil),
            ]
        )
        #expect(
            node.next(at: now + 4 * Self.second) == .send(Self.renewal, within: 2 * Self.second)
        )
        #expect(node.receive(.coreStopped, at: now) == [.closeFence])
        #expect(node.next(at: now) == .send(.release(epoch: 6), within: 2 * Self.second))
        let free = Self.look(epoch: 6, holder: nil, remaining: 0, drains: true)
        #expect(node.receive(.answered(.release(epoch: 6), free, sent: now), at: now) == [])
        let due = now + 3_333_333
        #expect(node.next(at: now) == .wait(until: due))
        #expect(node.next(at: due) == .send(.renew(epoch: nil), within: 2 * Self.second))
    }

    @Test("Draining, it leads where no other may, and hands over once one may")
    func drainsAlone() {
        var node = Self.fresh()
        // The node that leads is there, and then is not.
        let led = Self.look(remaining: Self.second, drains: true)
        _ = node.receive(
            .answered(.renew(epoch: nil), led, sent: Self.start),
            at: Self.start
        )
        var now = Self.start + 3_333_333
        #expect(node.next(at: Self.start) == .wait(until: now))
        let left = Self.look(remaining: -Self.second, drains: true, othersMayLead: false)
        #expect(
            node.receive(.answered(.renew(epoch: nil), left, sent: now), at: now) == [.leader(nil)]
        )
        guard case .send(.take, _) = node.next(at: now + Self.second) else {
            Issue.record("it does not take the lease: \(node.next(at: now + Self.second))")
            return
        }
        now += Self.second
        let taken = Self.look(
            .taken(epoch: 6),
            epoch: 6,
            holder: "me",
            remaining: 10 * Self.second,
            drains: true,
            othersMayLead: false
        )
        #expect(
            node.receive(.answered(.take(Self.seen), taken, sent: now), at: now) == [
                .openFence(until: now + 9 * Self.second), .lead(epoch: 6), .leader("me"),
            ]
        )
        #expect(
            node.receive(
                .answered(
                    Self.renewal,
                    Self.renewed(drains: true, othersMayLead: false),
                    sent: now
                ),
                at: now
            ) == [.openFence(until: now + 9 * Self.second)]
        )
        #expect(
            node.receive(.answered(Self.renewal, Self.renewed(drains: true), sent: now), at: now)
                == [
                    .openFence(until: now + 9 * Self.second), .stopLeading(.drains), .leader(nil),
                ]
        )
    }

    @Test("Leaving, it is done once it holds nothing")
    func leaves() {
        var node = Self.standby()
        #expect(node.receive(.leave, at: Self.start) == [])
        #expect(node.next(at: Self.start) == .done)

        node = Self.leader()
        #expect(
            node.receive(.leave, at: Self.start + 1) == [.stopLeading(.leaves), .leader(nil)]
        )
        _ = node.receive(.coreStopped, at: Self.start + 1)
        // Nobody answers: the lease ends by itself.
        let over = Self.start + 10 * Self.second
        _ = node.receive(.failed(.release(epoch: 6)), at: over - 1)
        _ = node.receive(.time, at: over)
        #expect(node.next(at: over) == .done)
    }
}
