// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

@Suite("Scheduler, window and clocks", .timeLimit(.minutes(2)))
struct SchedulerClockTests {
    @Test("Of many jobs only those that are due soon are in the loop")
    func window() async throws {
        try await TestScheduler.with { test in
            for seconds in [3, 60, 3600, 86_400] {
                try await test.add(ScheduleWords(in: "\(seconds)s"))
            }
            try await test.settle()
            #expect(test.loop.timerCount == 1)
            try await test.advance(by: .milliseconds(57_500))
            #expect(test.loop.timerCount == 1, "the job of second 60 is loaded ahead of its date")
            try await test.advance(by: .seconds(100_000))
            #expect(test.sink.all(.fireFired).map(\.job.rawValue) == [1, 2, 3, 4])
            #expect(test.sink.all(.fireFired).allSatisfy { $0.firedAt == $0.fireDate })
        }
    }

    @Test("More jobs than the window holds fire all the same, each once and in order")
    func crowd() async throws {
        try await TestScheduler.with { test in
            let count = Window.capacity * 2 + 100
            let now = test.clock.now()
            let jobs = try (0..<count).map { index in
                try NewJob(
                    JobDefinition(
                        schedule: ScheduleWords(at: "2026-12-01T09:00:00.\(index % 10)Z")
                    ),
                    owner: 0,
                    at: now,
                    zone: .utc
                )
            }
            _ = try await test.scheduler.add(jobs, replace: false, caller: TestScheduler.root)
            try await test.advance(by: .milliseconds(3_598_000))
            #expect(test.loop.timerCount == Window.capacity)
            try await test.advance(by: .seconds(10))
            let fired = test.sink.all(.fireFired)
            #expect(fired.count == count)
            #expect(Set(fired.map(\.job)).count == count)
        }
    }

    @Test("A host that stalls fires the latest date, and says how many it stands for")
    func stall() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "1s"))
            try await test.advance(by: .milliseconds(2500))
            test.stall(.seconds(10))
            try await test.advance(by: .seconds(1))
            #expect(test.fired(job.id) == [1, 2, 12, 13])
            #expect(test.sink.all(.fireFired).map(\.missed) == [nil, nil, 9, nil])
        }
    }

    @Test(
        "A step of the wall clock leaves the rhythm of elapsed schedules alone",
        arguments: [3600, -3600, 10 * 365 * 86_400]
    )
    func elapsedKeepsRhythm(step: Int64) async throws {
        try await TestScheduler.with { test in
            let every = try await test.add(ScheduleWords(every: "10s"))
            let once = try await test.add(ScheduleWords(in: "25s"))
            try await test.advance(by: .seconds(12))
            test.clock.step(by: .seconds(step))
            #expect(await test.scheduler.clockStepped() == .seconds(step))
            try await test.advance(by: .seconds(30))
            #expect(test.fired(every.id) == [10, 20 + step, 30 + step, 40 + step])
            #expect(test.fired(once.id) == [25 + step])
        }
    }

    @Test("Wall schedules follow the wall clock through a step forward")
    func wallFollowsForward() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(at: "2026-12-01T09:00:00Z"))
            test.clock.step(by: .seconds(3590))
            _ = await test.scheduler.clockStepped()
            try await test.advance(by: .seconds(11))
            #expect(test.fired(job.id) == [3600])
        }
    }

    @Test("Set back, the clock brings no date a second time")
    func wallFollowsBack() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(
                ScheduleWords(every: "10s", from: "2026-12-01T08:00:10Z")
            )
            try await test.advance(by: .seconds(22))
            test.clock.step(by: .seconds(-20))
            _ = await test.scheduler.clockStepped()
            try await test.advance(by: .seconds(40))
            #expect(test.fired(job.id) == [10, 20, 30, 40])
        }
    }
}
