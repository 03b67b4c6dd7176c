// SPDX-License-Identifier: Apache-2.0

/// The lease as this node has seen it, by its own clock.
struct SeenLease: Sendable, Equatable {
    var lease: Lease
    /// When it is over, by what the database said of it.
    var end: Int64
    /// When the answer had come that first showed this renewal of it.
    let seenAt: Int64

    /// When it is over whatever the database's clock does.
    var surelyOver: Int64 { seenAt + lease.length }

    func seen(at now: Int64) -> Leadership.Seen {
        Leadership.Seen(
            epoch: lease.epoch,
            until: lease.until,
            isSurelyOver: now >= surelyOver
        )
    }
}

extension Leadership {
    mutating func take(
        in answer: LeaseAnswer,
        to request: Request,
        sent: Int64,
        _ now: Int64,
        _ effects: inout [Effect]
    ) {
        failures = 0
        notBefore = .min
        renewAt = sent + terms.renewal
        rank = answer.rank
        // An attempt to take the lease writes the row only where that is blocked.
        if case .take = request, answer.outcome != .blocked {} else { rowIsHeld = false }
        othersMayLead = answer.othersMayLead
        if drains != answer.drains {
            drains = answer.drains
            effects.append(.drains(drains))
        }
        note(answer.lease, sent: sent, now)
        switch (request, answer.outcome) {
        case (.take, .taken(let epoch)):
            begin(epoch, formerClock: answer.formerClock, sent: sent, now, &effects)
        case (.take, .blocked): takeAt = now + terms.retry(afterFailures: 1)
        case (.renew(let epoch?), .renewed): extend(epoch, sent: sent, &effects)
        case (.renew(let epoch?), _): lost(epoch, answer.lease, now, &effects)
        case (.release, _): givenBack(now)
        case (.renew(nil), _), (.take, _): break
        }
        if role == .standsBy {
            // Its own lease of before is nobody's who leads.
            let isLed = answer.lease.remaining > 0 && !answer.lease.isOwn
            let leader = isLed ? answer.lease.holder : nil
            tell(leader: leader, in: answer.lease.epoch, &effects)
        }
        if isToStandBy { handOver(.drains, &effects) }
    }

    /// Remembers the lease, and when it may be taken.
    private mutating func note(_ seen: Lease, sent: Int64, _ now: Int64) {
        let last = lookedAt
        lookedAt = sent
        if let known = lease, known.lease.epoch == seen.epoch, known.lease.until == seen.until {
            lease?.lease = seen
            // If it should be over by now and is not, this clock or the database's was set, and the new answer counts. Until
            // then the first answer counts: a database's clock that jumps ahead ends no lease.
            if now >= known.end { lease?.end = now + seen.remaining }
        } else {
            // The answer was under way for a while, so this end is late by up to that: better than early.
            lease = SeenLease(lease: seen, end: now + max(seen.remaining, 0), seenAt: now)
            // The lease was renewed since the last look. If it would be over sooner than that allows, the database's clock
            // has jumped ahead, and the whole length has to pass; so it has where the last look is longer ago than a lease
            // lasts. A jump by less than the time between two looks is not seen.
            if let last {
                let least = seen.length - (now - last)
                if least <= 0 || seen.remaining < least - terms.margin / 2 {
                    lease?.end = now + seen.length
                }
            }
        }
        guard let lease else { return }
        if seen.isOwn {
            takeAt = now
        } else if seen.holder == nil {
            takeAt = max(now, min(takeAt ?? .max, now + terms.spread(ofRank: rank)))
        } else {
            // At least 1 ms from now: a try that came a little too early is not repeated at once.
            let end = max(min(lease.end, lease.surelyOver), now + 1000)
            takeAt = end + terms.spread(ofRank: rank)
        }
    }

    private mutating func begin(
        _ epoch: Int64,
        formerClock: Int64?,
        sent: Int64,
        _ now: Int64,
        _ effects: inout [Effect]
    ) {
        let end = sent + terms.length - terms.margin
        // An answer that came this late opens no fence: the lease has to be taken again.
        guard now < end, role == .standsBy else { return }
        guard !leaves, !isToStandBy else {
            role = .givesBack(epoch: epoch, end: end)
            return
        }
        role = .leads(epoch: epoch, end: end)
        effects += [.openFence(until: end), .lead(epoch: epoch, formerClock: formerClock)]
        tell(leader: name, &effects)
    }

    private mutating func extend(_ epoch: Int64, sent: Int64, _ effects: inout [Effect]) {
        let end = sent + terms.length - terms.margin
        switch role {
        case .leads(epoch, _): role = .leads(epoch: epoch, end: end)
        case .handsOver(epoch, _): role = .handsOver(epoch: epoch, end: end)
        // The renewal came too late: the core was told to stop.
        default: return
        }
        effects.append(.openFence(until: end))
    }

    private mutating func lost(
        _ epoch: Int64,
        _ lease: Lease,
        _ now: Int64,
        _ effects: inout [Effect]
    ) {
        switch role {
        case .leads(epoch, _), .handsOver(epoch, _):
            // If the lease was lost during this very statement, the answer still shows it as it was before.
            let isCurrent = lease.epoch != epoch
            stop(.leaseLost(to: isCurrent ? lease.holder : nil), &effects)
            if !isCurrent { renewAt = now }
        default: break
        }
    }

    private mutating func givenBack(_ now: Int64) {
        guard case .givesBack = role else { return }
        role = .standsBy
        // The other nodes may take the lease first.
        takeAt = now + terms.renewal
    }
}
