// SPDX-License-Identifier: Apache-2.0

/// What the database answers to a renewal, or to an attempt to take the lease.
package struct LeaseAnswer: Sendable, Equatable {
    /// What became of the lease by this statement.
    package enum Outcome: Sendable, Equatable {
        /// Nothing: it was only looked at, or is not this node's, or not free.
        case none
        case renewed
        case taken(epoch: Int64)
        /// It is free, but a commit of the node that led holds it.
        case blocked
    }

    package var outcome: Outcome
    package var lease: Lease
    /// How many nodes come before this one when the lease is free.
    package var rank: Int
    /// Whether this node is to lead no more, if there is another.
    package var drains: Bool
    /// Whether a node is there, beside this one, that does not drain.
    package var othersMayLead: Bool
    /// By how much the wall clock of the node that wrote the jobs last is ahead of the database's, in µs.
    ///
    /// As of its last renewal; nil where none has.
    package var formerClock: Int64?

    package init(
        outcome: Outcome,
        lease: Lease,
        rank: Int,
        drains: Bool,
        othersMayLead: Bool,
        formerClock: Int64? = nil
    ) {
        self.outcome = outcome
        self.lease = lease
        self.rank = rank
        self.drains = drains
        self.othersMayLead = othersMayLead
        self.formerClock = formerClock
    }
}

/// The lease as it stands in the database.
package struct Lease: Sendable, Equatable {
    package var epoch: Int64
    /// Nil once it was given back.
    package var holder: String?
    /// Whether it is this node's, of now or of a process before it on this machine.
    package var isOwn: Bool
    /// The end, in µs since 1970 by the database's clock: tells one renewal from the next.
    package var until: Int64
    /// How long it still runs by the database's clock, in µs; negative once it is over.
    package var remaining: Int64
    /// What it lasted when it was renewed, in µs.
    package var length: Int64

    package init(
        epoch: Int64,
        holder: String?,
        isOwn: Bool,
        until: Int64,
        remaining: Int64,
        length: Int64
    ) {
        self.epoch = epoch
        self.holder = holder
        self.isOwn = isOwn
        self.until = until
        self.remaining = remaining
        self.length = length
    }
}

/// Why a node leads no more.
package enum StopReason: Sendable, Equatable {
    /// It could not be renewed in time.
    case leaseOver
    /// Another node holds it, or this one with a later epoch.
    case leaseLost(to: String?)
    case drains
    case leaves
    /// It cannot reach the other nodes, and one of these can.
    case relayAway
}
