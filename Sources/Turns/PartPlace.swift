// SPDX-License-Identifier: Apache-2.0

import Locks

/// A place that a request in progress takes for a part of its work.
///
/// So a request that waits for something has no place meanwhile, and takes its turn with what it does then.
package final class PartPlace: RequestGateClient, Sendable {
    private enum State {
        case none
        case waiting(CheckedContinuation<Void, Never>)
        case held
    }

    private let load: RequestLoad
    private let gate: RequestGate
    private let user: RequestGate.User
    private let state = Locked(State.none)

    package init(_ load: RequestLoad, at gate: RequestGate, for user: RequestGate.User) {
        self.load = load
        self.gate = gate
        self.user = user
    }

    /// Returns once it has the place, at once if it has it already; for one task at a time.
    ///
    /// - Throws: if the task is cancelled.
    package func take() async throws {
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let mustWait = state.withLock { state in
                    // If the task was cancelled before this, `giveBack` found nobody to resume.
                    guard case .none = state, !Task.isCancelled else { return false }
                    state = .waiting(waiter)
                    return true
                }
                if mustWait { gate.onLoop { self.ask() } } else { waiter.resume() }
            }
        } onCancel: {
            giveBack()
        }
        try Task.checkCancellation()
    }

    /// Gives the place back, or waits for it no longer; from any thread.
    package func giveBack() {
        let before = state.withLock { state in
            defer { state = .none }
            return state
        }
        switch before {
        case .none: break
        case .waiting(let waiter):
            gate.onLoop { self.gate.cancel(self, self.load.kind, of: self.user) }
            waiter.resume()
        case .held:
            gate.onLoop { self.gate.end(self.load, of: self.user) }
        }
    }

    // MARK: - On the event loop

    private func ask() {
        let isWanted = state.withLock { state in
            if case .waiting = state { true } else { false }
        }
        if isWanted, gate.take(load, for: user, self) { turnCame() }
    }

    package func turnCame() {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard case .waiting(let waiter) = state else { return nil }
            state = .held
            return waiter
        }
        // Nobody wants it any more.
        guard let waiter else { return gate.end(load, of: user) }
        waiter.resume()
    }
}
