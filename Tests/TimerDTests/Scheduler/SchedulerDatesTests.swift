// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

/// Dates that a user or the machine puts elsewhere: skipped, moved, put off, at a start.
@Suite("Scheduler, dates out of the ordinary", .timeLimit(.minutes(2)))
struct SchedulerDatesTests {
    /// "skip 10-30 x3 skip" or "fire 40 +2": what became of a job's dates, in seconds after the start.
    static func story(_ history: [Run]) -> [String] {
        func second(_ date: Timestamp) -> Int64 {
            (date - TestScheduler.start).microseconds / 1_000_000
        }
        return history.map { run in
            guard run.state == .skipped else {
                return "fire \(second(run.fireDate))" + (run.missed.map { " +\($0)" } ?? "")
            }
            let through = run.through.map { "-\(second($0)) x\(run.dates ?? 0)" } ?? ""
            return "\(run.reason?.rawValue ?? "?") \(second(run.fireDate))\(through)"
        }
    }

    // MARK: - skip

    @Test(
        "skip drops the next dates, and the schedule goes on behind them",
        arguments: [
            ScheduleWords(every: "10s"), ScheduleWords(cron: "*/10 * * * * *"),
            ScheduleWords(calendar: "*:*:0/10"),
        ]
    )
    func skip(words: ScheduleWords) async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(words)
            try await test.advance(by: .seconds(12))
            try await test.change(job.id, .skip(3))
            #expect(try await test.job(job.id).fireDate == TestScheduler.start + .seconds(50))
            try await test.advance(by: .seconds(50))
            #expect(test.fired(job.id) == [10, 50, 60])
            let story = try await Self.story(test.history(job.id))
            #expect(story == ["fire 10", "skip 20-40 x3", "fire 50", "fire 60"])
            let event = try #require(test.sink.all(.fireSkipped).first)
            #expect(event.reason == "skip")
            #expect(event.dates == 3)
        }
    }

    @Test("skip does not use up the count, and stops at the last date")
    func skipWithLimits() async throws {
        try await TestScheduler.with { test in
            let counted = try await test.add(ScheduleWords(every: "10s")) { $0.count = 2 }
            let bounded = try await test.add(ScheduleWords(every: "10s")) {
                $0.until = "2026-12-01T08:00:35Z"
            }
            try await test.change(counted.id, .skip(1))
            try await test.change(bounded.id, .skip(1000))
            try await test.advance(by: .seconds(60))
            #expect(test.fired(counted.id) == [20, 30])
            #expect(test.fired(bounded.id).isEmpty)
            let story = try await Self.story(test.history(bounded.id))
            #expect(story == ["skip 10-30 x3"])
            #expect(try await test.job(bounded.id).endReason == .skipped)
        }
    }

    @Test("A one-shot whose date is skipped is finished; a paused job has nothing to skip")
    func skipOnceAndPaused() async throws {
        try await TestScheduler.with { test in
            let once = try await test.add(ScheduleWords(in: "10s"))
            try await test.change(once.id, .skip(1))
            #expect(try await test.job(once.id).endReason == .skipped)
            let paused = try await test.add(ScheduleWords(every: "10s")) { $0.paused = true }
            await #expect(throws: ControlError.self) { try await test.change(paused.id, .skip(1)) }
            try await test.advance(by: .seconds(30))
            #expect(test.sink.all(.fireFired).isEmpty)
        }
    }

    // MARK: - set-fire-date

    @Test(
        "Moved back onto a date that was dropped, the job goes on from there; those before it stay dropped",
        arguments: [ScheduleWords(every: "1min"), ScheduleWords(cron: "* * * * *")]
    )
    func moveOntoDropped(words: ScheduleWords) async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(words)
            try await test.change(job.id, .skip(3))
            try await test.change(job.id, .setFireDate(TestScheduler.start + .seconds(120)))
            try await test.advance(by: .seconds(241))
            #expect(test.fired(job.id) == [120, 180, 240])
            let story = try await Self.story(test.history(job.id))
            #expect(story == ["skip 60", "fire 120", "fire 180", "fire 240"])
        }
    }

    @Test("Moved on from a dropped date to the next one, the fire stands for both")
    func moveOverDropped() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(cron: "* * * * *"))
            for _ in 1...2 { try await test.change(job.id, .skip(1)) }
            for second in [60, 120] as [Int64] {
                try await test.change(job.id, .setFireDate(TestScheduler.start + .seconds(second)))
            }
            try await test.advance(by: .seconds(181))
            let story = try await Self.story(test.history(job.id))
            #expect(story == ["moved 60", "fire 120", "fire 180"])
        }
    }

    @Test("A date that fires no more is refused as what it is")
    func moveOntoUsed() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(cron: "* * * * *"))
            try await test.change(job.id, .setFireDate(TestScheduler.start + .seconds(20)))
            try await test.advance(by: .seconds(21))
            for (second, words) in [(20, "has had its fire of"), (60, "set-fire-date")] {
                let date = TestScheduler.start + .seconds(Int64(second))
                let error = await #expect(throws: ControlError.self) {
                    try await test.change(job.id, .setFireDate(date))
                }
                #expect(error?.reason == .conflict)
                #expect(error?.message.contains(words) == true, "\(error?.message ?? "none")")
            }
        }
    }

    @Test("Dates of an interval that had come as it was moved have a row that says so")
    func moveWithBacklog() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "10s")) { $0.misfire = .all }
            test.stall(.seconds(35))
            try await test.change(job.id, .setFireDate(TestScheduler.start + .seconds(100)))
            try await test.advance(by: .seconds(66))
            let story = try await Self.story(test.history(job.id))
            #expect(story == ["moved 10-30 x3", "fire 100"])
        }
    }

    @Test("On cron and calendar the next fire moves alone, earlier")
    func moveEarlier() async throws {
        for words in [ScheduleWords(cron: "*/1 * * * *"), ScheduleWords(calendar: "*:0/1")] {
            try await TestScheduler.with { test in
                let job = try await test.add(words)
                try await test.change(job.id, .setFireDate(TestScheduler.start + .seconds(20)))
                try await test.advance(by: .seconds(130))
                #expect(test.fired(job.id) == [20, 120])
                let story = try await Self.story(test.history(job.id))
                #expect(story == ["fire 20", "moved 60", "fire 120"])
            }
        }
    }

    @Test("Moved later, the fire stands for the dates it passes; moved again, for those in between")
    func moveLater() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(cron: "*/1 * * * *"))
            try await test.change(job.id, .setFireDate(TestScheduler.start + .seconds(1000)))
            try await test.advance(by: .seconds(70))
            try await test.change(job.id, .setFireDate(TestScheduler.start + .seconds(190)))
            try await test.advance(by: .seconds(175))
            #expect(test.fired(job.id) == [190, 240])
            let story = try await Self.story(test.history(job.id))
            #expect(story == ["moved 60-180 x3", "fire 190", "fire 240"])
        }
    }

    @Test("A moved date that is missed follows the misfire rule with the dates behind it")
    func moveMissed() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(cron: "*/1 * * * *"))
            try await test.change(job.id, .setFireDate(TestScheduler.start + .seconds(30)))
            let after = try await test.crashedAndDown(for: .seconds(200))
            try await after.advance(by: .seconds(50))
            // 30 stood for 60; 120 and 180 follow; 180 is late and fires.
            #expect(after.fired(job.id) == [180, 240])
            let story = try await Self.story(after.history(job.id))
            #expect(
                story == ["coalesced 30", "moved 60", "coalesced 120", "fire 180 +2", "fire 240"]
            )
            try await after.close()
        }
    }

    @Test("A moved fire survives a restart, and is where it was put")
    func moveAndRestart() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(cron: "*/1 * * * *"))
            try await test.change(job.id, .setFireDate(TestScheduler.start + .seconds(90)))
            let after = try await test.crashedAndDown(for: .seconds(5))
            try await after.advance(by: .seconds(120))
            #expect(after.fired(job.id) == [90, 120])
            try await after.close()
        }
    }

    // MARK: - jitter

    @Test("Jitter puts a fire off by what it says beforehand, never past the next date")
    func jitter() async throws {
        try await TestScheduler.with { test in
            let jobs = [
                try await test.add(ScheduleWords(every: "10s")) { $0.jitter = "5s" },
                try await test.add(ScheduleWords(cron: "*/10 * * * * *")) { $0.jitter = "1h" },
            ]
            try await test.advance(by: .seconds(400))
            for job in jobs {
                let fires = test.sink.all(.fireFired).filter { $0.job == job.id }
                let delays = fires.map { fire -> TimeSpan in
                    (fire.firedAt ?? .distantPast) - (fire.fireDate ?? .distantFuture)
                }
                #expect(test.fired(job.id) == (1...Int64(fires.count)).map { $0 * 10 })
                #expect(fires.count >= 39)
                let expected = fires.map { fire in
                    Jitter.offset(
                        job: job.id.rawValue,
                        fireDate: fire.fireDate ?? .distantPast,
                        within: min(job.policy.jitter, .seconds(10))
                    )
                }
                #expect(delays == expected)
                #expect(Set(delays).count > 30, "each date has its own")
            }
            #expect(test.sink.all(.fireSkipped).isEmpty)
        }
    }

    @Test("After a restart a date with jitter is due when it was")
    func jitterAndRestart() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "1h")) { $0.jitter = "30min" }
            let due = try #require(job.dueDate)
            #expect(due > TestScheduler.start + .seconds(3600), "this one's date is put off")
            let after = try await test.crashedAndDown(for: .seconds(3000))
            try await after.advance(by: .seconds(3000))
            #expect(after.sink.all(.fireFired).first?.firedAt == due)
            try await after.close()
        }
    }

    // MARK: - @reboot

    @Test(
        "@reboot fires once at each start of the machine, and not at one of the daemon",
        .ofOneHost()
    )
    func reboot() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(cron: "@reboot"))
            let paused = try await test.add(ScheduleWords(cron: "@reboot")) { $0.paused = true }
            try await test.advance(by: .seconds(60))
            let again = try await test.crashedAndDown(for: .seconds(60))
            try await again.advance(by: .seconds(60))
            #expect(again.fired(job.id).isEmpty)
            var last = again
            for boot in 2...3 {
                let next = try await last.crashedAndDown(for: .seconds(60)) { machine in
                    machine.boot = boot
                    machine.sinceBoot = Timestamp(microseconds: 5_000_000)
                }
                try await next.advance(by: .seconds(60))
                #expect(next.fired(job.id).count == 1, "boot \(boot)")
                #expect(next.fired(paused.id).isEmpty)
                if last !== again { try await last.close() }
                last = next
            }
            #expect(try await last.job(job.id).state == .scheduled)
            #expect(try await last.history(paused.id).map(\.reason) == [.paused, .paused])
            try await last.close()
            try await again.close()
        }
    }

    // MARK: - pause

    @Test("A job that is ended while paused says of the dates in between that it was paused")
    func endedWhilePaused() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "10s"))
            try await test.advance(by: .seconds(11))
            try await test.change(job.id, .pause)
            try await test.advance(by: .seconds(30))
            try await test.change(job.id, .invalidate)
            let story = try await Self.story(test.history(job.id))
            #expect(story == ["fire 10", "paused 20-40 x3"])
        }
    }

    @Test(
        "Dates that were dropped keep their one row when the job is moved to among them and missed",
        arguments: [Int64(2), 7, 12, 17]
    )
    func movedAmongDropped(to second: Int64) async throws {
        try await TestScheduler.with { test in
            let words = ScheduleWords(cron: "*/5 * * * * *")
            let job = try await test.add(words, command: ["x"]) { $0.misfire = .skip }
            try await test.advance(by: .seconds(1))
            try await test.change(job.id, .skip(3))
            try await test.change(job.id, .setFireDate(TestScheduler.start + .seconds(second)))
            let after = try await test.crashedAndDown(for: .seconds(61))
            try await after.advance(by: .seconds(1))
            var dates: [Timestamp: Int] = [:]
            for row in try await after.history(job.id) {
                var (date, count) = (Timestamp?.some(row.fireDate), 0)
                while let next = date, next <= row.through ?? row.fireDate {
                    dates[next, default: 0] += 1
                    count += 1
                    date = job.schedule.nextFireDate(after: next)
                }
                #expect(row.dates ?? 1 == count, "\(row)")
            }
            #expect(dates.values.allSatisfy { $0 == 1 }, "\(dates)")
            // From 5 s to 60 s, and the date that it was moved to.
            #expect(dates.count == 13)
            try await after.close()
        }
    }

    @Test("A date that had passed when its job was replaced has its reason")
    func replacedLate() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "10s")) { $0.name = "a" }
            test.stall(.seconds(11))
            let new = try NewJob(job.definition, owner: 0, at: test.clock.now(), zone: .utc)
            _ = try await test.scheduler.add([new], replace: true, caller: TestScheduler.root)
            #expect(try await test.history(job.id).map(\.reason) == [.changed])
        }
    }
}
