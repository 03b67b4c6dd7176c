// SPDX-License-Identifier: Apache-2.0

import DequeModule
import Locks

/// A limit on how many runs are in progress at once, in all and of each user.
///
/// Those that must wait are served in order, the users in turn: whoever starts a thousand runs at
/// once delays nobody's one. Root may keep a reserve against all others together.
final class RunSlots: Sendable {
    /// Who entered, and when.
    struct Ticket: Sendable {
        fileprivate var number: Int
        fileprivate var user: UInt32
    }

    private struct Waiter {
        var ticket: Int
        /// Nil until somebody waits.
        var grant: CheckedContinuation<Bool, Never>?
    }

    private struct State {
        var limit: Int
        var limitPerUser: Int
        /// Whether places are kept for root.
        var hasReserve: Bool
        var inUse = 0
        /// Slots in use, by user; none for those with none.
        var used: [UInt32: Int] = [:]
        var waiters: [UInt32: Deque<Waiter>] = [:]
        /// Tickets that have a slot and nobody who waits, yet.
        var granted: Set<Int> = []
        /// Users with waiters, the next to be served first.
        var turns: Deque<UInt32> = []
        var lastTicket = 0

        func hasRoom(for user: UInt32) -> Bool {
            guard used[user, default: 0] < limitPerUser else { return false }
            guard hasReserve else { return inUse < limit }
            let roots = used[0, default: 0]
            let others = max(limit - RunSlots.reserve(of: limit), 1)
            // The one place there is may be another's: then root's is one more.
            if user == 0 { return roots < limit && inUse < max(limit, others + 1) }
            return inUse < limit && inUse - roots < others
        }
    }

    private let state: Locked<State>

    /// Nobody has a slot yet.
    ///
    /// Both limits are at least 1. `hasReserve`: whether all users but root together leave root some of
    /// the places.
    init(limit: Int, limitPerUser: Int = .max, hasReserve: Bool = false) {
        state = Locked(
            State(limit: limit, limitPerUser: limitPerUser, hasReserve: hasReserve)
        )
    }

    /// How many of so many places are root's alone: a sixteenth, one at least.
    static func reserve(of limit: Int) -> Int { max(limit / 16, 1) }

    var inUse: Int { state.withLock { $0.inUse } }
    var waiting: Int { state.withLock { $0.waiters.values.reduce(0) { $0 + $1.count } } }

    /// Sets other limits, each at least 1; runs that are in progress beyond a lower one go on.
    func setLimits(_ limit: Int, perUser limitPerUser: Int) {
        let granted = state.withLock { state in
            state.limit = limit
            state.limitPerUser = limitPerUser
            var granted: [CheckedContinuation<Bool, Never>] = []
            while state.turns.contains(where: state.hasRoom) {
                if let grant = takeTurn(&state) { granted.append(grant) }
            }
            return granted
        }
        for grant in granted { grant.resume(returning: true) }
    }

    /// Takes a slot where one is free, else the next place in the queue; to be followed by `wait`.
    ///
    /// Who enters first is served first, whoever comes to `wait` first.
    func enter(for user: UInt32 = 0) -> Ticket {
        state.withLock { state in
            state.lastTicket += 1
            let ticket = Ticket(number: state.lastTicket, user: user)
            // A slot is free while others wait only where those may have no more.
            if state.hasRoom(for: user) {
                take(&state, user)
                state.granted.insert(ticket.number)
            } else {
                if state.waiters[user] == nil { state.turns.append(user) }
                state.waiters[user, default: []].append(Waiter(ticket: ticket.number))
            }
            return ticket
        }
    }

    /// Waits until the ticket's turn has come; then there is a slot to give back with `release`.
    ///
    /// Throws if the task is cancelled before that: then there is nothing to give back.
    func wait(_ ticket: Ticket) async throws(CancellationError) {
        let isGranted = await withTaskCancellationHandler {
            await withCheckedContinuation { settle($0, ticket) }
        } onCancel: {
            leave(ticket)
        }
        if !isGranted { throw CancellationError() }
    }

    /// Whether the ticket is still in the queue.
    func isWaiting(_ ticket: Ticket) -> Bool {
        state.withLock { index(of: ticket, $0) != nil }
    }

    /// Gives a user's slot back, to the first who may have it.
    func release(for user: UInt32 = 0) {
        let next = state.withLock { release(&$0, user) }
        next?.resume(returning: true)
    }

    private func release(_ state: inout State, _ user: UInt32) -> CheckedContinuation<Bool, Never>?
    {
        state.inUse -= 1
        let used = state.used[user, default: 1] - 1
        state.used[user] = used > 0 ? used : nil
        return takeTurn(&state)
    }

    /// Takes the slot that is free for the first user in turn who may have one more.
    private func takeTurn(_ state: inout State) -> CheckedContinuation<Bool, Never>? {
        guard let turn = state.turns.firstIndex(where: state.hasRoom) else { return nil }
        let user = state.turns.remove(at: turn)
        guard let waiter = state.waiters[user]?.popFirst() else { return nil }
        if state.waiters[user]?.isEmpty == false {
            state.turns.append(user)
        } else {
            state.waiters[user] = nil
        }
        take(&state, user)
        if waiter.grant == nil { state.granted.insert(waiter.ticket) }
        return waiter.grant
    }

    private func take(_ state: inout State, _ user: UInt32) {
        state.inUse += 1
        state.used[user, default: 0] += 1
    }

    /// Answers at once where that can be, else leaves `grant` with the ticket.
    private func settle(_ grant: CheckedContinuation<Bool, Never>, _ ticket: Ticket) {
        var next: CheckedContinuation<Bool, Never>?
        let answer: Bool? = state.withLock { state in
            let isGranted = state.granted.remove(ticket.number) != nil
            // A task cancelled before this has called `leave` in vain; one cancelled later calls
            // it after this lock is given up.
            if Task.isCancelled {
                if isGranted {
                    next = release(&state, ticket.user)
                } else {
                    remove(ticket, &state)
                }
                return false
            }
            if isGranted { return true }
            if let index = index(of: ticket, state) {
                state.waiters[ticket.user]?[index].grant = grant
            }
            return nil
        }
        next?.resume(returning: true)
        if let answer { grant.resume(returning: answer) }
    }

    private func leave(_ ticket: Ticket) {
        let grant = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            guard let index = index(of: ticket, state),
                let grant = state.waiters[ticket.user]?[index].grant
            else { return nil }
            remove(ticket, &state)
            return grant
        }
        grant?.resume(returning: false)
    }

    private func index(of ticket: Ticket, _ state: State) -> Int? {
        state.waiters[ticket.user]?.lastIndex { $0.ticket == ticket.number }
    }

    private func remove(_ ticket: Ticket, _ state: inout State) {
        guard let index = index(of: ticket, state) else { return }
        state.waiters[ticket.user]?.remove(at: index)
        if state.waiters[ticket.user]?.isEmpty == true {
            state.waiters[ticket.user] = nil
            state.turns.removeAll { $0 == ticket.user }
        }
    }
}
