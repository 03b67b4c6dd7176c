// SPDX-License-Identifier: Apache-2.0

import Locks
import Testing

@testable import TimerD

@Suite("RunSlots", .timeLimit(.minutes(1))) struct RunSlotsTests {
    @Test("As many as the limit are served at once, and no more")
    func limit() async throws {
        let slots = RunSlots(limit: 3)
        for _ in 0..<3 { try await slots.acquire() }
        let fourth = Task { try await slots.acquire() }
        try await eventually("the fourth waits") { slots.waiting == 1 }
        #expect(slots.inUse == 3)
        slots.release()
        try await fourth.value
        #expect(slots.inUse == 3)
        #expect(slots.waiting == 0)
        for _ in 0..<3 { slots.release() }
        #expect(slots.inUse == 0)
    }

    @Test("A limit that is raised lets in those who wait; one that is lowered ends nobody")
    func limits() async throws {
        let slots = RunSlots(limit: 1)
        try await slots.acquire()
        let others = (0..<3).map { _ in Task { try await slots.acquire() } }
        try await eventually("they wait") { slots.waiting == 3 }
        slots.setLimits(3, perUser: 2)
        try await eventually("one more may") { slots.inUse == 2 }
        slots.setLimits(3, perUser: 3)
        try await eventually("and one more") { slots.inUse == 3 }
        slots.setLimits(1, perUser: 1)
        for left in [2, 1] {
            slots.release()
            #expect(slots.inUse == left)
            #expect(slots.waiting == 1)
        }
        slots.release()
        for task in others { try await task.value }
        #expect(slots.inUse == 1)
    }

    @Test("Who waits is served in the order of coming")
    func order() async throws {
        let slots = RunSlots(limit: 1)
        let served = Log()
        try await slots.acquire()
        var waiting: [Task<Void, any Error>] = []
        for number in 1...20 {
            waiting.append(
                Task {
                    try await slots.acquire()
                    served.add(number)
                    slots.release()
                }
            )
            try await eventually("number \(number) waits") { slots.waiting == number }
        }
        slots.release()
        for task in waiting { try await task.value }
        #expect(served.entries == Array(1...20))
        #expect(slots.inUse == 0)
    }

    @Test("Who enters first is served first, whoever comes to wait first")
    func entering() async throws {
        let slots = RunSlots(limit: 1)
        let tickets = (0..<3).map { _ in slots.enter() }
        #expect(slots.inUse == 1)
        #expect(slots.waiting == 2)
        let last = Task { try await slots.wait(tickets[2]) }
        try await slots.wait(tickets[0])
        slots.release()
        #expect(slots.waiting == 1, "the second has it, though it has not asked")
        try await slots.wait(tickets[1])
        slots.release()
        try await last.value
        slots.release()
        #expect(slots.inUse == 0)
    }

    @Test("A slot that was given to who does not want it any more goes on to the next")
    func abandoned() async throws {
        let slots = RunSlots(limit: 1)
        let (first, second) = (slots.enter(), slots.enter())
        let cancelled = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await slots.wait(first)
        }
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        try await slots.wait(second)
        slots.release()
        #expect(slots.inUse == 0)
        #expect(slots.waiting == 0)
    }

    @Test("A wait that is cancelled ends, takes no slot, and delays nobody")
    func cancellation() async throws {
        let slots = RunSlots(limit: 1)
        try await slots.acquire()
        let first = Task { try await slots.acquire() }
        try await eventually("the first waits") { slots.waiting == 1 }
        let second = Task { try await slots.acquire() }
        try await eventually("the second waits") { slots.waiting == 2 }
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        #expect(slots.waiting == 1)
        slots.release()
        try await second.value
        slots.release()
        #expect(slots.inUse == 0)
    }

    @Test("A task that is cancelled already gets no slot, free or not")
    func cancelledBefore() async throws {
        let slots = RunSlots(limit: 1)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await slots.acquire()
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(slots.inUse == 0)
        #expect(slots.waiting == 0)
    }

    @Test("Cancelling while slots are handed on loses none")
    func race() async throws {
        let slots = RunSlots(limit: 2)
        await withTaskGroup { group in
            for number in 0..<400 {
                group.addTask {
                    let task = Task {
                        try await slots.acquire()
                        await Task.yield()
                        slots.release()
                    }
                    if number % 3 == 0 { task.cancel() }
                    _ = await task.result
                }
            }
        }
        #expect(slots.inUse == 0)
        #expect(slots.waiting == 0)
    }

    /// What happened, in order.
    private final class Log: Sendable {
        private let lines = Locked<[Int]>([])

        var entries: [Int] { lines.withLock { $0 } }

        func add(_ entry: Int) {
            lines.withLock { $0.append(entry) }
        }
    }

    @Test(
        "Root has a place at once, however many runs all others have or wait for",
        arguments: [1, 2, 5, 16, 64, 100]
    )
    func reserve(limit: Int) async throws {
        let slots = RunSlots(limit: limit, limitPerUser: 32, hasReserve: true)
        let others = (1...5).flatMap { user in
            (0..<40).map { _ in (UInt32(user), slots.enter(for: UInt32(user))) }
        }
        // Two users alone fill 64 places and more.
        #expect(slots.inUse == max(limit - RunSlots.reserve(of: limit), 1))
        let roots = (0..<RunSlots.reserve(of: limit)).map { _ in slots.enter(for: 0) }
        for ticket in roots { try await slots.wait(ticket) }
        #expect(slots.inUse == max(limit, 2))
        _ = slots.enter(for: 0)
        #expect(slots.waiting == others.count - (slots.inUse - roots.count) + 1)

        // Root's places are not the others' when it gives them back, and theirs go on to them.
        for _ in roots { slots.release(for: 0) }
        #expect(slots.inUse == max(limit - RunSlots.reserve(of: limit), 1) + 1)
        let before = slots.waiting
        slots.release(for: 1)
        // Of one place it was that one, which root's is now.
        #expect(slots.waiting == before - (limit > 1 ? 1 : 0))
    }

    @Test("Without others root has all places, and not one more")
    func rootAlone() {
        for limit in [1, 2, 64] {
            let slots = RunSlots(limit: limit, hasReserve: true)
            for _ in 0...limit { _ = slots.enter(for: 0) }
            #expect(slots.inUse == limit)
            #expect(slots.waiting == 1)
        }
    }

    @Test("Users are served in turn: a thousand runs of one delay nobody else's one")
    func turns() async throws {
        let slots = RunSlots(limit: 1)
        let served = Log()
        try await slots.acquire(for: 1)
        var waiting: [Task<Void, any Error>] = []
        for (number, user) in [(1, 1), (2, 1), (3, 1), (4, 1), (5, 2), (6, 3), (7, 2)] {
            waiting.append(
                Task {
                    try await slots.acquire(for: UInt32(user))
                    served.add(number)
                    slots.release(for: UInt32(user))
                }
            )
            try await eventually("number \(number) waits") { slots.waiting == number }
        }
        slots.release(for: 1)
        for task in waiting { try await task.value }
        #expect(served.entries == [1, 5, 6, 2, 7, 3, 4])
        #expect(slots.inUse == 0)
    }

    @Test("No user has more than a user may, and what is left goes to the others")
    func limitPerUser() async throws {
        let slots = RunSlots(limit: 3, limitPerUser: 2)
        try await slots.acquire(for: 1)
        try await slots.acquire(for: 1)
        let third = Task { try await slots.acquire(for: 1) }
        try await eventually("the third waits") { slots.waiting == 1 }
        try await slots.acquire(for: 2)
        #expect(slots.inUse == 3)
        slots.release(for: 2)
        #expect(slots.waiting == 1, "its user has two")
        slots.release(for: 1)
        try await third.value
        #expect(slots.inUse == 2)
        for _ in 0..<2 { slots.release(for: 1) }
        #expect(slots.inUse == 0)
    }
}

extension RunSlots {
    fileprivate func acquire(for user: UInt32 = 0) async throws(CancellationError) {
        try await wait(enter(for: user))
    }
}
