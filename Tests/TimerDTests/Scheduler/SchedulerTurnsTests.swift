// SPDX-License-Identifier: Apache-2.0

import Locks
import Schedules
import Testing
import TimerControl

@testable import TimerD

/// One user's jobs beside those of another who has too many, in virtual time.
@Suite("Turns of users", .timeLimit(.minutes(2)))
struct SchedulerTurnsTests {
    static let (ann, ben): (UInt32, UInt32) = (1001, 1002)

    @Test("Who overloads loses dates, and is told which and why; a quiet user loses none")
    func overload() async throws {
        try await TestScheduler.with(keeping: .all) { test in
            await test.scheduler.limitFires(FireTurns.Limits(perSecond: 100, burst: 10))
            let his = try await test.add([ScheduleWords(every: "100ms")], of: Self.ben)[0]
            let hers = try await test.add(
                Array(repeating: ScheduleWords(every: "10ms"), count: 20),
                of: Self.ann
            )
            try await test.advance(by: .seconds(5))
            let quiet = try await test.history(his.id).filter { $0.state != .claimed }
            #expect(quiet.count == 50)
            #expect(quiet.allSatisfy { $0.state == .fired && $0.firedAt == $0.fireDate })
            var (fired, lost) = (0, 0)
            for job in hers {
                for run in try await test.history(job.id) {
                    if run.state == .fired { fired += 1 }
                    guard run.state == .skipped else { continue }
                    #expect(run.reason == .overload)
                    lost += run.dates ?? 1
                }
            }
            #expect((450...515).contains(fired), "the share of 5 s, and the burst: \(fired)")
            #expect(lost > 8000, "of 10,000 dates, all but those that fired: \(lost)")
            let told = test.sink.all(.fireSkipped)
            #expect(told.allSatisfy { $0.reason == FireReason.overload.rawValue })
            #expect(told.allSatisfy { $0.owner?.uid == Self.ann })
            #expect(told.reduce(0) { $0 + ($1.dates ?? 1) } == lost)
            let last = try await test.store.reader.read { [moment = test.clock.now()] in
                try Queries($0).lastRun(of: hers[0].id, at: moment)
            }
            #expect(last?.reason == .overload, "what show tells of it")
        }
    }

    @Test("Commands that find no place ahead of their dates leave their user's other fires alone")
    func noPlace() async throws {
        var keeping = TestScheduler.Keeping()
        keeping.maxRuns = 1
        try await TestScheduler.with(keeping: keeping) { test in
            test.runner.isHolding = true
            _ = try await test.add(ScheduleWords(in: "5s"), command: ["holds the only place"])
            let jobs = try (0...FireTurns.unstoredLimit).map { _ in
                var definition = JobDefinition(schedule: ScheduleWords(in: "10s"))
                definition.command = ["waits for it"]
                return try NewJob(definition, owner: Self.ann, at: test.clock.now(), zone: .utc)
            }
            let caller = Caller(uid: Self.ann, isAdministrator: false)
            _ = try await test.scheduler.add(jobs, replace: false, caller: caller)
            let event = try await test.add([ScheduleWords(in: "20s")], of: Self.ann)[0]
            try await test.advance(by: .seconds(21))
            #expect(test.fired(event.id) == [20])
        }
    }

    @Test("A quiet user's jobs are in the window in time, though another has more than it holds")
    func window() async throws {
        try await TestScheduler.with(keeping: .all) { test in
            await test.scheduler.limitFires(FireTurns.Limits(perSecond: 50, burst: 10))
            // Armed as they are added, and due again and again.
            try await test.add(
                Array(repeating: ScheduleWords(every: "2s"), count: Window.capacity + 100),
                of: Self.ann
            )
            let once = try await test.add([ScheduleWords(in: "10s")], of: Self.ben)[0]
            let his = try await test.add([ScheduleWords(every: "7s")], of: Self.ben)[0]
            // Of hers, one that waits for a window that has no place for it.
            try await test.add([ScheduleWords(every: "8s")], of: Self.ann)
            try await test.advance(by: .seconds(30))
            #expect(test.fired(once.id) == [10])
            #expect(test.fired(his.id) == [7, 14, 21, 28])
            let runs = try await test.history(his.id) + test.history(once.id)
            #expect(runs.filter { $0.state == .fired }.allSatisfy { $0.firedAt == $0.fireDate })
        }
    }

