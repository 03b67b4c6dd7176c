// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import SQLite
@testable import TimerD

/// Leases that end while no worker can extend them: each of 10 s, and begun at the start.
@Suite("Leases that end while the daemon does not serve", .timeLimit(.minutes(2)))
struct LeaseGapsTests {
    private static let lease = TimeSpan.seconds(10)

    /// Has a worker reserve so many tasks.
    private static func reserve(_ test: TestScheduler, _ count: Int = 1) async throws
        -> [QueuedTask]
    {
        for _ in 0..<count {
            _ = try await test.add(ScheduleWords(in: "0s")) { $0.queue = "mails" }
        }
        return try await test.reserve("mails", count: count, lease: lease)
    }

    private static func extend(_ task: QueuedTask, _ test: TestScheduler) async throws
        -> TaskOutcome
    {
        try await test.tell(task) { try $0.extend($1, lease: nil, TestScheduler.root) }
    }

    // MARK: - With a store

    @Test(
        "A full disk that refuses an extend takes no task; a worker that is gone loses it a lease later",
        arguments: [5, 12],
        [true, false]
    )
    func fullDisk(seconds: Int, isGone: Bool) async throws {
        try await TestScheduler.with { test in
            let task = try #require(try await Self.reserve(test).first)
            TaskServedAheadTests.set(queryOnly: true, test.store)
            await test.advanceWithoutStore(by: .seconds(4))
            await #expect(throws: DatabaseError.self) { try await Self.extend(task, test) }
            // The scheduler has heard of it.
            await test.loop.flush()
            await test.advanceWithoutStore(by: .seconds(Int64(seconds)))
            TaskServedAheadTests.set(queryOnly: false, test.store)
            // try?: in a batch that the disk refused before, this is refused as well.
            while (try? await test.store.writer.barrier()) == nil { try Task.checkCancellation() }
            try await test.advance(by: .seconds(6))
            #expect(try await test.tasks().map(\.state) == [.reserved])
            if isGone {
                try await test.advance(by: .seconds(6))
                #expect(try await test.tasks().map(\.state) == [.ready])
                #expect(await TestScheduler.isLeaseLost { try await Self.extend(task, test) })
            } else {
                #expect(try await Self.extend(task, test).state == .reserved)
                try await test.advance(by: .seconds(9))
                #expect(try await test.tasks().map(\.state) == [.reserved])
            }
        }
    }

    @Test(
        "After a hang an extend that was sent meanwhile holds, read before the look at leases or behind it",
        arguments: [true, false]
    )
    func hang(looksFirst: Bool) async throws {
        try await TestScheduler.with { test in
            let task = try #require(try await Self.reserve(test).first)
            test.stall(.seconds(30))
            if looksFirst {
                #expect(await test.scheduler.clockStepped() == .zero)
                try await test.settle()
            }
            #expect(try await Self.extend(task, test).state == .reserved)
            try await test.advance(by: .seconds(9))
            #expect(try await test.tasks().map(\.state) == [.reserved])
            try await test.advance(by: .seconds(2))
            #expect(try await test.tasks().map(\.state) == [.ready])
        }
    }

    @Test("A store that is busy as a lease ends gives it once more")
    func busyStore() async throws {
        try await TestScheduler.with { test in
            _ = try await Self.reserve(test)
            try await test.settle()
            let gate = SchedulerAheadTests.stall(test)
            await test.advanceWithoutStore(by: .seconds(12))
            gate.signal()
            #expect(try await test.tasks().map(\.state) == [.reserved])
            try await test.advance(by: .seconds(11))
            #expect(try await test.tasks().map(\.state) == [.ready])
        }
    }

    @Test("A worker that is gone gets its lease once more, also where each look is late")
    func alwaysLate() async throws {
        try await TestScheduler.with { test in
            _ = try await Self.reserve(test)
            for state in [QueuedTask.State.reserved, .ready] {
                test.stall(.seconds(15))
                #expect(await test.scheduler.clockStepped() == .zero)
                #expect(try await test.tasks().map(\.state) == [state])
            }
        }
    }

