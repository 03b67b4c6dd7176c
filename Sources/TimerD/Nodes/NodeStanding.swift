// SPDX-License-Identifier: Apache-2.0

import Cluster
import Locks

/// What keeps a node from leading; from any thread.
final class NodeStanding: Sendable {
    /// Why it takes no part with the database.
    struct Trouble: Sendable, Equatable {
        var message: String
        /// Whether another node has its name: with the database all is well then, and that node, or another, may lead.
        var isOfName = false

        /// What the log says, before the reason.
        var words: String { isOfName ? "this node takes no part" : "the database cannot be used" }

        /// What a client of the node is told.
        func sentence(at node: String) -> String {
            "'\(node)' \(isOfName ? "takes no part" : "cannot use the database"): \(message)"
        }
    }

    private struct State: Sendable {
        var trouble: Trouble?
        var failure: String?
        var relayTrouble: String?
        /// Whether the log says that no other node can be reached.
        var hasWarnedOfRelay = false
        var drains = false
        var adoptionEnd: Int64?
        var leaseHolder: LockHolder?
    }

    private let state = Locked(State())

    /// Why the database cannot be used, or not by a node of this name; nil if it can.
    var trouble: Trouble? {
        get { state.withLock { $0.trouble } }
        set { state.withLock { $0.trouble = newValue } }
    }

    /// Why this node could not lead, or go on leading, when it had the lease last; nil if it could.
    var failure: String? {
        get { state.withLock { $0.failure } }
        set { state.withLock { $0.failure = newValue } }
    }

    /// Why the relay has no connection with the database, so that no other node is reached; nil while it has one.
    var relayTrouble: String? { state.withLock { $0.relayTrouble } }

    /// Takes why the relay has no connection; returns whether that is news for the log.
    ///
    /// It is told once until there is a connection again, and not where the database is away: that was told already.
    /// `knowsDatabase`: whether the database has answered this node before.
    func relayBroke(_ reason: String, knowsDatabase: Bool) -> Bool {
        state.withLock { state in
            state.relayTrouble = reason
            guard knowsDatabase, state.trouble == nil, !state.hasWarnedOfRelay else { return false }
            state.hasWarnedOfRelay = true
            return true
        }
    }

    /// The relay has a connection; returns whether the log says otherwise.
    func relayConnected() -> Bool {
        state.withLock { state in
            defer { (state.relayTrouble, state.hasWarnedOfRelay) = (nil, false) }
            return state.hasWarnedOfRelay
        }
    }

    /// Whether no command is to begin on it, and another is to lead.
    var drains: Bool {
        get { state.withLock { $0.drains } }
        set { state.withLock { $0.drains = newValue } }
    }

    /// Who keeps all nodes from the lease; nil for nobody.
    var leaseHolder: LockHolder? {
        get { state.withLock { $0.leaseHolder } }
        set { state.withLock { $0.leaseHolder = newValue } }
    }

    /// Until when an `--adopt` has the lease, in µs of CLOCK_BOOTTIME; nil while none has it.
    var adoptionEnd: Int64? {
        get { state.withLock { $0.adoptionEnd } }
        set { state.withLock { $0.adoptionEnd = newValue } }
    }

    /// For how many seconds an `--adopt` still has the lease at most; nil where none has it.
    func adoptionSeconds(at now: Int64) -> Int64? {
        adoptionEnd.map { max(($0 - now + 999_999) / 1_000_000, 1) }
    }

    /// For a client that has waited for a node to lead, with the database all being well: a clause about this one, the first
    /// that holds; nil if nothing keeps it from leading.
    func reason(at now: Int64) -> String? {
        if let seconds = adoptionSeconds(at: now) {
            return "an --adopt puts the jobs of one host into the database, or was cut off,"
                + " and has the lease for \(seconds) s more at most"
        }
        if let leaseHolder { return leaseHolder.words }
        return state.withLock { state in
            state.failure.map { "it could not lead itself: \($0)" }
                ?? (state.drains ? "it drains" : nil)
        }
    }
}

extension NodeStanding.Trouble {
    init(_ error: ClusterError) {
        message = error.description
        if case .refused(let refusal) = error { isOfName = refusal.code == .nameInUse }
    }
}