    /// What has happened, in order, on any thread.
    final class Steps: Sendable {
        private let steps = Locked<[String]>([])
        var all: [String] { steps.withLock { $0 } }
        func note(_ step: String) { steps.withLock { $0.append(step) } }
    }

    @Test("What a request of many jobs adds is armed in slices, and all of it when it is answered")
    func slices() async throws {
        try await TestScheduler.with { test in
            let jobs = try await test.add(
                Array(repeating: ScheduleWords(every: "5s"), count: 1000),
                of: Self.ann
            )
            #expect(test.loop.timerCount == 1000, "it is answered")
            #expect(test.loop.mostInstalled <= SaidByStore.slice)
            let added = test.sink.all(.jobAdded).map(\.job)
            #expect(added == jobs.map(\.id), "it is told, in order")
        }
    }

    @Test("What the store says after a write of many jobs is taken over after it")
    func order() async throws {
        try await TestScheduler.with { test in
            let steps = Steps()
            var many = StoreOutcome()
            many.jobs = try (1...200).map { try ArmedJobsTests.job($0) }
            var one = StoreOutcome()
            var last = try #require(many.jobs.last)
            last.claim = nil
            last.state = .invalidated
            one.jobs = [last]
            let armed = await test.loop.ask { [scheduler = test.scheduler, many, one] in
                scheduler.assumeIsolated { scheduler in
                    scheduler.take(many, finish: { _ in steps.note("many") })
                    scheduler.take(one, finish: { _ in steps.note("one") })
                    steps.note("the thread is free")
                    return scheduler.armed.count
                }
            }
            #expect(armed == SaidByStore.slice)
            try await test.settle()
            #expect(steps.all == ["the thread is free", "many", "one"])
            #expect(test.loop.timerCount == 199, "the last one has ended")
        }
    }

    @Test("After a time down, thousands of one user's due jobs do not come before another's")
    func start() async throws {
        try await TestScheduler.with { test in
            try await test.add(
                Array(repeating: ScheduleWords(every: "1h"), count: Window.capacity + 100),
                of: Self.ann
            )
            let his = try await test.add([ScheduleWords(every: "61m")], of: Self.ben)[0]
            let after = try await test.crashedAndDown(for: .minutes(62))
            let (isArmed, hers) = await after.loop.ask { [scheduler = after.scheduler] in
                scheduler.assumeIsolated { scheduler in
                    let armed = scheduler.armed
                    return (armed[his.id] != nil, armed.count - (armed[his.id] == nil ? 0 : 1))
                }
            }
            #expect(isArmed, "it was the last of all to be due")
            #expect(hers == Window.capacity, "the places that nobody else needs are hers")
            try await after.advance(by: .seconds(1))
            #expect(after.sink.all(.fireFired).count == Window.capacity + 101)
            try await after.close()
        }
    }

    @Test("What the store answers is taken over in its order, whoever waits for it")
    func orderOfAnswers() async throws {
        try await TestScheduler.with { test in
            // Each is added unclaimed, and claimed by a window load right behind.
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<200 {
                    group.addTask { _ = try await test.add(ScheduleWords(in: "7s")) }
                    group.addTask { await test.scheduler.loadWindow() }
                }
                try await group.waitForAll()
            }
            try await test.advance(by: .seconds(8))
            #expect(test.sink.all(.fireFired).count == 200)
            try await test.settle()
        }
    }
}

extension Scheduler {
    /// Bounds the fires of users more than a setting would, so that a few jobs are too many.
    func limitFires(_ limits: FireTurns.Limits) { turns.limits = limits }
}
