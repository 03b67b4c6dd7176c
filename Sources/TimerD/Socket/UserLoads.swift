// SPDX-License-Identifier: Apache-2.0

import DequeModule
import Locks
import NIOCore

/// How many requests of each user are in progress, over all their connections.
///
/// A connection that finds its user at the limit reads no further and waits here, in turn. Requests
/// count until they have ended, also those whose connection is gone.
final class UserLoads: Sendable {
    private struct State {
        var limit: Int
        var counts: [UInt32: Int] = [:]
        /// Users of whom a connection waits.
        var waiting: Set<UInt32> = []
        /// Whether the loop may still be asked to run something.
        var isOpen = true

        func hasRoom(for uid: UInt32) -> Bool { counts[uid, default: 0] < limit }
    }

    private let loop: any EventLoop
    private let state: Locked<State>
    private let waiting: NIOLoopBoundBox<[UInt32: Deque<Connection>]>

    init(limit: Int, loop: any EventLoop) {
        state = Locked(State(limit: limit))
        self.loop = loop
        waiting = NIOLoopBoundBox.makeBoxSendingValue([:], eventLoop: loop)
    }

    func hasRoom(for uid: UInt32) -> Bool {
        state.withLock { $0.hasRoom(for: uid) }
    }

    /// Sets another limit; on the loop.
    func setLimit(_ limit: Int) {
        state.withLock { $0.limit = limit }
        for uid in waiting.value.keys { wake(uid) }
    }

    func begin(_ uid: UInt32) { state.withLock { $0.counts[uid, default: 0] += 1 } }

    /// A request has ended; from any thread.
    func end(_ uid: UInt32) {
        state.withLock { state in
            let count = state.counts[uid, default: 1] - 1
            state.counts[uid] = count > 0 ? count : nil
            guard state.isOpen, state.waiting.remove(uid) != nil else { return }
            // Under the lock: after `close` the loop may be gone.
            loop.execute { self.wake(uid) }
        }
    }

    /// Has `connection` told once there is room for its user; on the loop.
    func wait(_ connection: Connection, _ uid: UInt32) {
        waiting.value[uid, default: []].append(connection)
        let hasRoom = state.withLock { state in
            state.waiting.insert(uid)
            return state.hasRoom(for: uid)
        }
        // The last of those in progress ended in between.
        if hasRoom { loop.execute { self.wake(uid) } }
    }

    /// Wakes nobody any more; to be called before the loop ends.
    func close() { state.withLock { $0.isOpen = false } }

    private func wake(_ uid: UInt32) {
        while hasRoom(for: uid), let next = waiting.value[uid]?.popFirst() { next.resumeStarting() }
        guard waiting.value[uid]?.isEmpty == false else {
            waiting.value[uid] = nil
            return
        }
        // Who still waits is woken by the next request that ends.
        let hasRoom = state.withLock { state in
            state.waiting.insert(uid)
            return state.hasRoom(for: uid)
        }
        if hasRoom { loop.execute { self.wake(uid) } }
    }
}
