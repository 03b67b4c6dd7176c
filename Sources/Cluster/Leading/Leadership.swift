// SPDX-License-Identifier: Apache-2.0

/// Whether this node leads, and what it does next for that: decisions alone, no I/O and no clock.
///
/// All times are µs of this node's CLOCK_BOOTTIME. One request is under way at a time: whoever carries this out asks
/// `next`, does what it says, tells what came of it, and does the effects in their order.
package struct Leadership: Sendable {
    /// What to ask of the database.
    package enum Request: Sendable, Equatable {
        /// Renews the node's own row, and the lease of that epoch if there is one.
        case renew(epoch: Int64?)
        /// Takes the lease if it is free or this node's own.
        case take(Seen)
        case release(epoch: Int64)
    }

    /// The lease that is to be taken: what has become another since is left alone.
    ///
    /// A statement whose answer never came may be done much later, and must not take what was taken, or renewed, since.
    package struct Seen: Sendable, Equatable {
        package var epoch: Int64
        /// As the database has it.
        package var until: Int64
        /// Whether this node has seen it unchanged for its whole length, so that it is over whatever the database's
        /// clock says: that may have been set back.
        package var isSurelyOver: Bool

        package init(epoch: Int64, until: Int64, isSurelyOver: Bool) {
            self.epoch = epoch
            self.until = until
            self.isSurelyOver = isSurelyOver
        }
    }

    package enum Step: Sendable, Equatable {
        /// Ask that, and give up after `within` µs.
        case send(Request, within: Int64)
        /// Nothing is due before.
        case wait(until: Int64)
        /// The node has left: it holds nothing.
        case done
    }

    package enum Event: Sendable, Equatable {
        /// `sent`: a time before the request left.
        case answered(Request, LeaseAnswer, sent: Int64)
        /// Nobody knows whether it was done.
        case failed(Request)
        /// The database does not take this node, and hardly will soon.
        case refused(Request)
        /// The tables, or a row that all nodes need, are gone: whoever led cannot renew its lease either.
        case tablesGone
        /// Another node has this one's name: it takes no part, and what is sent under that name is not for it.
        case nameTaken
        /// Somebody who is no node keeps this node's own row from being written, and with it the lease.
        case rowHeld
        /// The lease was taken or given back, or a node is to drain: look.
        case notified
        /// The node is to end: it gives back what it holds, and takes nothing.
        case leave
        /// The core has stopped, as it was told, or by itself.
        case coreStopped
        /// The core has begun: it leads indeed.
        case coreBegan
        /// The core could not begin, or has stopped as its own copy of the jobs has failed: the others are to try first.
        case couldNotLead
        /// The relay has no connection with the database, so that no other node is reached; or has one again.
        case relay(isAway: Bool)
        /// Whether another node that may lead has a connection of its relay.
        case othersCarry(Bool)
        case time
    }

    package enum Effect: Sendable, Equatable {
        case openFence(until: Int64)
        case closeFence
        /// `formerClock`: see `LeaseAnswer`.
        case lead(epoch: Int64, formerClock: Int64? = nil)
        case stopLeading(StopReason)
        /// Who leads, as far as is known.
        case leader(String?)
        /// Whether no command is to begin on the node; it does not drain before the first.
        case drains(Bool)
    }

    /// Where the node stands; `end`: when its fence closes.
    enum Role: Sendable, Equatable {
        case standsBy
        case leads(epoch: Int64, end: Int64)
        /// The core was told to stop, and may commit until it has.
        case handsOver(epoch: Int64, end: Int64)
        /// The core has stopped, the lease is to be given back.
        case givesBack(epoch: Int64, end: Int64)
        /// The lease is over or lost, the core was told to stop and has not yet.
        case waitsForCore
    }

    let name: String
    let terms: LeaseTerms
    var role = Role.standsBy
    var lease: SeenLease?
    /// When the last question was sent that was answered.
    var lookedAt: Int64?
    var rank = 0
    var drains = false
    /// Whether a node is there, beside this one, that does not drain, and has not just been unable to lead.
    var othersMayLead = true
    /// Since when the relay has no connection; nil while it has one.
    var relayAwaySince: Int64?
    /// How often it has handed over since then.
    var relayHandOvers = 0
    var leaves = false
    var failures = 0
    /// When the node's row is due.
    var renewAt: Int64
    /// When the lease may be taken, were it not for `failures` and `standsBackUntil`; nil before it was seen.
    var takeAt: Int64?
    /// It takes no lease before: its core could not begin, or not go on, and others may do better.
    ///
    /// Its own notice that the lease is free would have it take it at once.
    var standsBackUntil = Int64.min
    /// Until when nodes that drain are to lead rather than this one, which could not; see `LeaseTerms.standsAside`.
    var standsAsideUntil = Int64.min
    /// Whether its own row could not be written when that was tried last, see `Event.rowHeld`.
    package internal(set) var rowIsHeld = false
    /// How many times its core could not begin, or not go on, since it last led for long.
    var failedLeads = 0
    /// Since when its core leads; nil while it does not.
    var ledSince: Int64?
    /// No request before: the last has failed.
    var notBefore = Int64.min
    /// What was last said of who leads.
    private var toldLeader: String?
    private var toldEpoch: Int64?

    package init(name: String, terms: LeaseTerms, now: Int64) {
        self.name = name
        self.terms = terms
        renewAt = now
    }

    /// The epoch in which this node leads, if it does.
    package var epoch: Int64? {
        if case .leads(let epoch, _) = role { epoch } else { nil }
    }

    /// Whether this node holds the lease, or may.
    package var holdsLease: Bool {
        switch role {
        case .leads, .handsOver, .givesBack: true
        case .standsBy, .waitsForCore: false
        }
    }

    /// Whether it takes no lease: it drains, and another may lead.
    ///
    /// Where none may, a node that drains is better than none.
    var isToStandBy: Bool { drains && othersMayLead }

    /// When it may take the lease, were it not for `failures`; nil before it was seen.
    ///
    /// Without its row it would lose the lease again as soon as it is over: others come first, for a third of one.
    private var takeTime: Int64? {
        guard let lease, var time = takeAt else { return nil }
        if rowIsHeld, othersMayLead {
            time = max(time, min(lease.end, lease.surelyOver)) + terms.renewal
        }
        return max(time, standsBackUntil)
    }

    /// For how many µs more its row says that it could not lead; nil for one that may.
    package func standsAside(at now: Int64) -> Int64? {
        standsAsideUntil > now ? standsAsideUntil - now : nil
    }

    /// Whether it is to ask if another node's relay has a connection.
    var asksForRelays: Bool { epoch != nil && relayAwaySince != nil }

    /// Whether the relay has had no connection for so long that others are to lead first.
    private func lacksRelay(at now: Int64) -> Bool {
        relayAwaySince.map { now - $0 >= terms.relayPatience } ?? false
    }

    /// Whether the lease is over, as far as it was seen.
    private func isLeaseOver(at now: Int64) -> Bool {
        lease.map { now >= min($0.end, $0.surelyOver) } ?? true
    }

    /// Whether the lease was seen by now.
    package var hasLooked: Bool { lookedAt != nil }

    /// What to do at `now`.
    package func next(at now: Int64) -> Step {
        var within = terms.statement
        var wake = Int64.max
        var request = Request.renew(epoch: nil)
        var due = renewAt
        switch role {
        case .standsBy:
            if leaves { return .done }
            // A row that is held stays due, and would keep it from the lease for good.
            if !isToStandBy, let lease, let takeTime, takeTime < due || rowIsHeld && takeTime <= now
            {
                due = takeTime
                request = .take(lease.seen(at: now))
            }
        case .leads(let epoch, let end), .handsOver(let epoch, let end):
            request = .renew(epoch: epoch)
            wake = end
            // Awake when the fence closes, to tell the core.
            within = min(within, max(end - now, 1000))
            // So short a limit would be over before the server gives up the row, and that costs the connection.
            if rowIsHeld, end - now <= 2 * terms.lock { due = max(due, end) }
        case .givesBack(let epoch, let end):
            request = .release(epoch: epoch)
            due = now
            wake = end + terms.margin
        case .waitsForCore: break
        }
        due = max(due, notBefore)
        return due <= now ? .send(request, within: within) : .wait(until: min(due, wake))
    }

    /// Takes in what has happened; what is to be done at once.
    package mutating func receive(_ event: Event, at now: Int64) -> [Effect] {
        var effects: [Effect] = []
        endWhatIsOver(now, &effects)
        switch event {
        case .answered(let request, let answer, let sent):
            take(in: answer, to: request, sent: sent, now, &effects)
        case .failed:
            failures += 1
            notBefore = now + terms.retry(afterFailures: failures)
        case .refused:
            failures += 1
            notBefore = now + (epoch == nil ? terms.renewal : terms.retry(afterFailures: failures))
        case .tablesGone:
            if role == .standsBy, isLeaseOver(at: now) { tell(leader: nil, &effects) }
        case .rowHeld: rowIsHeld = true
        case .nameTaken: if role == .standsBy { tell(leader: nil, &effects) }
        case .notified: renewAt = min(renewAt, now)
        case .leave:
            leaves = true
            handOver(.leaves, &effects)
        case .coreBegan:
            ledSince = now
            standsAsideUntil = .min
        case .coreStopped:
            coreStopped(now, &effects)
            // Nodes that reach the others come before it.
            if lacksRelay(at: now) { standsBackUntil = max(standsBackUntil, now + terms.renewal) }
        case .couldNotLead:
            coreStopped(now, &effects)
            failedLeads += 1
            standsBackUntil = now + terms.standBack(afterFailures: failedLeads)
            // With the release the others hear of it.
            standsAsideUntil = now + terms.standsAside
        case .relay(let isAway):
            relayAwaySince = isAway ? relayAwaySince ?? now : nil
            if !isAway { relayHandOvers = 0 }
        case .othersCarry(let carry): if carry { endWithoutRelay(now, &effects) }
        case .time: break
        }
        return effects
    }

    /// Closes the fence and stops leading where the lease may be over.
    private mutating func endWhatIsOver(_ now: Int64, _ effects: inout [Effect]) {
        switch role {
        // One that hands over may have runs that take long, and is not to go on as if it led.
        case .leads(_, let end) where now >= end, .handsOver(_, let end) where now >= end:
            stop(.leaseOver, &effects)
        // Nothing is left to give back.
        case .givesBack(_, let end) where now >= end + terms.margin: role = .standsBy
        default: break
        }
    }

    /// Hands over where this node has led for long without reaching the others, and one of these could lead and reach them.
    ///
    /// Where none could, as where the database has no connection left for any relay, nobody would gain. Each time it leads
    /// for twice as long as before: whoever reaches the others may be unable to lead.
    private mutating func endWithoutRelay(_ now: Int64, _ effects: inout [Effect]) {
        guard case .leads = role, lacksRelay(at: now), let ledSince,
            now - ledSince >= terms.relayPatience << Int64(min(relayHandOvers, 10))
        else { return }
        relayHandOvers += 1
        handOver(.relayAway, &effects)
    }

    /// Stops leading without the lease.
    mutating func stop(_ reason: StopReason, _ effects: inout [Effect]) {
        role = .waitsForCore
        effects += [.closeFence, .stopLeading(reason)]
        if case .leaseLost(let holder) = reason, holder != name {
            tell(leader: holder, &effects)
        } else {
            tell(leader: nil, &effects)
        }
    }

    /// Stops leading, and keeps the lease while the core needs it for that.
    mutating func handOver(_ reason: StopReason, _ effects: inout [Effect]) {
        guard case .leads(let epoch, let end) = role else { return }
        role = .handsOver(epoch: epoch, end: end)
        effects.append(.stopLeading(reason))
        tell(leader: nil, &effects)
    }

    private mutating func coreStopped(_ now: Int64, _ effects: inout [Effect]) {
        // One that led for a moment may have a disk that was full, and will be again.
        if let ledSince, now - ledSince >= terms.longestStandBack { failedLeads = 0 }
        ledSince = nil
        switch role {
        case .leads(let epoch, let end), .handsOver(let epoch, let end):
            role = .givesBack(epoch: epoch, end: end)
            effects.append(.closeFence)
            tell(leader: nil, &effects)
        case .waitsForCore:
            role = .standsBy
            // Whose lease is it by now?
            renewAt = min(renewAt, now)
        case .givesBack, .standsBy: break
        }
    }

    /// Tells who leads, where that is news: also where the same node leads in another `epoch`, as its process may be another.
    mutating func tell(leader: String?, in epoch: Int64? = nil, _ effects: inout [Effect]) {
        let isAnew = leader != nil && epoch != nil && toldEpoch != nil && epoch != toldEpoch
        guard leader != toldLeader || isAnew else {
            toldEpoch = toldEpoch ?? epoch
            return
        }
        (toldLeader, toldEpoch) = (leader, epoch)
        effects.append(.leader(leader))
    }
}
