// SPDX-License-Identifier: Apache-2.0

import DequeModule
import Platform
import SystemPackage

/// Threads for what may block for as long as a file server or a user database does, or keep a core busy.
///
/// As many as there is work, up to a limit: who waits for a dead server delays nobody else. Work begins
/// in the order in which it came. A thread without work for a while ends.
package final class BlockingThreads: Sendable {
    private let queue: WorkQueue

    /// Starts no thread yet.
    ///
    /// `limit`: how many there are at most. For the others see `SystemThread`.
    package init(named name: String, limit: Int, givesWay: Bool = false) {
        queue = WorkQueue(name: name, limit: limit, givesWay: givesWay)
    }

    deinit { queue.close() }

    /// Does `work` on one of the threads.
    package func run<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            submit { continuation.resume(returning: work()) }
        }
    }

    /// Has `work` done on one of the threads; at once on this one, where the system has no thread for it.
    package func submit(_ work: @escaping @Sendable () -> Void) { queue.put(work) }
}

/// Where work waits for threads, and threads for work.
private final class WorkQueue: Sendable {
    static let patience = Duration.seconds(10)

    private struct State {
        var work: Deque<@Sendable () -> Void> = []
        var threads = 0
        var idle = 0
        var isClosed = false
    }

    private let name: String
    private let limit: Int
    private let givesWay: Bool
    private let state = Monitor(State())

    init(name: String, limit: Int, givesWay: Bool) {
        (self.name, self.limit, self.givesWay) = (name, limit, givesWay)
    }

    func put(_ item: @escaping @Sendable () -> Void) {
        let isAbandoned = state.withLock { state in
            state.work.append(item)
            if state.work.count > state.idle, state.threads < limit, startThread() {
                state.threads += 1
            }
            // Without any thread there is nobody who would ever do it.
            guard state.threads == 0 else { return false }
            state.work.removeLast()
            return true
        }
        if isAbandoned { item() } else { state.wakeOne() }
    }

    /// Has the threads end once there is no work left.
    func close() {
        state.withLock { $0.isClosed = true }
        state.wakeAll()
    }

    private func startThread() -> Bool {
        do throws(Errno) {
            try SystemThread.start(named: name, givesWay: givesWay) { self.serve() }
            return true
        } catch {
            return false
        }
    }

    /// What each thread does.
    private func serve() { while let item = next() { item() } }

    /// Waits for work; nil, and the thread is to end, if there is none for a while, or will be no more.
    private func next() -> (@Sendable () -> Void)? {
        let deadline = SuspendingClock.now + Self.patience
        state.withLock { $0.idle += 1 }
        return state.wait { state in
            if state.work.isEmpty, !state.isClosed, SuspendingClock.now < deadline {
                return .wait(until: deadline)
            }
            state.idle -= 1
            if state.work.isEmpty { state.threads -= 1 }
            return .found(state.work.popFirst())
        }
    }
}
