// SPDX-License-Identifier: Apache-2.0

import Locks
import NIOCore
import TimerControl

/// What the loop waits for while the user database is asked elsewhere, which may take for as long as that likes.
///
/// The loop ends without it: what is found out from `end` on is told to nobody, as a loop that has ended takes nothing.
final class Lookups: Sendable {
    private struct State {
        var isOver = false
        var last = 0
        /// By their numbers, what ends the wait for each.
        var waiting: [Int: @Sendable () -> Void] = [:]
    }

    private let state = Locked(State())
    private let loop: any EventLoop

    init(_ loop: any EventLoop) { self.loop = loop }

    /// What `begin` says later, on any thread; `over` where that does not come before the end.
    func future<Value: Sendable>(
        orElse over: @autoclosure @escaping @Sendable () -> Value,
        _ begin: (_ found: @escaping @Sendable (Value) -> Void) -> Void
    ) -> EventLoopFuture<Value> {
        let promise = loop.makePromise(of: Value.self)
        let number = state.withLock { state -> Int? in
            if state.isOver { return nil }
            state.last += 1
            state.waiting[state.last] = { promise.succeed(over()) }
            return state.last
        }
        guard let number else {
            promise.succeed(over())
            return promise.futureResult
        }
        begin { value in
            self.state.withLock { state in
                guard state.waiting.removeValue(forKey: number) != nil else { return }
                // What follows may ask for more: as it is queued, it runs once the lock is free.
                self.loop.execute { promise.succeed(value) }
            }
        }
        return promise.futureResult
    }

    /// Ends all waits; to be called before the loop ends.
    func end() {
        let waiting = state.withLock { state in
            defer { state.waiting = [:] }
            state.isOver = true
            return Array(state.waiting.values)
        }
        for end in waiting { end() }
    }
}
