// SPDX-License-Identifier: Apache-2.0

import Locks
package import NIOCore

/// A client that waits at the gate for a place; used on the event loop.
package protocol RequestGateClient: AnyObject {
    /// Called once the client has the place that it waited for.
    func turnCame()
}

/// A connection as the gate sees it, with the bytes that it holds; used on the event loop.
package protocol ReplyHolder: AnyObject {
    /// How many bytes the other end has taken so far.
    var takenBytes: Int { get }
    /// How many bytes the other end has taken and sent so far.
    var movedBytes: Int { get }
    /// How many bytes are held of replies that are made, also behind one that is not; none once it is closed.
    var heldBytes: Int { get }
    /// Whether its client has something to take, or a line to finish.
    var hasToMove: Bool { get }
    /// Closes the connection and logs why; what it holds has been given back to the gate once this returns.
    func cutOff(_ reason: String)
}

/// Lets requests begin as `RequestTurns` decides, and cuts off stalled clients whose memory others wait for.
///
/// Lives on the event loop; requests may end on any thread, and come here by `onLoop`.
package final class RequestGate: Sendable {
    package typealias User = RequestTurns<ObjectIdentifier>.User

    /// How long a client may take nothing while other connections of its user wait for the memory it holds.
    private let patience: TimeAmount

    /// A client that has not taken all of its replies, or has not sent all of a long line, or whose replies wait for an
    /// earlier one.
    private struct Holder {
        var client: any ReplyHolder
        /// `movedBytes` at the last look, and since when it has not changed though it should.
        var moved: Int
        var since: NIODeadline
    }

    private struct State {
        var turns: RequestTurns<ObjectIdentifier>
        var waiting: [ObjectIdentifier: any RequestGateClient] = [:]
        var holders: [UInt32: [ObjectIdentifier: Holder]] = [:]
        /// Users with a client that waits; their holders are looked at from time to time.
        var watched: Set<UInt32> = []
        /// Of users whose connections hold too much together.
        var hoarders: [UInt32: Hoarders] = [:]
        var isGranting = false
        /// Goes off when the first rest ends for which a client waits.
        var restTimer: (deadline: NIODeadline, task: Scheduled<Void>)?
    }

    package let loop: any EventLoop
    private let state: NIOLoopBoundBox<State>
    /// Whether the loop may still be asked to run something.
    private let isOpen = Locked(true)

    /// `areOthersAtWork`: whether jobs of another user than this one are at work, or were within that time;
    /// `takeLongWrites`: how long the store has worked for this user since it was called last, where that was long.
    package init(
        requestsPerUser: Int,
        patience: TimeAmount = .seconds(10),
        areOthersAtWork: @escaping @Sendable (UInt32, Duration) -> Bool = { _, _ in false },
        takeLongWrites: @escaping @Sendable (UInt32) -> Duration? = { _ in nil },
        loop: any EventLoop
    ) {
        self.patience = patience
        self.loop = loop
        state = NIOLoopBoundBox.makeBoxSendingValue(
            State(
                turns: RequestTurns(
                    requestsPerUser: requestsPerUser,
                    areOthersAtWork: areOthersAtWork,
                    takeLongWrites: takeLongWrites
                )
            ),
            as: State.self,
            eventLoop: loop
        )
    }

    /// Runs `body` on the loop: at once if called there.
    ///
    /// From other threads it does not run once the gate is closed.
    package func onLoop(_ body: @escaping @Sendable () -> Void) {
        if loop.inEventLoop { return body() }
        // Under the lock: after `close` the loop may be gone.
        isOpen.withLock { if $0 { loop.execute(body) } }
    }

    /// From here on `onLoop` does nothing from other threads; to be called before the loop ends.
    package func close() { isOpen.withLock { $0 = false } }

    /// Sets how many requests of a user may be in progress.
    package func setLimit(_ requestsPerUser: Int) {
        state.value.turns.requestsPerUser = requestsPerUser
        letIn()
    }

    /// Takes a place and counts what the request may hold; false if it has to wait for `turnCame`.
    ///
    /// A client waits for one place at a time: with `cancel` it is forgotten, and a place that it is given then is lost.
    package func take(_ load: RequestLoad, for user: User, _ client: any RequestGateClient) -> Bool
    {
        let id = ObjectIdentifier(client)
        setTime()
        defer { awaitRestEnd() }
        if state.value.turns.take(load, for: user, id) { return true }
        state.value.waiting[id] = client
        watch(user.uid)
        return false
    }

    /// Gives a place back.
    package func end(_ load: RequestLoad, of user: User) {
        setTime()
        state.value.turns.end(load, of: user.uid)
        letIn()
    }

    /// Counts that a connection holds `bytes` more, or fewer if negative; `read`: how many of them are of a line whose
    /// requests wait, `unread`: beside them those of one that waits to be read.
    package func hold(_ bytes: Int, read: Int = 0, unread: Int = 0, of user: User) {
        state.value.turns.hold(bytes, read: read, unread: unread, of: user.uid)
        if bytes < 0 || read > 0 || unread < 0 { letIn() }
    }

    /// The client waits no longer.
    package func cancel(_ client: any RequestGateClient, _ kind: RequestLoad.Kind, of user: User) {
        let id = ObjectIdentifier(client)
        state.value.waiting[id] = nil
        state.value.turns.cancel(id, kind, of: user)
        // Others may have waited behind it.
        letIn()
    }

    /// Notes whether a connection holds much, or something that its client has to take or to finish.
    package func note(_ client: any ReplyHolder, of user: User, isHolding: Bool) {
        let id = ObjectIdentifier(client)
        if isHolding {
            guard state.value.holders[user.uid]?[id] == nil else { return }
            state.value.holders[user.uid, default: [:]][id] = Holder(
                client: client,
                moved: client.movedBytes,
                since: .now()
            )
        } else if state.value.holders[user.uid]?.removeValue(forKey: id) != nil,
            state.value.holders[user.uid]?.isEmpty == true
        {
            state.value.holders[user.uid] = nil
        }
    }

    private func letIn() {
        // A request that begins may end at once and call this again from within.
        guard !state.value.isGranting else { return }
        state.value.isGranting = true
        setTime()
        while let id = state.value.turns.next() {
            state.value.waiting.removeValue(forKey: id)?.turnCame()
        }
        state.value.isGranting = false
        awaitRestEnd()
    }

    private func setTime() {
        state.value.turns.now = .nanoseconds(Int64(NIODeadline.now().uptimeNanoseconds))
    }

    /// Has `letIn` called when the first rest ends for which a client waits.
    private func awaitRestEnd() {
        guard let end = state.value.turns.nextRestEnd else { return }
        let (seconds, attoseconds) = end.components
        let deadline = NIODeadline.uptimeNanoseconds(
            UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
        )
        if let timer = state.value.restTimer, timer.deadline <= deadline { return }
        state.value.restTimer?.task.cancel()
        let task = loop.assumeIsolated().scheduleTask(deadline: deadline) {
            self.state.value.restTimer = nil
            self.letIn()
        }
        state.value.restTimer = (deadline, task)
    }

    // MARK: - Stalled clients

    private func watch(_ uid: UInt32) {
        guard state.value.watched.insert(uid).inserted else { return }
        look(at: uid)
        lookAgain(at: uid, in: patience)
    }

    private func lookAgain(at uid: UInt32, in time: TimeAmount) {
        loop.assumeIsolated().scheduleTask(in: time) {
            let isShort = self.state.value.turns.isShortOfBytes(uid)
            let stalled = self.look(at: uid)
            if isShort {
                for client in stalled {
                    client.cutOff("it takes and sends nothing, and others of its user wait")
                }
            }
            if self.state.value.turns.isWaiting(uid) {
                self.lookAgain(at: uid, in: min(.seconds(1), self.patience))
            } else {
                self.state.value.watched.remove(uid)
            }
        }
    }

    /// Notes what the holders of a user have moved; returns those that have moved nothing for `patience`.
    @discardableResult
    private func look(at uid: UInt32) -> [any ReplyHolder] {
        let now = NIODeadline.now()
        var stalled: [any ReplyHolder] = []
        for (id, holder) in state.value.holders[uid] ?? [:] {
            let moved = holder.client.movedBytes
            if moved != holder.moved || !holder.client.hasToMove {
                state.value.holders[uid]?[id]?.moved = moved
                state.value.holders[uid]?[id]?.since = now
            } else if now - holder.since >= patience {
                stalled.append(holder.client)
            }
        }
        return stalled
    }

    // MARK: - Too many bytes

    /// Has connections of the user cut off where they hold too much together, now that one holds more.
    ///
    /// The requests have been carried out by now, so that no bound on what begins helps any more. Many answers come at
    /// once, before any socket could take one: who takes what it gets is seen only later, and stays. But there may be any
    /// number of them by then, so that beyond a second bound whoever holds most goes at once.
    package func grew(of user: User) {
        let uid = user.uid
        guard state.value.turns.holdsTooMuch(uid) else { return }
        if state.value.hoarders[uid] == nil {
            state.value.hoarders[uid] = Hoarders()
            lookAtHoarders(uid)
        }
        while state.value.turns.holdsFarTooMuch(uid),
            let largest = Hoarders.largest(of: holders(of: uid))
        {
            largest.cutOff("its user's connections hold far too much, and it holds most")
        }
    }

    private func lookAtHoarders(_ uid: UInt32) {
        // Others do not wait, but memory is held that nobody has reckoned with.
        loop.assumeIsolated().scheduleTask(in: .nanoseconds(patience.nanoseconds / 10)) {
            let holders = self.holders(of: uid)
            for client in self.state.value.hoarders[uid]?.look(at: holders) ?? []
            where self.state.value.turns.holdsTooMuch(uid) {
                client.cutOff(
                    "it takes too little, or waits for an earlier reply, "
                        + "and its user's connections hold too much"
                )
            }
            if self.state.value.turns.holdsTooMuch(uid) {
                self.lookAtHoarders(uid)
            } else {
                self.state.value.hoarders[uid] = nil
            }
        }
    }

    private func holders(of uid: UInt32) -> [any ReplyHolder] {
        (state.value.holders[uid] ?? [:]).values.map(\.client)
    }
}
