// SPDX-License-Identifier: Apache-2.0

package import Glibc
import Locks

/// Tells when a client's connection is over.
package final class ConnectionLife: Sendable, Hashable {
    private struct State {
        var isOver = false
        var endings: [@Sendable () -> Void] = []
        var isSilent = false
        var silences: [@Sendable () -> Void] = []
    }

    private let state = Locked(State())
    /// The host of the client, where another node relays its connection; nil for a client of this host.
    package let host: String?
    /// The client's process as the kernel calls it here, 0 where it has no number here; nil where that is not known.
    package let process: pid_t?

    package init(from host: String? = nil, process: pid_t? = nil) {
        (self.host, self.process) = (host, process)
    }

    /// Calls `body` when the connection is over; at once if it is.
    package func onEnd(_ body: @escaping @Sendable () -> Void) {
        let isOver = state.withLock { state in
            if !state.isOver { state.endings.append(body) }
            return state.isOver
        }
        if isOver { body() }
    }

    /// Whether the client will say nothing more: it has shut down its writing, or the connection is over.
    package var isSilent: Bool { state.withLock { $0.isSilent } }

    /// Calls `body` when the client will say nothing more; at once if that is so.
    package func onSilence(_ body: @escaping @Sendable () -> Void) {
        let isSilent = state.withLock { state in
            if !state.isSilent { state.silences.append(body) }
            return state.isSilent
        }
        if isSilent { body() }
    }

    /// Has `isSilent` say so from now on; who is to be called is called by `fallSilent`, which follows.
    package func beginSilence() { state.withLock { $0.isSilent = true } }

    /// The client will say nothing more; what it has asked for is still answered.
    package func fallSilent() {
        let silences = state.withLock { state in
            state.isSilent = true
            defer { state.silences = [] }
            return state.silences
        }
        for silence in silences { silence() }
    }

    /// The connection is over.
    package func end() {
        fallSilent()
        let endings = state.withLock { state in
            state.isOver = true
            defer { state.endings = [] }
            return state.endings
        }
        for ending in endings { ending() }
    }

    package static func == (one: ConnectionLife, other: ConnectionLife) -> Bool { one === other }

    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
