// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

/// What is kept while the clock may be wrong.
extension RetentionTests {
    @Test("A clock that is set far ahead removes nothing, if it is set right within an hour")
    func wrongClock() async throws {
        var keeping = Keeping()
        keeping.limits.historyMaxAge = .seconds(86_400)
        try await TestScheduler.with(keeping: keeping) { test in
            let job = try await test.add(ScheduleWords(in: "1s"))
            try await test.advance(by: .seconds(600))
            try await Self.step(test, .seconds(86_400 * 1000))
            try await test.advance(by: .seconds(3000))
            try await Self.step(test, .seconds(-86_400 * 1000))
            try await test.advance(by: .seconds(3000))
            #expect(try await test.history(job.id).count == 1)
        }
    }

    @Test("A start doubts a clock that is kept in time for a minute, and a step ahead for an hour")
    func keptClock() {
        let now = TestScheduler.start
        var retention = Retention(RetentionLimits(), now: now, nextEvent: 1, isClockKept: true)
        #expect(!retention.removesAged(now: now))
        #expect(retention.removesAged(now: now + Retention.pause))
        retention.clockWentAhead(now: now)
        #expect(!retention.removesAged(now: now + .seconds(3500)))
        #expect(retention.removesAged(now: now + .seconds(3600)))
    }

    @Test(
        "Nothing goes for its age in the hour after a start whose clock is not kept, or after a step of the clock ahead, whatever calls for a look"
    )
    func doubtedClock() async throws {
        var keeping = Keeping()
        keeping.limits.eventsMaxAge = .seconds(600)
        try await TestScheduler.with(keeping: keeping) { test in
            try await test.add(ScheduleWords(in: "1s"))
            try await test.advance(by: .seconds(2))
            let next = try await test.crashedAndDown(for: .seconds(86_400))
            let events = "SELECT count(*) FROM events"
            let kept = try await Self.count(next, events)
            #expect(kept > 0)
            for _ in 0..<2 {
                try await next.advance(by: .seconds(3500))
                next.scheduler.perform {
                    $0.retention.isOverfull(now: $0.clock.now().elapsed)
                    $0.pruneIfDue()
                }
                #expect(try await Self.count(next, events) == kept)
                try await Self.step(next, .seconds(86_400))
            }
            try await next.advance(by: .seconds(3500))
            #expect(try await Self.count(next, events) == kept)
            try await next.advance(by: .seconds(200))
            #expect(try await Self.count(next, events) == 0)
            try await next.close()
        }
    }
}
