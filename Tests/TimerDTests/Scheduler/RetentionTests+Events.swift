// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

/// What is kept of events.
extension RetentionTests {
    @Test("Events are bounded by number and by age, and who asks for older ones is told")
    func events() async throws {
        var keeping = Keeping()
        keeping.limits.eventsKept = 1000
        keeping.limits.eventsMaxAge = .seconds(3600)
        try await TestScheduler.with(keeping: keeping) { test in
            for _ in 0..<20 { try await test.add(ScheduleWords(every: "1s")) }
            try await test.advance(by: .seconds(250))
            let kept = try await Self.count(test, "SELECT count(*) FROM events")
            #expect(1000...(1000 + Retention.surplus + 100) ~= kept)
            let page = try await test.store.events(after: test.scheduler)(0, nil, .init(events: 1))
            #expect(page.prunedThrough == (page.events.first?.seq ?? 0) - 1)
            #expect(page.prunedThrough > 2000)
            for id in 1...20 { try await test.change(JobID(rawValue: Int64(id)), .invalidate) }
            try await test.advance(by: .seconds(3800))
            #expect(try await Self.count(test, "SELECT count(*) FROM events") == 0)
            // A daemon that starts on this goes on where it stood.
            let after = try await test.crashed()
            let empty = try await after.store.events(after: after.scheduler)(
                0,
                nil,
                .init(events: 1)
            )
            #expect(empty.prunedThrough == test.sink.all.last?.seq)
            try await after.close()
        }
    }

    @Test("A daemon that never lives for a minute keeps no more events than one that does")
    func shortLife() async throws {
        var keeping = Keeping()
        keeping.limits.eventsKept = 100
        try await TestScheduler.with(keeping: keeping) { test in
            for _ in 0..<20 { try await test.add(ScheduleWords(every: "1s")) }
            try await test.advance(by: .seconds(20))
            #expect(try await Self.count(test, "SELECT count(*) FROM events") > 300)
            let next = try await test.crashedAndDown(for: .seconds(1))
            try await next.advance(by: .seconds(1))
            #expect(try await Self.count(next, "SELECT count(*) FROM events") < 200)
            try await next.close()
        }
    }

    @Test("Events that came while the clock was years ahead keep none of those behind them")
    func eventsOfClockAhead() async throws {
        var keeping = Keeping()
        keeping.limits.eventsMaxAge = .seconds(3600)
        try await TestScheduler.with(keeping: keeping) { test in
            let years: Int64 = 4 * 31_557_600
            try await Self.step(test, .seconds(years))
            try await test.add(ScheduleWords(every: "1h"))
            try await Self.step(test, .seconds(-years))
            try await test.advance(by: .seconds(5 * 3600))
            let now = test.clock.now().wall
            let since = (now - .seconds(2 * 3600)).microseconds
            let others = "at_us < \(since) OR at_us > \(now.microseconds)"
            #expect(try await Self.count(test, "SELECT count(*) FROM events WHERE \(others)") == 0)
            #expect(try await Self.count(test, "SELECT count(*) FROM events") > 0)
        }
    }

    @Test("An event that is kept longer than its fire tells all that it told")
    func eventsOutlastFires() async throws {
        try await TestScheduler.with(keeping: Keeping(runs: 1)) { test in
            try await test.add(ScheduleWords(every: "1s"), command: ["x"]) { $0.name = "tick" }
            try await test.advance(by: .seconds(60))
            try await test.settle()
            let kept = try await test.store.reader.read {
                try EventLog($0).events(after: 0, limit: 1000)
            }
            #expect(kept == test.sink.all)
        }
    }

    @Test("An ended job stays while a notice of it waits, and an event tells that it is given up")
    func endedJobWithNotice() async throws {
        var keeping = Keeping()
        keeping.limits.endedJobsMaxAge = .seconds(3600)
        keeping.limits.eventsMaxAge = .seconds(3600)
        try await TestScheduler.with(keeping: keeping) { test in
            test.runner.answer = NoticeSupport.answers(.exited(1), told: .exited(75))
            let job = try await test.add(ScheduleWords(in: "1s"), command: ["false"]) {
                ($0.notify, $0.env) = ([NoticeSupport.place], ["CHANNEL": "ops"])
            }
            try await test.advance(by: .seconds(80_000))
            #expect(try await test.job(job.id).state == .finished)
            #expect(NoticeSupport.told(test).last?.environment["CHANNEL"] == "ops")
            try await test.advance(by: .seconds(20_000))
            #expect(test.sink.all(.noticeFailed).count == 1)
            #expect(try await Self.count(test, "SELECT count(*) FROM jobs") == 0)
        }
    }
}
