// SPDX-License-Identifier: Apache-2.0

import DequeModule
import Synchronization

/// A limit on how many runs are in progress at once, in all and of each user.
///
/// Those that must wait are served in order, the users in turn: whoever starts a thousand runs at
/// once delays nobody's one.
final class RunSlots: Sendable {
    private struct Waiter {
        var ticket: Int
        var grant: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var free: Int
        /// Slots in use, by user; none for those with none.
        var used: [UInt32: Int] = [:]
        var waiters: [UInt32: Deque<Waiter>] = [:]
        /// Users with waiters, the next to be served first.
        var turns: Deque<UInt32> = []
        var lastTicket = 0
    }

    let limit: Int
    let limitPerUser: Int
    private let state: Mutex<State>

    /// Both limits are at least 1.
    init(limit: Int, limitPerUser: Int = .max) {
        self.limit = limit
        self.limitPerUser = limitPerUser
        state = Mutex(State(free: limit))
    }

    var inUse: Int { state.withLock { limit - $0.free } }
    var waiting: Int { state.withLock { $0.waiters.values.reduce(0) { $0 + $1.count } } }

    /// Waits for a slot, behind all of the same user's who came before; give it back with `release`.
    ///
    /// Throws if the task is cancelled while it waits: then there is nothing to give back.
    func acquire(for user: UInt32 = 0) async throws(CancellationError) {
        let ticket = state.withLock { state in
            state.lastTicket += 1
            return state.lastTicket
        }
        let isGranted = await withTaskCancellationHandler {
            await withCheckedContinuation { queue($0, ticket: ticket, user) }
        } onCancel: {
            leave(ticket, user)
        }
        if !isGranted { throw CancellationError() }
    }

    /// Gives a user's slot back, to the first who may have it.
    func release(for user: UInt32 = 0) {
        let next = state.withLock { state in
            state.free += 1
            let used = state.used[user, default: 1] - 1
            state.used[user] = used > 0 ? used : nil
            return takeTurn(&state)
        }
        next?.grant.resume(returning: true)
    }

    /// Takes the slot that is free for the first user in turn who may have one more.
    private func takeTurn(_ state: inout State) -> Waiter? {
        guard state.free > 0 else { return nil }
        let turn = state.turns.firstIndex { state.used[$0, default: 0] < limitPerUser }
        guard let turn else { return nil }
        let user = state.turns.remove(at: turn)
        let waiter = state.waiters[user]?.popFirst()
        if state.waiters[user]?.isEmpty == false {
            state.turns.append(user)
        } else {
            state.waiters[user] = nil
        }
        take(&state, user)
        return waiter
    }

    private func take(_ state: inout State, _ user: UInt32) {
        state.free -= 1
        state.used[user, default: 0] += 1
    }

    private func queue(
        _ grant: CheckedContinuation<Bool, Never>,
        ticket: Int,
        _ user: UInt32
    ) {
        let answer: Bool? = state.withLock { state in
            // A task cancelled before this has called `leave` in vain; one cancelled later calls
            // it after this lock is given up.
            if Task.isCancelled { return false }
            // A slot is free while others wait only where those may have no more.
            if state.free > 0, state.used[user, default: 0] < limitPerUser {
                take(&state, user)
                return true
            }
            if state.waiters[user] == nil { state.turns.append(user) }
            state.waiters[user, default: []].append(Waiter(ticket: ticket, grant: grant))
            return nil
        }
        if let answer { grant.resume(returning: answer) }
    }

    private func leave(_ ticket: Int, _ user: UInt32) {
        let waiter = state.withLock { state -> Waiter? in
            guard let index = state.waiters[user]?.firstIndex(where: { $0.ticket == ticket }) else {
                return nil
            }
            let waiter = state.waiters[user]?.remove(at: index)
            if state.waiters[user]?.isEmpty == true {
                state.waiters[user] = nil
                state.turns.removeAll { $0 == user }
            }
            return waiter
        }
        waiter?.grant.resume(returning: false)
    }
}
