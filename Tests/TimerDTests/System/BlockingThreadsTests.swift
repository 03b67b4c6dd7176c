// SPDX-License-Identifier: Apache-2.0

import Glibc
import Locks
import Platform
import Testing

@testable import LinuxSystem
@testable import TimerD

@Suite("BlockingThreads", .timeLimit(.minutes(1))) struct BlockingThreadsTests {
    @Test("Work that blocks holds up no other below the limit, and what is above it waits")
    func limit() async throws {
        let threads = BlockingThreads(named: "test", limit: 2)
        let stuck = ThreadGate()
        async let first: Void = threads.run { stuck.wait() }
        // Returns while the first is still stuck.
        await threads.run {}
        async let second: Void = threads.run { stuck.wait() }
        try await eventually("both threads are taken") { stuck.waiting == 2 }
        let order = Locked<[String]>([])
        threads.submit { order.withLock { $0.append("third") } }
        order.withLock { $0.append("opened") }
        stuck.open()
        _ = await (first, second)
        try await eventually("the third is done") { order.withLock { $0.count } == 2 }
        #expect(order.withLock { $0 } == ["opened", "third"])
    }

    @Test("One thread does its work in the order in which it came")
    func order() async {
        let threads = BlockingThreads(named: "test", limit: 1)
        let done = Locked<[Int]>([])
        for number in 0..<1000 { threads.submit { done.withLock { $0.append(number) } } }
        await threads.run {}
        #expect(done.withLock { $0 } == Array(0..<1000))
    }

    @Test("A thread has its name, and gives way to the others where it is to")
    func nameAndPriority() async {
        @Sendable func niceness() -> Int32 {
            getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0)
        }
        let plain = BlockingThreads(named: "test-plain", limit: 1)
        let humble = BlockingThreads(named: "test-humble-long-name", limit: 1, givesWay: true)
        #expect(await plain.run { readFile("/proc/thread-self/comm") } == "test-plain\n")
        #expect(await humble.run { readFile("/proc/thread-self/comm") } == "test-humble-lon\n")
        let normal = await plain.run { niceness() }
        #expect(await humble.run { niceness() } == min(normal + 5, 19))
    }
}

/// What threads are stuck at until it is opened.
private final class ThreadGate: Sendable {
    private let state = Monitor((waiting: 0, isOpen: false))

    var waiting: Int { state.withLock { $0.waiting } }

    func wait() {
        state.withLock { $0.waiting += 1 }
        state.wait { $0.isOpen ? .found(()) : .wait(until: nil) }
    }

    func open() {
        state.withLock { $0.isOpen = true }
        state.wakeAll()
    }
}
