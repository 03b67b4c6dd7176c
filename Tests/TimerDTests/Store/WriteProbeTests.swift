// SPDX-License-Identifier: Apache-2.0

import Locks
import Testing

@testable import SQLite
@testable import TimerD

/// How an idle daemon finds out that its database takes writes again.
@Suite("WriteQueue's probe", .timeLimit(.minutes(1))) struct WriteProbeTests {
    /// A thread of the store whose time passes when a test says so.
    private final class HeldLoop: StoreLoop {
        private let thread: StoreThread
        private let later = Locked<[(delay: Duration, work: @Sendable () -> Void)]>([])

        init(_ thread: StoreThread) { self.thread = thread }

        var delays: [Duration] { later.withLock { $0.map(\.delay) } }

        /// Has all that waits for its time run; returns when it has.
        func pass() async {
            let due = later.withLock { later in
                defer { later = [] }
                return later
            }
            for item in due { thread.perform(item.work) }
            await settle()
        }

        /// Waits for the end of the batch that is under way: who waits for a write is answered before it.
        func settle() async {
            await withCheckedContinuation { continuation in
                _ = thread.perform { continuation.resume() }
            }
        }

        func perform(after delay: Duration, _ work: @escaping @Sendable () -> Void) {
            later.withLock { $0.append((delay, work)) }
        }

        func enqueue(_ job: consuming ExecutorJob) { thread.enqueue(job) }
        func checkIsolated() { thread.checkIsolated() }
        func perform(_ work: @escaping @Sendable () -> Void) -> Bool { thread.perform(work) }
        func performDeferred(within delay: Duration, _ work: @escaping @Sendable () -> Void) -> Bool
        {
            thread.performDeferred(within: delay, work)
        }
        func onBatchEnd(_ hook: @escaping @Sendable () -> Void) { thread.onBatchEnd(hook) }
        var queueLength: Int { thread.queueLength }
        func stop() async { await thread.stop() }
    }

    private let fixture: WriteQueueFixture
    private let loop: HeldLoop

    init() throws {
        let made = Locked<HeldLoop?>(nil)
        fixture = try WriteQueueFixture { thread in
            let loop = HeldLoop(thread)
            made.withLock { $0 = loop }
            return loop
        }
        loop = try #require(made.withLock { $0 })
    }

    @Test("In trouble a small write is tried every 5 s, until one is stored; else none is")
    func probes() async throws {
        let queue = fixture.queue
        try await queue.write(WriteQueueFixture.insert(1))
        #expect(loop.delays.isEmpty)
        try await queue.write { try $0.execute("PRAGMA busy_timeout = 0") }
        let outsider = try Outsider(fixture.path)
        try outsider.execute("BEGIN IMMEDIATE")
        await #expect(throws: DatabaseError.self) {
            try await queue.write(WriteQueueFixture.insert(2))
        }
        await loop.settle()
        #expect(loop.delays == [.seconds(5)])
        await loop.pass()
        #expect(queue.statistics.trouble?.isBusy == true && loop.delays == [.seconds(5)])
        try outsider.execute("COMMIT")
        await loop.pass()
        #expect(queue.statistics.trouble == nil && loop.delays.isEmpty)
        #expect(fixture.reports.all == ["trouble: SQLITE_BUSY", "recovered"])
        #expect(try fixture.stored() == [1])
        try await fixture.stop()
    }

    @Test("A probe whose trouble is over by then writes nothing, nor does one of a closed queue")
    func late() async throws {
        let queue = fixture.queue
        let fail: @Sendable (Database) throws -> Void = {
            try $0.execute("INSERT INTO orphans VALUES (1)")
        }
        await #expect(throws: DatabaseError.self) { try await queue.write(fail) }
        try await queue.write(WriteQueueFixture.insert(1))
        await loop.settle()
        let commits = queue.statistics.commits
        await loop.pass()
        #expect(queue.statistics.commits == commits && loop.delays.isEmpty)
        await #expect(throws: DatabaseError.self) { try await queue.write(fail) }
        try await queue.close()
        await loop.pass()
        #expect(queue.statistics.commits == commits && loop.delays.isEmpty)
        await fixture.thread.stop()
    }
}
