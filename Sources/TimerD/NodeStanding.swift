// SPDX-License-Identifier: Apache-2.0

import Locks

/// What keeps a node from leading; from any thread.
final class NodeStanding: Sendable {
    private struct State: Sendable {
        var trouble: String?
        var failure: String?
        var drains = false
    }

    private let state = Locked(State())

    /// Why the database cannot be used; nil if it can.
    var trouble: String? {
        get { state.withLock { $0.trouble } }
        set { state.withLock { $0.trouble = newValue } }
    }

    /// Why this node could not lead when it had the lease last; nil if it could.
    var failure: String? {
        get { state.withLock { $0.failure } }
        set { state.withLock { $0.failure = newValue } }
    }

    /// Whether no command is to begin on it, and another is to lead.
    var drains: Bool {
        get { state.withLock { $0.drains } }
        set { state.withLock { $0.drains = newValue } }
    }

    /// For a client that waits for a node to lead: a clause about this one, the first that holds; nil if nothing
    /// keeps it from leading.
    var reason: String? {
        state.withLock { state in
            state.trouble.map { "the database cannot be used: \($0)" }
                ?? state.failure.map { "it could not lead itself: \($0)" }
                ?? (state.drains ? "it drains" : nil)
        }
    }
}
