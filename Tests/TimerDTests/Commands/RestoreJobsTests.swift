// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

@Suite("job.restore", .timeLimit(.minutes(1))) struct RestoreJobsTests {
    private static let ann: UInt32 = 1000

    @discardableResult
    private func ask(_ test: TestScheduler, _ request: Request, as uid: UInt32 = ann) async throws
        -> [Job]
    {
        try await test.jobs(request, as: uid)
    }

    private func add(
        _ test: TestScheduler,
        _ words: ScheduleWords,
        as uid: UInt32 = ann,
        _ change: (inout JobDefinition) -> Void = { _ in }
    ) async throws -> JobID {
        var definition = JobDefinition(schedule: words)
        change(&definition)
        return try await ask(test, .addJobs(AddJobs(definition)), as: uid)[0].id
    }

    private func end(_ test: TestScheduler, _ jobs: JobID..., as uid: UInt32 = ann) async throws {
        try await ask(test, .invalidateJobs(InvalidateJobs(.ids(jobs))), as: uid)
    }

    @discardableResult
    private func undo(_ test: TestScheduler, _ jobs: JobID..., as uid: UInt32 = ann) async throws
        -> [Job]
    {
        try await ask(test, .restoreJobs(jobs.isEmpty ? nil : .ids(jobs)), as: uid)
    }

    private func refusal(_ test: TestScheduler, _ request: Request, as uid: UInt32 = ann) async
        -> ControlError?
    {
        await test.refusal(request, as: uid)
    }

    /// Each row of the job, by its date in seconds after the start.
    private func story(_ test: TestScheduler, _ job: JobID) async throws -> [String] {
        try await test.history(job).sorted { $0.fireDate < $1.fireDate }.map { run in
            let first = (run.fireDate - TestScheduler.start).microseconds / 1_000_000
            return "\(run.reason?.rawValue ?? "\(run.state)") \(first) x\(run.dates ?? 1)"
        }
    }

    @Test("A job is what it was: id, name, tags, grid and history", arguments: [true, false])
    func asItWas(crash: Bool) async throws {
        try await TestScheduler.with { test in
            let job = try await add(test, ScheduleWords(every: "100s")) {
                ($0.name, $0.tags, $0.misfire, $0.misfireAfter) = ("a", ["t"], .skip, "1s")
                $0.userInfo = JSONText(.string("info"))
            }
            try await test.advance(by: .seconds(250))
            let before = try await ask(test, .getJob(.id(job)))[0]
            try await end(test, job)
            try await test.advance(by: .seconds(200))
            let test = crash ? try await test.crashed() : test
            let restored = try await ask(test, .restoreJobs(.name("a")))[0]
            #expect(restored.id == job && restored.definition == before.definition)
            #expect(restored.state == .scheduled && restored.endedAt == nil)
            #expect(restored.endReason == nil && restored.fires == 2)
            #expect(restored.fireDate == TestScheduler.start + .seconds(500))
            let later = crash ? try await test.crashed() : test
            try await later.advance(by: .seconds(100))
            #expect(later.fired(job).suffix(1) == [500])
            #expect(
                try await story(later, job)
                    == ["fired 100 x1", "fired 200 x1", "invalidated 300 x2", "fired 500 x1"]
            )
            // The name and the tag are its own again.
            #expect(try await ask(later, .pauseJobs(.name("a"))).map(\.id) == [job])
            #expect(try await ask(later, .resumeJobs(.tag("t"))).map(\.id) == [job])
            try await later.close()
            try await test.close()
        }
    }

    @Test("Dates that passed meanwhile follow the misfire rule")
    func misfire() async throws {
        try await TestScheduler.with { test in
            let once = try await add(test, ScheduleWords(every: "10s"))
            let all = try await add(test, ScheduleWords(every: "10s")) {
                ($0.misfire, $0.misfireLimit) = (.all, 5)
            }
            let shot = try await add(test, ScheduleWords(in: "30s"))
            try await test.advance(by: .seconds(15))
            try await end(test, once, all, shot)
            try await test.advance(by: .seconds(30))
            try await undo(test)
            try await test.advance(by: .seconds(1))
            #expect(test.fired(once) == [10, 40])
            #expect(test.fired(all) == [10, 20, 30, 40])
            #expect(test.fired(shot) == [30])
            #expect(try await test.job(shot).state == .finished)
            try await test.advance(by: .seconds(10))
            #expect(test.fired(once) == [10, 40, 50], "its grid stays")
        }
    }

    @Test("A job that lives stays as it is, also where its date comes before that is stored")
    func livesAlready() async throws {
        try await TestScheduler.with(keeping: .all) { test in
            let job = try await add(test, ScheduleWords(every: "10s"))
            try await test.advance(by: .milliseconds(9_900))
            let gate = SchedulerAheadTests.stall(test)
            async let restored = undo(test, job)
            await test.advanceWithoutStore(by: .milliseconds(200))
            gate.signal()
            #expect(try await restored.map(\.state) == [.scheduled])
            try await test.advance(by: .seconds(10))
            #expect(test.fired(job) == [10, 20], "each once")
            #expect(test.sink.all(.fireFired).allSatisfy { $0.redelivered != true })
            #expect(try await story(test, job) == ["fired 10 x1", "fired 20 x1"])
        }
    }

    @Test("A moved date, a pause and a maintenance are as they were")
    func standing() async throws {
        try await TestScheduler.with { test in
            let moved = try await add(test, ScheduleWords(cron: "* * * * *"))
            let paused = try await add(test, ScheduleWords(every: "10s")) { $0.paused = true }
            let kept = try await add(test, ScheduleWords(every: "10s"))
            try await ask(
                test,
                .setFireDate(SetFireDate(job: .id(moved), fireDate: "2026-12-01T08:05:30Z"))
            )
            try await end(test, moved, paused)
            #expect(try await undo(test).map(\.state) == [.scheduled, .paused])
            let job = try await ask(test, .getJob(.id(moved)))[0]
            #expect(job.fireDate == TestScheduler.start + .seconds(330))
            #expect(job.movedFrom == TestScheduler.start + .seconds(60))
            // What was paused for the maintenance goes on with its end, also where it was ended before it.
            try await end(test, kept, paused)
            try await ask(test, .beginMaintenance(nil))
            let held = try await undo(test)
            #expect(held.map(\.state) == [.paused, .paused])
            #expect(held.map(\.maintenance) == [false, true], "what its user has paused stays so")
            try await end(test, moved, kept, paused)
            try await ask(test, .endMaintenance(nil))
            #expect(try await undo(test).map(\.state) == [.scheduled, .paused, .scheduled])
            try await test.advance(by: .seconds(330))
            #expect(test.fired(moved) == [330])
            #expect(test.fired(paused).isEmpty)
            #expect(test.fired(kept).count == 33)
        }
    }

    @Test(
        "A moved date that passed meanwhile has its row, also where the job ended after the date it was moved from"
    )
    func movedDatePasses() async throws {
        try await TestScheduler.with { test in
            let job = try await add(test, ScheduleWords(cron: "* * * * *"))
            try await ask(
                test,
                .setFireDate(SetFireDate(job: .id(job), fireDate: "2026-12-01T08:01:30Z"))
            )
            try await test.advance(by: .seconds(70))
            try await end(test, job)
            try await test.advance(by: .seconds(130))
            try await undo(test, job)
            try await test.advance(by: .seconds(1))
            let story = try await story(test, job)
            #expect(
                story == ["moved 60 x1", "invalidated 90 x2", "fired 180 x1"]
            )
        }
    }

    @Test("Without a job it is what the caller has ended last, then what before that")
    func last() async throws {
        try await TestScheduler.with { test in
            var jobs: [JobID] = []
            for _ in 0..<5 { jobs.append(try await add(test, ScheduleWords(in: "1h"))) }
            let hers = try await add(test, ScheduleWords(in: "1h"), as: 1001)
            try await end(test, jobs[0], jobs[1])
            test.stall(.seconds(1))
            try await ask(test, .applyJobs(ApplyJobs(invalidate: [jobs[2]])))
            test.stall(.seconds(1))
            try await end(test, hers, as: 1001)
            test.stall(.seconds(1))
            try await end(test, jobs[3], as: 0)
            #expect(try await undo(test).map(\.id) == [jobs[2]])
            #expect(try await undo(test).map(\.id) == [jobs[0], jobs[1]])
            let nothing = await refusal(test, .restoreJobs(nil))
            #expect(nothing?.reason == .notFound)
            #expect(nothing?.message.hasPrefix("there is nothing to undo") == true)
            #expect(try await undo(test, as: 0).map(\.id) == [jobs[3]])
            #expect(try await undo(test, as: 1001).map(\.id) == [hers])
            // What lives stays as it is.
            #expect(try await undo(test, jobs[0]).map(\.state) == [.scheduled])
        }
    }

    @Test("What cannot be undone is refused with its reason, and all of it with it")
    func refused() async throws {
        try await TestScheduler.with { test in
            let good = try await add(test, ScheduleWords(in: "1h"))
            let named = try await add(test, ScheduleWords(in: "1h")) { $0.name = "n" }
            let replaced = try await add(test, ScheduleWords(every: "1h")) {
                $0.name = "r"
            }
            let finished = try await add(test, ScheduleWords(in: "5s"))
            try await test.advance(by: .seconds(10))
            try await end(test, good, named)
            let holder = try await add(test, ScheduleWords(in: "1h")) { $0.name = "n" }
            for (job, reason, words) in [
                (named, .nameTaken, "job \(holder) has the name 'n' now"),
                (finished, .conflict, "job \(finished) has finished, which cannot be undone"),
                (JobID(rawValue: 99), .notFound, "there is no job 99"),
            ] as [(JobID, ControlError.Reason, String)] {
                let error = await refusal(test, .restoreJobs(.ids([good, job])))
                #expect(error?.reason == reason)
                #expect(error?.message.hasPrefix(words) == true, "\(error?.message ?? "none")")
                #expect(try await test.job(good).state == .invalidated)
            }
            let foreign = await refusal(test, .restoreJobs(.ids([good])), as: 1001)
            #expect(foreign?.message.hasPrefix("there is no job \(good)") == true)
            #expect(await refusal(test, .restoreJobs(.name("none")))?.reason == .notFound)
            // A new job in its place, of which there is no undo.
            var definition = JobDefinition(schedule: ScheduleWords(in: "1h"))
            definition.name = "r"
            let tied = try await ask(test, .addJobs(AddJobs(definition, replace: true)))[0].id
            #expect(tied == replaced)
            try await test.advance(by: .seconds(86_401))
            let late = await refusal(test, .restoreJobs(.ids([good])))
            #expect(late?.message.contains("more than 24 h ago") == true)
            #expect(await refusal(test, .restoreJobs(nil))?.reason == .notFound)
        }
    }

    @Test("A user's jobs stay within their limit")
    func limit() async throws {
        try await TestScheduler.with { test in
            var settings = await test.scheduler.settings
            settings.maxJobsPerUser = 2
            await test.scheduler.reload(settings)
            let one = try await add(test, ScheduleWords(in: "1h"))
            let two = try await add(test, ScheduleWords(in: "1h"))
            try await end(test, one)
            _ = try await add(test, ScheduleWords(in: "1h"))
            #expect(await refusal(test, .restoreJobs(nil))?.reason == .limitReached)
            try await end(test, two)
            try await undo(test, one)
            #expect(await refusal(test, .restoreJobs(.ids([two])))?.reason == .limitReached)
        }
    }

    @Test("A run that went on still counts for overlap; a retry that was dropped stays so")
    func runs() async throws {
        try await TestScheduler.with { test in
            test.runner.isHolding = true
            let running = try await add(test, ScheduleWords(every: "10s"), as: 0) {
                $0.command = ["sleep"]
            }
            try await test.advance(by: .seconds(11))
            #expect(test.runner.heldCount == 1)
            try await end(test, running, as: 0)
            try await undo(test, as: 0)
            try await test.advance(by: .seconds(10))
            #expect(test.runner.requests.count == 1, "it overlaps")
            test.runner.end()
            try await test.advance(by: .seconds(10))
            #expect(test.runner.requests.count == 2)
            #expect(
                try await story(test, running) == ["done 10 x1", "overlap 20 x1", "running 30 x1"]
            )
            test.runner.end()
            test.runner.isHolding = false
            try await end(test, running, as: 0)
            test.runner.outcome = .exited(1)
            let retried = try await add(test, ScheduleWords(every: "100s"), as: 0) {
                ($0.command, $0.retries, $0.backoff) = (["false"], 3, "20s")
            }
            try await test.advance(by: .seconds(101))
            let attempts = test.runner.requests.count
            try await end(test, retried, as: 0)
            try await undo(test, as: 0)
            try await test.advance(by: .seconds(60))
            #expect(test.runner.requests.count == attempts)
            try await test.advance(by: .seconds(40))
            let next = test.runner.requests.dropFirst(attempts).first
            #expect(next?.environment["TIMERD_ATTEMPT"] == "1", "it is the next date's")
        }
    }

    @Test("The date goes by the rules that the job's zone has by then", arguments: [true, false])
    func zone(isSwept: Bool) async throws {
        let zones = TestZones()
        try await TestScheduler.with(zones: zones) { test in
            // 09:00 of Berlin is 10:00 of Helsinki.
            let words = ScheduleWords(cron: "0 12 * * *", tz: "Europe/Berlin")
            let job = try await add(test, words)
            try await end(test, job)
            try zones.set("Europe/Berlin", as: "Europe/Helsinki")
            if isSwept {
                await test.scheduler.reload(test.scheduler.settings)
                try await test.settle()
            }
            try await undo(test)
            try await test.advance(by: .seconds(4 * 3600))
            #expect(test.fired(job) == [2 * 3600])
        }
    }

    @Test("A clock that is set back while a job is ended is followed with its return")
    func clockBack() async throws {
        try await TestScheduler.with { test in
            let job = try await add(test, ScheduleWords(cron: "* * * * *")) { $0.misfire = .skip }
            test.clock.step(by: .seconds(600))
            _ = await test.scheduler.clockStepped()
            try await test.advance(by: .seconds(61))
            try await end(test, job)
            test.clock.step(by: .seconds(-600))
            _ = await test.scheduler.clockStepped()
            try await undo(test)
            try await test.advance(by: .seconds(120))
            #expect(test.fired(job).suffix(2) == [120, 180])
        }
    }

    @Test("It is told, and a watcher sees the job's next date")
    func told() async throws {
        try await TestScheduler.with { test in
            let job = try await add(test, ScheduleWords(in: "1h")) { $0.name = "a" }
            try await end(test, job)
            try await undo(test)
            try await test.settle()
            let told = try #require(test.sink.all(.jobRestored).first)
            #expect(told.job == job && told.name == "a")
            #expect(told.fireDate == TestScheduler.start + .seconds(3600))
        }
    }
}
