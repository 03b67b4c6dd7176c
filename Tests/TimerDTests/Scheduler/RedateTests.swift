// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

@Suite("A job that goes on by another schedule", .timeLimit(.minutes(2))) struct RedateTests {
    /// Makes the job what its definition is after `change`.
    @discardableResult
    private func change(
        _ test: TestScheduler,
        _ job: StoredJob,
        _ change: (inout JobDefinition) -> Void
    ) async throws -> StoredJob {
        var definition = job.definition
        change(&definition)
        let new = try NewJob(definition, owner: 0, at: test.clock.now(), zone: .utc)
        let changes = JobChanges(invalidate: [], change: [.init(id: job.id, to: new)], add: [])
        let applied = try await test.scheduler.apply(changes, caller: TestScheduler.root)
        return try #require(applied.changed.first)
    }

    private func replace(
        _ test: TestScheduler,
        _ words: ScheduleWords,
        _ change: (inout JobDefinition) -> Void = { _ in }
    ) async throws -> StoredJob {
        var definition = JobDefinition(schedule: words)
        definition.name = "a"
        change(&definition)
        let new = try NewJob(definition, owner: 0, at: test.clock.now(), zone: .utc)
        let added = try await test.scheduler.add([new], replace: true, caller: TestScheduler.root)
        return added[0]
    }

    @Test(
        "Its history goes over to the other clock, as the wall clock has it, and no date fires twice"
    )
    func clocks() async throws {
        try await TestScheduler.with { test in
            // From here on the two clocks differ, by no whole second.
            test.clock.step(by: .milliseconds(-90_250))
            _ = await test.scheduler.clockStepped()
            let job = try await test.add(ScheduleWords(every: "20s"))
            try await test.advance(by: .seconds(50))
            let before = try await test.history(job.id)
            let cron = try await change(test, job) {
                $0.schedule = ScheduleWords(cron: "* * * * *")
            }
            #expect(cron.id == job.id)
            #expect(cron.clock == .wall)
            #expect(try await test.history(job.id) == before)
            try await test.advance(by: .seconds(120))
            let back = try await change(test, cron) { $0.schedule = ScheduleWords(every: "10s") }
            #expect(back.clock == .elapsed)
            try await test.advance(by: .seconds(25))
            let all = try await test.history(job.id)
            #expect(all.count == 2 + 2 + 2)
            #expect(Set(all.map(\.fireDate)).count == all.count)
            #expect(all.allSatisfy { $0.state == .fired })
            #expect(Array(all.prefix(2)) == before)
        }
    }

    @Test("A date that both schedules have, and that has fired, is not fired again")
    func sameDate() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(cron: "* * * * *"))
            try await test.advance(by: .seconds(60))
            #expect(test.fired(job.id) == [60])
            test.clock.step(by: .seconds(-30))
            _ = await test.scheduler.clockStepped()
            try await change(test, job) { $0.schedule = ScheduleWords(cron: "*/1 * * * *") }
            try await change(test, job) { $0.schedule = ScheduleWords(cron: "0,30 * * * * *") }
            try await test.advance(by: .seconds(75))
            // The clock shows 60 for the second time after 30 s.
            let dates = try await test.history(job.id).map { $0.fireDate - TestScheduler.start }
            #expect(dates == [.seconds(60), .seconds(90)])
        }
    }

    @Test("A date that passed in a pause stays the job's where an export has stated it otherwise")
    func sameDateOfDelay() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(in: "10s"))
            try await test.change(job.id, .pause)
            try await test.advance(by: .seconds(20))
            let date = TestScheduler.start + .seconds(10)
            let changed = try await change(test, job) {
                $0.schedule = ScheduleWords(at: date.rfc3339)
            }
            #expect(changed.state == .paused && changed.clock == .wall)
            #expect(try await test.history(job.id).isEmpty)
            try await test.change(job.id, .resume)
            try await test.advance(by: .seconds(1))
            #expect(test.fired(job.id).count == 1)
        }
    }

    @Test("A one-shot that fires while the same date is stated for it otherwise fires once")
    func sameDateAsItFires() async throws {
        try await TestScheduler.with(keeping: .all) { test in
            let job = try await test.add(ScheduleWords(in: "10s"))
            try await test.advance(by: .milliseconds(9_900))
            let gate = SchedulerAheadTests.stall(test)
            let date = TestScheduler.start + .seconds(10)
            let changing = Task {
                try await change(test, job) { $0.schedule = ScheduleWords(at: date.rfc3339) }
            }
            await test.advanceWithoutStore(by: .milliseconds(200))
            gate.signal()
            // Refused, where it has ended by then.
            _ = await changing.result
            try await test.advance(by: .seconds(10))
            #expect(test.fired(job.id).count == 1)
        }
    }

    @Test("Dates ahead that its user had dropped are none of the job's any more")
    func skippedAhead() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(cron: "* * * * *"))
            try await test.change(job.id, .skip(3))
            try await test.advance(by: .seconds(90))
            try await change(test, job) { $0.schedule = ScheduleWords(cron: "0/30 * * * * *") }
            try await test.advance(by: .seconds(60))
            #expect(test.fired(job.id) == [120, 150])
            // Of the range that it was in, what had passed is left.
            let skipped = try #require(try await test.history(job.id).first)
            #expect(skipped.reason == .skip)
            #expect(skipped.dates == nil)
            #expect(skipped.fireDate == TestScheduler.start + .seconds(60))
        }
    }

    @Test("A date that had come and had not fired has its reason; a pause goes on, with its own")
    func unfired() async throws {
        try await TestScheduler.with { test in
            let late = try await test.add(ScheduleWords(every: "10s"))
            let paused = try await test.add(ScheduleWords(cron: "* * * * *"))
            try await test.change(paused.id, .pause)
            try await test.advance(by: .seconds(65))
            let changed = try await change(test, paused) {
                $0.schedule = ScheduleWords(cron: "*/2 * * * *")
            }
            #expect(changed.state == .paused)
            #expect(try await test.history(paused.id).map(\.reason) == [.paused])
            test.stall(.milliseconds(5_500))
            try await change(test, late) { $0.schedule = ScheduleWords(every: "1h") }
            #expect(try await test.history(late.id).last?.reason == .changed)
        }
    }

    @Test("A run in progress goes on and is stored; what waits begins as the job is by then")
    func running() async throws {
        try await TestScheduler.with { test in
            test.runner.isHolding = true
            let job = try await test.add(ScheduleWords(every: "10s"), command: ["old"]) {
                $0.overlap = .queue
            }
            try await test.advance(by: .seconds(21))
            #expect(test.runner.requests.map(\.argv) == [["old"]])
            try await change(test, job) {
                ($0.schedule, $0.command) = (ScheduleWords(cron: "* * * * *"), ["new"])
            }
            test.runner.end(.exited(3))
            try await test.settle()
            #expect(test.runner.requests.map(\.argv) == [["old"], ["new"]])
            test.runner.end()
            try await test.settle()
            try await test.advance(by: .seconds(60))
            test.runner.end()
            let runs = try await test.history(job.id)
            #expect(runs.map(\.outcome) == [.exited, .exited, .exited])
            #expect(runs.map(\.status) == [3, 0, 0])
        }
    }

    @Test("A run that was made ready for a date that is none any more is not started")
    func prepared() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "10s"), command: ["x"])
            try await test.advance(by: .milliseconds(9_995))
            try await change(test, job) { $0.schedule = ScheduleWords(every: "1h") }
            try await test.advance(by: .seconds(60))
            #expect(test.runner.requests.isEmpty)
            #expect(try await test.history(job.id).isEmpty)
        }
    }

    @Test("A job of start-up becomes one of dates, and the other way round", .ofOneHost())
    func reboot() async throws {
        try await TestScheduler.with { test in
            let boot = try await test.add(ScheduleWords(cron: "@reboot"))
            let hourly = try await test.add(ScheduleWords(every: "1h"))
            try await change(test, boot) { $0.schedule = ScheduleWords(every: "10s") }
            try await change(test, hourly) { $0.schedule = ScheduleWords(cron: "@reboot") }
            let ids = try await test.store.reader.read { try JobStore($0).bootIDs() }
            #expect(ids == [hourly.id])
            try await test.advance(by: .seconds(15))
            #expect(test.fired(boot.id) == [10])
        }
    }

    @Test(
        "add with replace keeps id and history, and begins anew: its dates, its count, a pause is over"
    )
    func replaced() async throws {
        try await TestScheduler.with { test in
            let job = try await replace(test, ScheduleWords(every: "10s"))
            try await test.advance(by: .seconds(25))
            try await test.change(job.id, .pause)
            let again = try await replace(test, ScheduleWords(every: "10s")) { $0.count = 2 }
            #expect(again.id == job.id)
            #expect(again.state == .scheduled)
            #expect(again.fires == 0)
            try await test.advance(by: .seconds(60))
            #expect(test.fired(job.id) == [10, 20, 35, 45])
            #expect(try await test.job(job.id).endReason == .count)
            // The name is free: it is another job.
            let next = try await replace(test, ScheduleWords(in: "5min"))
            #expect(next.id != job.id)
            try await test.advance(by: .seconds(60))
            let later = try await replace(test, ScheduleWords(in: "5min"))
            #expect(later.id == next.id)
            #expect(later.fireDate.map { $0 - (next.fireDate ?? $0) } == .seconds(60))
            let live = try await test.store.reader.read { try Queries($0).liveJobs() }
            #expect(live.scheduled == 1)
        }
    }

    @Test("A crash right after the answer leaves the job as it was made, and its dates")
    func crash() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "10s"))
            try await test.advance(by: .seconds(25))
            try await change(test, job) { $0.schedule = ScheduleWords(cron: "* * * * *") }
            let after = try await test.crashed()
            try await after.advance(by: .seconds(60))
            #expect(after.fired(job.id) == [60])
            #expect(try await after.history(job.id).count == 3)
            try await after.close()
        }
    }

    @Test(
        "A fire that waits as the count begins anew is none of it, whether it begins or is dropped"
    )
    func waiting() async throws {
        for isDropped in [true, false] {
            try await TestScheduler.with { test in
                test.runner.isHolding = true
                let job = try await test.add(ScheduleWords(every: "10s"), command: ["c"]) {
                    $0.overlap = .queue
                }
                try await test.advance(by: .seconds(25))
                #expect(try await test.job(job.id).fires == 2, "one in progress, one that waits")
                try await change(test, job) {
                    ($0.schedule, $0.count) = (ScheduleWords(every: "100s"), 2)
                }
                #expect(try await test.job(job.id).fires == 0)
                if isDropped { try await test.change(job.id, .invalidate) }
                test.runner.isHolding = false
                test.runner.end()
                try await test.settle()
                #expect(try await test.job(job.id).fires == 0)
                #expect(test.runner.requests.count == (isDropped ? 1 : 2))
                if isDropped { return }
                try await test.advance(by: .seconds(500))
                #expect(test.runner.requests.count == 4)
                #expect(try await test.job(job.id).endReason == .count)
            }
        }
    }
}
