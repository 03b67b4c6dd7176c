// SPDX-License-Identifier: Apache-2.0

import Locks

/// What keeps a node from leading, for clients that wait for one to lead; from any thread.
final class NodeStanding: Sendable {
    private struct State: Sendable {
        var trouble: String?
        var failure: String?
        var drains = false
    }

    private let state = Locked(State())

    /// Why the database cannot be used; nil once it can.
    func set(trouble: String?) { state.withLock { $0.trouble = trouble } }

    /// Why this node could not lead when it had the lease last; nil once it could.
    func set(failure: String?) { state.withLock { $0.failure = failure } }

    func set(drains: Bool) { state.withLock { $0.drains = drains } }

    /// A clause about this node, the first of these that holds; nil if nothing keeps it from leading.
    var reason: String? {
        state.withLock { state in
            state.trouble.map { "the database cannot be used: \($0)" }
                ?? state.failure.map { "it could not lead itself: \($0)" }
                ?? (state.drains ? "it drains" : nil)
        }
    }
}
