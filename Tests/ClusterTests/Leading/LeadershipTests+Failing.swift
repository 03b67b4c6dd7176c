// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Cluster

/// A node whose core cannot begin, or not go on.
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
    }

    @Test("So does one whose copy fails while it leads; a minute of leading ends that")
    func couldNotGoOn() {
        var node = Self.standby()
        var now = Self.start
        // 59 s, with a disk that is full again and again, are as good as none.
        for (led, pause) in [
            (2, 3_333_333), (59, 6_666_666), (0, 13_333_332), (60, 3_333_333),
        ] as [(Int64, Int64)] {
            Self.lead(&node, for: led * Self.second, &now)
            #expect(node.receive(.couldNotLead, at: now) == [.closeFence, .leader(nil)])
            #expect(node.standsBackUntil == now + pause)
            let free = Self.look(epoch: 6, holder: nil, remaining: 0)
            _ = node.receive(.answered(.release(epoch: 6), free, sent: now), at: now)
            now += pause
        }
        // An end in order, of a core that led for a moment, tells nothing; nor does a core that took long to begin.
        for (led, failures) in [(2, 1), (60, 0)] as [(Int64, Int)] {
            Self.lead(&node, for: led * Self.second, &now)
            _ = node.receive(.coreStopped, at: now)
            #expect(node.failedLeads == failures)
            let free = Self.look(epoch: 6, holder: nil, remaining: 0)
            _ = node.receive(.answered(.release(epoch: 6), free, sent: now), at: now)
            now += 4 * Self.second
        }
        node.failedLeads = 3
        Self.lead(&node, for: 120 * Self.second, begins: false, &now)
        _ = node.receive(.couldNotLead, at: now)
        #expect(node.failedLeads == 4)
    }

    @Test("Its row says for a minute that it could not lead, or until its core has begun again")
    func standsAside() {
        let minute = 60 * Self.second
        var node = Self.standby()
        var now = Self.start
        #expect(node.standsAside(at: now) == nil)
        Self.lead(&node, for: 0, begins: false, &now)
        #expect(node.standsAside(at: now) == nil)
        // With the release the others hear of it.
        _ = node.receive(.couldNotLead, at: now)
        #expect(node.next(at: now) == .send(.release(epoch: 6), within: 2 * Self.second))
        #expect(node.standsAside(at: now) == minute)
        #expect(node.standsAside(at: now + minute - 1) == 1)
        #expect(node.standsAside(at: now + minute) == nil)
        let free = Self.look(epoch: 6, holder: nil, remaining: 0)
        _ = node.receive(.answered(.release(epoch: 6), free, sent: now), at: now)
        // It tries again before the minute is over, as nobody else leads.
        now += 4 * Self.second
        Self.lead(&node, for: 0, begins: false, &now)
        #expect(node.standsAside(at: now) == minute - 4 * Self.second)
        _ = node.receive(.coreBegan, at: now)
        #expect(node.standsAside(at: now) == nil)
        // An end in order says nothing against it.
        _ = node.receive(.coreStopped, at: now)
        #expect(node.standsAside(at: now) == nil)
    }

    @Test("One whose name another has follows nobody, and is told anew who leads once it is free")
    func nameTaken() {
        var node = Self.standby()
        let request = Leadership.Request.renew(epoch: nil)
        #expect(node.receive(.nameTaken, at: Self.start) == [.leader(nil)])
        #expect(node.receive(.nameTaken, at: Self.start) == [])
        let same = Self.look(remaining: 7 * Self.second)
        #expect(
            node.receive(.answered(request, same, sent: Self.start), at: Self.start)
                == [.leader("other")]
        )
        // One that leads goes by its lease, which nobody else has.
        var now = Self.start
        Self.lead(&node, for: 0, &now)
        #expect(node.receive(.nameTaken, at: now) == [])
        #expect(node.epoch != nil)
    }

    @Test("One that finds the tables gone follows nobody once the lease that it saw is over")
    func tablesGone() {
        var node = Self.standby()
        let request = Leadership.Request.renew(epoch: nil)
        let early = Self.start + 7 * Self.second
        #expect(node.receive(.refused(request), at: early) == [])
        #expect(node.receive(.tablesGone, at: early) == [])
        let late = Self.start + 8 * Self.second
        // What is refused to this node alone says nothing of the one that leads.
        #expect(node.receive(.refused(request), at: late) == [])
        #expect(node.receive(.tablesGone, at: late) == [.leader(nil)])
        #expect(node.receive(.tablesGone, at: late) == [])
        // A dump was put in place, and a node leads again.
        let again = Self.look(epoch: 6, until: 900, remaining: 9 * Self.second)
        #expect(
            node.receive(.answered(request, again, sent: late), at: late) == [.leader("other")]
        )
        // One that leads goes by its lease.
        var (leader, now) = (Self.standby(), Self.start)
        Self.lead(&leader, for: 0, &now)
        #expect(leader.receive(.tablesGone, at: now) == [])
        #expect(leader.epoch != nil)
    }

    @Test("One whose relay is away for two leases hands over where another's is not")
    func relayAway() {
        let (lease, renewal) = (10 * Self.second, Leadership.Request.renew(epoch: 6))
        let renewed = Self.look(.renewed, epoch: 6, holder: "me", remaining: lease)
        /// Renews the lease for so long, and says each time whether others carry: what came of the last time.
        func lead(_ node: inout Leadership, _ now: inout Int64, for time: Int64, othersCarry: Bool)
            -> [Leadership.Effect]
        {
            let end = now + time
            var effects: [Leadership.Effect] = []
            while now < end, effects == [] {
                now += 3 * Self.second
                _ = node.receive(.answered(renewal, renewed, sent: now), at: now)
                effects = node.receive(.othersCarry(othersCarry), at: now)
            }
            return effects
        }
        let over: [Leadership.Effect] = [.stopLeading(.relayAway), .leader(nil)]
        var (node, now) = (Self.standby(), Self.start)
        Self.lead(&node, for: 0, &now)
        #expect(!node.asksForRelays)
        #expect(node.receive(.relay(isAway: true), at: now) == [])
        #expect(node.asksForRelays)
        // While nobody would gain it leads on.
        var effects = lead(&node, &now, for: 3 * lease, othersCarry: false)
        #expect(effects == [])
        effects = lead(&node, &now, for: 3 * Self.second, othersCarry: true)
        #expect(effects == over)
        #expect(node.receive(.othersCarry(true), at: now) == [])
        #expect(node.receive(.coreStopped, at: now) == [.closeFence])
        #expect(node.standsBackUntil == now + 3_333_333)
        #expect(node.relayHandOvers == 1)

        // In vain where it was away for less than that, of this lead; of a second lead, for less than twice that.
        for (handOvers, patience) in [(0, 2 * lease), (1, 4 * lease)] {
            var (node, now) = (Self.standby(), Self.start)
            Self.lead(&node, for: 0, &now)
            node.relayHandOvers = handOvers
            _ = node.receive(.relay(isAway: true), at: now)
            let short = patience - 4 * Self.second
            effects = lead(&node, &now, for: short, othersCarry: true)
            #expect(effects == [])
            effects = lead(&node, &now, for: 6 * Self.second, othersCarry: true)
            #expect(effects == over)
        }
        // And where it is back in time.
        (node, now) = (Self.standby(), Self.start)
        Self.lead(&node, for: 0, &now)
        node.relayHandOvers = 1
        _ = node.receive(.relay(isAway: true), at: now)
        _ = lead(&node, &now, for: lease, othersCarry: true)
        #expect(node.receive(.relay(isAway: false), at: now) == [])
        #expect(!node.asksForRelays && node.relayHandOvers == 0)
        effects = lead(&node, &now, for: 3 * lease, othersCarry: true)
        #expect(effects == [])
    }

    @Test("One whose own row somebody holds takes the lease again only where no other does")
    func rowHeld() {
        let second = Self.second
        /// Leads until its lease is over, and what it does from then on is its end.
        func lose(othersMayLead: Bool) -> Leadership {
            var (node, now) = (Self.standby(), Self.start)
            Self.lead(&node, for: 0, &now)
            let renewal = Leadership.Request.renew(epoch: 6)
            let renewed = Self.look(
                .renewed,
                epoch: 6,
                holder: "me",
                remaining: 10 * second,
                othersMayLead: othersMayLead
            )
            _ = node.receive(.answered(renewal, renewed, sent: now), at: now)
            _ = node.receive(.failed(renewal), at: now + 4 * second)
            #expect(node.receive(.rowHeld, at: now + 4 * second) == [])
            #expect(node.rowIsHeld && node.epoch == 6)
            _ = node.receive(.time, at: now + 9 * second)
            _ = node.receive(.coreStopped, at: now + 9 * second)
            return node
        }
        func asks(_ node: Leadership, at now: Int64) -> Leadership.Request? {
            guard case .send(let request, _) = node.next(at: now) else { return nil }
            return request
        }
        let take = Leadership.Request.take(
            Leadership.Seen(epoch: 6, until: 500, isSurelyOver: true)
        )
        // Nobody else could: as before, at once.
        let alone = lose(othersMayLead: false)
        guard case .take? = asks(alone, at: Self.start + 9 * second) else {
            Issue.record("it waits: \(alone.next(at: Self.start + 9 * second))")
            return
        }
        // A third of a lease after the end of its own it is to lead all the same.
        var node = lose(othersMayLead: true)
        let due = Self.start + 10 * second + 3_333_333
        #expect(asks(node, at: due - 1) == .renew(epoch: nil))
        #expect(asks(node, at: due) == take)
        // The answer says who leads, and nothing of its row, which goes on being due.
        let led = Self.look(epoch: 7, until: 900, remaining: 4 * second)
        #expect(node.receive(.answered(take, led, sent: due), at: due) == [.leader("other")])
        #expect(node.rowIsHeld)
        let next = due + 4 * second
        #expect(asks(node, at: next + 3_333_332) == .renew(epoch: nil))
        _ = node.receive(.answered(.renew(epoch: nil), led, sent: next), at: next)
        #expect(!node.rowIsHeld)
    }

    /// The server gives up the row after half a second, and who does not wait for that loses the connection.
    @Test("One whose own row somebody holds asks no more just before its lease is over")
    func rowHeldAtEnd() {
        let second = Self.second
        var (node, now) = (Self.standby(), Self.start)
        Self.lead(&node, for: 0, &now)
        let (renewal, end) = (Leadership.Request.renew(epoch: 6), now + 9 * second)
        _ = node.receive(.failed(renewal), at: end - 4 * second)
        #expect(node.next(at: end - second) == .send(renewal, within: second))
        #expect(node.receive(.rowHeld, at: end - 4 * second) == [])
        #expect(node.next(at: end - second - 1) == .send(renewal, within: second + 1))
        #expect(node.next(at: end - second) == .wait(until: end))
        let effects = node.receive(.time, at: end)
        #expect(effects == [.closeFence, .stopLeading(.leaseOver), .leader(nil)])
    }

    @Test("One that hands over while its runs go on stops leading once its lease is over or lost")
    func handsOverTooLong() {
        func handsOver() -> Leadership {
            var (node, now) = (Self.standby(), Self.start)
            Self.lead(&node, for: 0, &now)
            let drains = Self.look(
                .renewed,
                epoch: 6,
                holder: "me",
                remaining: 10 * Self.second,
                drains: true
            )
            let effects = node.receive(
                .answered(.renew(epoch: 6), drains, sent: now),
                at: now
            )
            #expect(effects.suffix(2) == [.stopLeading(.drains), .leader(nil)])
            return node
        }
        var node = handsOver()
        let end = Self.start + 9 * Self.second
        #expect(node.receive(.time, at: end) == [.closeFence, .stopLeading(.leaseOver)])
        #expect(node.receive(.coreStopped, at: end) == [])
        #expect(!node.holdsLease)

        node = handsOver()
        let taken = Self.look(epoch: 7, remaining: 10 * Self.second, drains: true)
        let effects = node.receive(
            .answered(.renew(epoch: 6), taken, sent: Self.start + 1),
            at: Self.start + 1
        )
        #expect(
            effects == [.closeFence, .stopLeading(.leaseLost(to: "other")), .leader("other")]
        )
    }

    /// Has a node that stands by take the lease, which is free, and lead.
    private static func lead(
        _ node: inout Leadership,
        for time: Int64,
        begins: Bool = true,
        _ now: inout Int64
    ) {
        let free = look(epoch: 6, holder: nil, remaining: 0)
        _ = node.receive(.answered(.renew(epoch: nil), free, sent: now), at: now)
        guard case .send(.take(let seen), _) = node.next(at: now) else {
            Issue.record("it does not take the lease: \(node.next(at: now))")
            return
        }
        func answer(_ outcome: LeaseAnswer.Outcome) -> LeaseAnswer {
            look(outcome, epoch: 6, holder: "me", remaining: 10 * second)
        }
        _ = node.receive(.answered(.take(seen), answer(.taken(epoch: 6)), sent: now), at: now)
        if begins { _ = node.receive(.coreBegan, at: now) }
        let end = now + time
        while now < end {
            now = min(now + 3 * second, end)
            let renewed = answer(.renewed)
            _ = node.receive(.answered(.renew(epoch: 6), renewed, sent: now), at: now)
        }
        #expect(node.epoch == 6)
    }
}