    @Test(
        "Of more leases than one look judges a hang ends none, and on time all of them end",
        arguments: [true, false]
    )
    func many(hangs: Bool) async throws {
        try await TestScheduler.with { test in
            let tasks = try await Self.reserve(test, 250)
            #expect(tasks.count == 250)
            if hangs {
                test.stall(.seconds(30))
                #expect(await test.scheduler.clockStepped() == .zero)
            } else {
                try await test.advance(by: .seconds(11))
            }
            let queue = try #require(try await test.queue("mails"))
            #expect(queue.reserved == (hangs ? 250 : 0))
            #expect(queue.ready == (hangs ? 0 : 250))
        }
    }

    // MARK: - By itself

    private static func at(_ milliseconds: Int64) -> Timestamp {
        TestScheduler.start + .milliseconds(milliseconds)
    }

    private static let first = FireID(rawValue: 1)
    private static let second = FireID(rawValue: 2)

    /// What has seen a first look at the start, and one that is late by 20 s, for a lease that has ended at 10 s.
    private static func late() -> LeaseGaps {
        var gaps = LeaseGaps()
        gaps.look(askedAt: at(0), firstEnd: nil, firstDue: nil, at: at(0))
        gaps.look(askedAt: at(30_000), firstEnd: at(10_000), firstDue: at(10_000), at: at(30_000))
        return gaps
    }

    @Test("A look that is late by less than the shortest lease gives none once more")
    func hardlyLate() {
        var gaps = LeaseGaps()
        gaps.look(askedAt: Self.at(0), firstEnd: nil, firstDue: nil, at: Self.at(0))
        let end = Self.at(10_000)
        gaps.look(askedAt: end, firstEnd: end, firstDue: end, at: Self.at(10_099))
        let renewal = gaps.renewal(of: Self.first, lease: Self.lease, endedAt: end)
        #expect(renewal == nil)
    }

    @Test("What has been due for long, and is no lease, makes no look late")
    func overdue() {
        var gaps = LeaseGaps()
        gaps.look(askedAt: Self.at(0), firstEnd: nil, firstDue: nil, at: Self.at(0))
        let end = Self.at(10_000)
        gaps.look(askedAt: end, firstEnd: end, firstDue: .distantPast, at: end)
        let renewal = gaps.renewal(of: Self.first, lease: Self.lease, endedAt: end)
        #expect(renewal == nil)
    }

    @Test("The next look gives those once more that the late one had no room for")
    func nextPiece() {
        var gaps = Self.late()
        let one = gaps.renewal(of: Self.first, lease: Self.lease, endedAt: Self.at(10_000))
        #expect(one == Self.at(40_000))
        let (now, end) = (Self.at(30_020), Self.at(9_000))
        gaps.look(askedAt: now, firstEnd: end, firstDue: end, at: now)
        let other = gaps.renewal(of: Self.second, lease: Self.lease, endedAt: end)
        #expect(other == Self.at(40_020))
    }

    @Test("Behind a long gap a lease of that time is given once more, whatever short ones follow")
    func shorterGap() {
        var gaps = Self.late()
        let short = Self.at(35_000)
        gaps.look(askedAt: short, firstEnd: nil, firstDue: nil, at: Self.at(35_200))
        let end = Self.at(49_000)
        gaps.look(askedAt: end, firstEnd: end, firstDue: end, at: end)
        let renewal = gaps.renewal(of: Self.first, lease: .seconds(60), endedAt: end)
        #expect(renewal == Self.at(109_000))
    }

    @Test("A lease that began behind the gap, or ends long behind it, is not given once more")
    func afterTheGap() {
        var gaps = Self.late()
        let soon = Self.at(41_000)
        gaps.look(askedAt: soon, firstEnd: soon, firstDue: soon, at: soon)
        let begunLater = gaps.renewal(of: Self.first, lease: Self.lease, endedAt: soon)
        #expect(begunLater == nil)
        let late = Self.at(51_000)
        gaps.look(askedAt: late, firstEnd: late, firstDue: late, at: late)
        let endsLater = gaps.renewal(of: Self.second, lease: .seconds(60), endedAt: late)
        #expect(endsLater == nil)
        // Also where another task that is due since the gap waits for its turn yet.
        gaps = Self.late()
        gaps.look(askedAt: late, firstEnd: late, firstDue: Self.at(45_000), at: late)
        let besideOlder = gaps.renewal(of: Self.second, lease: .seconds(60), endedAt: late)
        #expect(besideOlder == nil)
    }
}
