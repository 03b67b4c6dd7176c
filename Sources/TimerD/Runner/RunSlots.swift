// SPDX-License-Identifier: Apache-2.0

import DequeModule
import Synchronization

/// A limit on how many runs are in progress at once; those that must wait are served in order.
final class RunSlots: Sendable {
    private struct Waiter {
        var ticket: Int
        var grant: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var free: Int
        var waiters: Deque<Waiter> = []
        var lastTicket = 0
    }

    let limit: Int
    private let state: Mutex<State>

    /// `limit` is at least 1.
    init(limit: Int) {
        self.limit = limit
        state = Mutex(State(free: limit))
    }

    var inUse: Int { state.withLock { limit - $0.free } }
    var waiting: Int { state.withLock { $0.waiters.count } }

    /// Waits for a slot, behind all who came before; give it back with `release`.
    ///
    /// Throws if the task is cancelled while it waits: then there is nothing to give back.
    func acquire() async throws(CancellationError) {
        let ticket = state.withLock { state in
            state.lastTicket += 1
            return state.lastTicket
        }
        let isGranted = await withTaskCancellationHandler {
            await withCheckedContinuation { queue($0, ticket: ticket) }
        } onCancel: {
            leave(ticket)
        }
        if !isGranted { throw CancellationError() }
    }

    /// Gives a slot back, to the first who waits for one.
    func release() {
        let next = state.withLock { state in
            let next = state.waiters.popFirst()
            if next == nil { state.free += 1 }
            return next
        }
        next?.grant.resume(returning: true)
    }

    private func queue(_ grant: CheckedContinuation<Bool, Never>, ticket: Int) {
        let answer: Bool? = state.withLock { state in
            // A task cancelled before this has called `leave` in vain; one cancelled later calls
            // it after this lock is given up.
            if Task.isCancelled { return false }
            if state.free > 0 {
                state.free -= 1
                return true
            }
            state.waiters.append(Waiter(ticket: ticket, grant: grant))
            return nil
        }
        if let answer { grant.resume(returning: answer) }
    }

    private func leave(_ ticket: Int) {
        let waiter = state.withLock { state in
            state.waiters.firstIndex { $0.ticket == ticket }.map { state.waiters.remove(at: $0) }
        }
        waiter?.grant.resume(returning: false)
    }
}
