// SPDX-License-Identifier: Apache-2.0

import Locks

/// A value behind a lock; tasks can wait for its changes.
package final class Observable<Value: Sendable>: Sendable {
    private struct State {
        var value: Value
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
        var lastTicket = 0
    }

    private let state: Locked<State>

    package init(_ value: Value) { state = Locked(State(value: value)) }

    package var value: Value { state.withLock { $0.value } }

    /// How many wait for the next change.
    package var waiterCount: Int { state.withLock { $0.waiters.count } }

    /// Makes a change and wakes all tasks that wait for one.
    package func change<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
        let (result, waiters) = state.withLock { state in
            let result = body(&state.value)
            defer { state.waiters = [:] }
            return (result, state.waiters)
        }
        for waiter in waiters.values { waiter.resume() }
        return result
    }

    /// Returns after the next change; at once if the value `isWanted` already, or the task is cancelled.
    package func waitForChange(unless isWanted: @Sendable (Value) -> Bool) async {
        let ticket = state.withLock { state in
            state.lastTicket += 1
            return state.lastTicket
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let mustWait = state.withLock { state in
                    // If the task was cancelled before this, `leave` found no waiter to resume.
                    guard !Task.isCancelled, !isWanted(state.value) else { return false }
                    state.waiters[ticket] = waiter
                    return true
                }
                if !mustWait { waiter.resume() }
            }
        } onCancel: {
            leave(ticket)
        }
    }

    private func leave(_ ticket: Int) {
        state.withLock { $0.waiters.removeValue(forKey: ticket) }?.resume()
    }
}
