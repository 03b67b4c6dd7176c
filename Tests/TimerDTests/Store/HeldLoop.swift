// SPDX-License-Identifier: Apache-2.0

import Locks
import Testing

@testable import TimerD

/// A thread of the store whose time passes when a test says so.
///
/// What is deferred waits for that as well: no other batch takes it along.
final class HeldLoop: StoreLoop {
    private let thread: StoreThread
    private let later = Locked<[(delay: Duration, work: @Sendable () -> Void)]>([])

    init(_ thread: StoreThread) { self.thread = thread }

    /// How long what is queued has to wait, in the order in which it was queued.
    var delays: [Duration] { later.withLock { $0.map(\.delay) } }

    /// Has all that waits for its time run; returns when the batch that it ran in has ended.
    func pass() async {
        let due = later.withLock { later in
            defer { later = [] }
            return later
        }
        for item in due { thread.perform(item.work) }
        await settle()
    }

    /// Waits for the end of the batch that is under way, or queued: who waits for a write is answered before it.
    func settle() async {
        // The first may be in that batch itself; the second is in a later one.
        for _ in 0..<2 {
            await withCheckedContinuation { continuation in
                _ = thread.perform { continuation.resume() }
            }
        }
    }

    func perform(after delay: Duration, _ work: @escaping @Sendable () -> Void) {
        later.withLock { $0.append((delay, work)) }
    }

    func performDeferred(within delay: Duration, _ work: @escaping @Sendable () -> Void) -> Bool {
        later.withLock { $0.append((delay, work)) }
        return true
    }

    func enqueue(_ job: consuming ExecutorJob) { thread.enqueue(job) }
    func checkIsolated() { thread.checkIsolated() }
    func perform(_ work: @escaping @Sendable () -> Void) -> Bool { thread.perform(work) }
    func onBatchEnd(_ hook: @escaping @Sendable () -> Void) { thread.onBatchEnd(hook) }
    var queueLength: Int { thread.queueLength }
    func stop() async { await thread.stop() }
}

extension WriteQueueFixture {
    /// A queue whose time passes when a test says so, and the loop that says it.
    static func held() throws -> (fixture: WriteQueueFixture, loop: HeldLoop) {
        var made: HeldLoop?
        let fixture = try WriteQueueFixture { thread in
            let loop = HeldLoop(thread)
            made = loop
            return loop
        }
        let loop = try #require(made)
        return (fixture, loop)
    }
}
