// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

@Suite("Why a one-shot ended", .timeLimit(.minutes(1)))
struct EndReasonTests {
    @Test("Its date had its fire")
    func once() async throws {
        try await TestScheduler.with { test in
            let event = try await test.add(ScheduleWords(in: "10s"))
            let command = try await test.add(ScheduleWords(in: "10s"), command: ["true"])
            try await test.advance(by: .seconds(20))
            for id in [event.id, command.id] {
                let job = try await test.job(id)
                #expect((job.endReason, job.fires) == (.once, 1))
            }
        }
    }

    @Test("Its date passed without a fire")
    func missed() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(in: "10s")) { $0.misfire = .skip }
            test.stall(.seconds(300))
            try await test.advance(by: .seconds(1))
            let ended = try await test.job(job.id)
            #expect((ended.state, ended.endReason, ended.fires) == (.finished, .missed, 0))
            #expect(try await test.history(job.id).map(\.reason) == [.misfire])
            #expect(test.sink.all(.jobFinished).map(\.reason) == ["missed"])
        }
    }

    @Test("It passed while no daemon ran")
    func missedDown() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(in: "10s"), command: ["true"]) {
                $0.misfire = .skip
            }
            let after = try await test.crashedAndDown(for: .seconds(300))
            let ended = try await after.job(job.id)
            #expect((ended.state, ended.endReason, ended.fires) == (.finished, .missed, 0))
            try await after.close()
        }
    }

    @Test("Its date was dropped")
    func skipped() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(in: "10s"))
            try await test.change(job.id, .skip(1))
            let ended = try await test.job(job.id)
            #expect((ended.endReason, ended.fires) == (.skipped, 0))
        }
    }

    @Test("The status tells runs in progress from fires that wait for a place")
    func waiting() async throws {
        try await TestScheduler.with(keeping: TestScheduler.Keeping(maxRuns: 1)) { test in
            test.runner.isHolding = true
            for _ in 0..<3 { try await test.add(ScheduleWords(in: "10s"), command: ["true"]) }
            try await test.advance(by: .seconds(11))
            let standing = await test.scheduler.standing(toAdministrator: false)
            #expect((standing.running, standing.waiting) == (1, 2))
            test.runner.isHolding = false
            test.runner.end()
            try await test.settle()
            let over = await test.scheduler.standing(toAdministrator: true)
            #expect((over.running, over.waiting) == (0, 0))
        }
    }

    @Test("A fire that was told stays a fire, whatever becomes of its next attempt")
    func toldStays() async throws {
        try await TestScheduler.with { test in
            test.runner.outcome = .exited(1)
            let job = try await test.add(ScheduleWords(in: "10s"), command: ["false"]) {
                $0.retries = 3
                $0.backoff = "1h"
            }
            try await test.advance(by: .seconds(11))
            #expect(test.fired(job.id) == [10])
            #expect(await test.scheduler.standing(toAdministrator: false).waiting == 1)
            try await test.change(job.id, .invalidate)
            #expect(try await test.history(job.id).map(\.state) == [.done])
            #expect(test.sink.all(.fireSkipped).isEmpty)
            let ended = try await test.job(job.id)
            #expect((ended.endReason, ended.fires) == (.invalidated, 1))
        }
    }
}
