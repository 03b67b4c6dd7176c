// SPDX-License-Identifier: Apache-2.0

import Locks

/// Tells when a client's connection is over.
final class ConnectionLife: Sendable, Hashable {
    private struct State {
        var isOver = false
        var endings: [@Sendable () -> Void] = []
    }

    private let state = Locked(State())

    /// Calls `body` when the connection is over; at once if it is.
    func onEnd(_ body: @escaping @Sendable () -> Void) {
        let isOver = state.withLock { state in
            if !state.isOver { state.endings.append(body) }
            return state.isOver
        }
        if isOver { body() }
    }

    /// The connection is over.
    func end() {
        let endings = state.withLock { state in
            state.isOver = true
            defer { state.endings = [] }
            return state.endings
        }
        for ending in endings { ending() }
    }

    static func == (one: ConnectionLife, other: ConnectionLife) -> Bool { one === other }

    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
