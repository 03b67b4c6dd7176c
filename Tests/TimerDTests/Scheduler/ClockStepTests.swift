// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

/// What wall schedules do when the clock on the wall is set: no burst, no stall, no date twice.
@Suite("Scheduler, clock steps", .timeLimit(.minutes(2)))
struct ClockStepTests {
    static let minutely = [
        ScheduleWords(cron: "* * * * *"), ScheduleWords(calendar: "*:*"),
        ScheduleWords(every: "1min", from: "2026-12-01T08:00:00Z"),
    ]
    static let year = TimeSpan.seconds(365 * 86_400)

    /// Sets the clock and tells the scheduler, as the timerfd does.
    static func step(_ test: TestScheduler, by span: TimeSpan) async throws {
        test.clock.step(by: span)
        #expect(await test.scheduler.clockStepped() == span)
        // Whatever is due by the new time fires now.
        try await test.advance(by: .zero)
        try await test.settle()
    }

    static func fires(_ test: TestScheduler, after date: Timestamp) -> Int {
        test.sink.all(.fireFired).count { ($0.firedAt ?? .distantPast) > date }
    }

    @Test("Set forward by a year, a job fires once for all that, and says why", arguments: minutely)
    func forward(words: ScheduleWords) async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(words)
            try await test.advance(by: .seconds(90))
            try await Self.step(test, by: Self.year)
            #expect(test.sink.all(.fireFired).count == 2, "one fire in all")
            let made = try #require(test.sink.all(.fireFired).last)
            #expect(made.missed == 365 * 24 * 60 - 1)
            let skipped = try #require(
                try await test.history(job.id).first { $0.state == .skipped }
            )
            #expect(skipped.reason == .clockStepped)
            #expect(skipped.dates == 365 * 24 * 60 - 1)
            let stepped = test.clock.now().wall
            try await test.advance(by: .seconds(600))
            #expect(Self.fires(test, after: stepped) == 10, "no stall, no burst")
        }
    }

    @Test(
        "Set back after it stood wrong by a year, a job goes on at once, by the right clock",
        arguments: minutely,
        [JobDefinition.Misfire.once, .skip, .all]
    )
    func forwardAndBack(words: ScheduleWords, misfire: JobDefinition.Misfire) async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(words) { $0.misfire = misfire }
            try await test.advance(by: .seconds(90))
            try await Self.step(test, by: Self.year)
            try await test.advance(by: .seconds(300))
            try await Self.step(test, by: .zero - Self.year)
            let before = test.sink.all(.fireFired).count
            let back = test.clock.now().wall
            try await test.advance(by: .seconds(600))
            let fires = test.sink.all(.fireFired).dropFirst(before)
            #expect(fires.count == 10, "no stall, no burst")
            #expect(fires.allSatisfy { $0.firedAt == $0.fireDate && ($0.missed ?? 0) == 0 })
            // What the wrong clock had passed over lies ahead again, and has no row any more.
            let history = try await test.history(job.id)
            #expect(!history.contains { $0.state == .skipped && $0.fireDate > back })
            #expect(!history.contains { ($0.through ?? .distantPast) > test.clock.now().wall })
            #expect(Set(test.sink.all(.fireFired).map(\.fireDate)).count == before + 10)
        }
    }

    @Test(
        "After sleep notices that are due are told, and a lease is whole again, though no timer has called"
    )
    func sleepOfTasks() async throws {
        try await TestScheduler.with { test in
            test.runner.answer = NoticeSupport.answers(.exited(1), told: .exited(1))
            try await test.add(ScheduleWords(in: "1s"), command: ["false"]) {
                $0.notify = [NoticeSupport.place]
            }
            _ = try await test.add(ScheduleWords(in: "1s")) { $0.queue = "mails" }
            try await test.advance(by: .seconds(2))
            #expect(NoticeSupport.told(test).count == 1)
            #expect(try await test.reserve("mails", lease: .seconds(60)).count == 1)
            try await test.settle()
            test.stall(.seconds(100))
            #expect(await test.scheduler.clockStepped() == .zero)
            // No worker could extend it.
            let ends = try await test.tasks().map(\.leaseUntil)
            let whole = test.clock.now().wall + .seconds(60)
            #expect(ends == [whole])
            #expect(NoticeSupport.told(test).count == 2, "the next try is due after a minute")
        }
    }

    @Test(
        "Stepped, the clock says when a fire is tried again, and when one of elapsed time was due, as before",
        arguments: [3600, -3600] as [Int64]
    )
    func elapsedDates(step: Int64) async throws {
        try await TestScheduler.with { test in
            test.runner.outcome = .exited(3)
            let failed = try await test.add(ScheduleWords(in: "5s"), command: ["false"]) {
                $0.retries = 1
                $0.backoff = "10min..10min"
            }
            let grid = try await test.add(ScheduleWords(every: "2s"))
            try await test.advance(by: .seconds(5))
            let next = try #require(
                try await test.history(failed.id).compactMap(\.nextAttemptAt).first
            )
            try await Self.step(test, by: .seconds(step))
            let told = try await test.history(failed.id).compactMap(\.nextAttemptAt)
            #expect(told == [next + .seconds(step)])
            try await test.advance(by: .seconds(3))
            let fires = try await test.history(grid.id).filter { $0.state == .fired }
            #expect(fires.count == 4)
            #expect(fires.allSatisfy { $0.fireDate == $0.firedAt }, "none was late")
        }
    }

    @Test("Stepped, the clock makes the daemon no older", arguments: [3600, -3600] as [Int64])
    func age(step: Int64) async throws {
        try await TestScheduler.with { test in
            let status = StatusReport(
                databaseShown: "x",
                socket: "/x",
                nodeName: nil,
                started: test.clock.now().elapsed,
                leadsSince: test.clock.now().elapsed,
                clock: test.clock,
                scheduler: test.scheduler,
                store: test.store,
                watchers: { 0 },
                newestEvent: { 0 },
                lastReload: { nil }
            )
            try await test.advance(by: .seconds(10))
            try await Self.step(test, by: .seconds(step))
            let reply = await status.reply(to: TestScheduler.root)
            #expect(reply.now - reply.startedAt == .seconds(10))
        }
    }

    @Test("Set forward, a worker that waits for tasks goes on waiting for as long as it has said")
    func waitingWorker() async throws {
        try await TestScheduler.with { test in
            let worker = Task { try await test.reserve("mails", wait: .seconds(60)) }
            try await test.waits(1, for: "mails")
            try await Self.step(test, by: .seconds(3600))
            #expect(test.scheduler.taskStanding.isAnybodyWaiting)
            try await test.advance(by: .seconds(61))
            #expect(try await worker.value.isEmpty)
        }
    }

    @Test("Set back a little, no date comes twice, the next one is on time", arguments: minutely)
    func backALittle(words: ScheduleWords) async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(words)
            try await test.advance(by: .seconds(130))
            try await Self.step(test, by: .seconds(-90))
            try await test.advance(by: .seconds(200))
            #expect(test.fired(job.id) == [60, 120, 180, 240])
        }
    }

    @Test("A date that its user dropped stays dropped when the clock is set back")
    func skipAndBack() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(cron: "* * * * *"))
            try await test.advance(by: .seconds(65))
            try await test.change(job.id, .skip(2))
            try await Self.step(test, by: .seconds(-30))
            try await test.advance(by: .seconds(240))
            #expect(test.fired(job.id) == [60, 240])
        }
    }

    @Test("The clock is set back while no daemon runs: the next one goes on by the right clock")
    func backWhileDown() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(cron: "0 * * * *"))
            try await test.advance(by: .seconds(10))
            try await Self.step(test, by: Self.year)
            try await test.advance(by: .seconds(7200))
            let after = try await test.crashedAndDown(for: .seconds(60)) { machine in
                machine.wall = machine.wall - Self.year
            }
            let start = after.clock.now().wall
            try await after.advance(by: .seconds(2 * 3600))
            #expect(Self.fires(after, after: start) == 2)
            #expect(try await after.job(job.id).state == .scheduled)
            try await after.close()
        }
    }

    @Test("A machine that starts in 1970 fires no wall job until its clock is set, and then once")
    func unsetClock() async throws {
        try await TestScheduler.with { test in
            let wall = try await test.add(ScheduleWords(cron: "*/10 * * * *"))
            let elapsed = try await test.add(ScheduleWords(every: "10min"))
            try await test.advance(by: .seconds(1250))
            #expect(test.fired(wall.id) == [600, 1200])
            let right = test.clock.now().wall
            let after = try await test.crashedAndDown(for: .seconds(600)) { machine in
                machine.boot += 1
                machine.sinceBoot = Timestamp(microseconds: 20_000_000)
                machine.wall = Timestamp(microseconds: 25_000_000)
            }
            try await after.advance(by: .seconds(700))
            #expect(after.fired(wall.id).isEmpty, "1970 is no date to fire at")
            #expect(
                after.sink.all(.fireFired).count { $0.job == elapsed.id } == 1,
                "elapsed time goes on"
            )
            let now = right + .seconds(1300)
            let step = now - after.clock.now().wall
            after.clock.step(by: step)
            _ = await after.scheduler.clockStepped()
            try await after.advance(by: .seconds(1200))
            // 1,250 + 1,300 = 2,550: of 1,800 and 2,400 one fire, which is more than late.
            #expect(after.fired(wall.id) == [2400, 3000, 3600])
            let made = try #require(after.sink.all(.fireFired).first { $0.job == wall.id })
            #expect(made.missed == 2)
            try await after.close()
        }
    }

    @Test("A machine that loses its power and its clock goes on with its intervals where they were")
    func lostClockAfterHours() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "5s"))
            try await test.advance(by: .seconds(7200))
            let after = try await test.crashedAndDown(for: .seconds(60)) { machine in
                machine.boot = 2
                machine.sinceBoot = Timestamp(microseconds: 5_000_000)
                machine.wall = machine.sinceBoot
            }
            try await after.advance(by: .seconds(6))
            #expect(after.fired(job.id).count >= 1, "not two hours later")
            #expect(after.clock.now().elapsed >= TestScheduler.start + .seconds(7200))
            try await after.close()
        }
    }

    @Test(
        "A long interval goes back little where the clock is lost, whatever else fires",
        arguments: zip(
            [ScheduleWords(cron: "* * * * *"), ScheduleWords(every: "20d")],
            [60, 3600]
        )
    )
    func lostClockInInterval(other: ScheduleWords, seconds: Int) async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "2d"))
            try await test.add(other)
            try await test.advance(by: .seconds(36 * 3600))
            let after = try await test.crashedAndDown(for: .seconds(60)) { machine in
                machine.boot = 2
                machine.sinceBoot = Timestamp(microseconds: 5_000_000)
                machine.wall = machine.sinceBoot
            }
            try await after.advance(by: .seconds(12 * 3600 + Int64(seconds)))
            #expect(after.fired(job.id).count == 1, "not 36 hours later")
            try await after.close()
        }
    }

    @Test("After sleep, an elapsed schedule has one overdue fire, then its grid")
    func sleep() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "10s"))
            try await test.advance(by: .seconds(15))
            test.stall(.seconds(3600))
            #expect(await test.scheduler.clockStepped() == .zero, "sleep is no step")
            try await test.advance(by: .seconds(30))
            #expect(test.fired(job.id) == [10, 3610, 3620, 3630, 3640])
        }
    }

    @Test("Each step is logged with its size, also one while no daemon ran")
    func logged() async throws {
        try await TestScheduler.with { test in
            let lines = RecordedLog()
            let machine = test.clock.machine
            try await test.close()
            let first = try await TestScheduler(
                folder: test.folder,
                machine: machine,
                log: lines.logger
            )
            first.clock.step(by: .seconds(3600))
            await first.scheduler.clockSignalled(.clockWasStepped)
            first.clock.step(by: .milliseconds(-1500))
            await first.scheduler.clockSignalled(.clockWasStepped)
            await first.scheduler.clockSignalled(.clockWasStepped)
            var later = first.clock.machine
            try await first.close()
            later.wall = later.wall + .seconds(90)
            let second = try await TestScheduler(
                folder: test.folder,
                machine: later,
                log: lines.logger
            )
            try await second.close()
            #expect(
                lines.all == [
                    "the wall clock was stepped step=1h",
                    "the wall clock was stepped step=-1.500000s",
                    "the wall clock was stepped while no daemon ran step=1min 30s",
                ]
            )
        }
    }

    @Test("A small step forward loses no date and doubles none", arguments: [1, 7, 59, 61, 3599])
    func small(seconds: Int64) async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(cron: "* * * * *")) {
                $0.misfire = .all
            }
            try await test.advance(by: .seconds(62))
            try await Self.step(test, by: .seconds(seconds))
            try await test.advance(by: .seconds(130))
            let end = (62 + seconds + 130) / 60
            #expect(test.fired(job.id) == (1...end).map { $0 * 60 })
        }
    }
}
