// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

@Suite("job.apply", .timeLimit(.minutes(1))) struct ApplyJobsTests {
    static func definition(
        _ schedule: ScheduleWords = ScheduleWords(every: "10s"),
        _ change: (inout JobDefinition) -> Void = { _ in }
    ) -> JobDefinition {
        var definition = JobDefinition(schedule: schedule)
        definition.name = "sync"
        definition.command = ["old"]
        change(&definition)
        return definition
    }

    func add(_ test: TestScheduler, _ definition: JobDefinition) async throws -> Job {
        let reply = try await test.handler().handle(.addJobs(AddJobs(definition)), from: 0).get()
        return try #require(reply as? JobReply).job
    }

    @discardableResult
    func apply(
        _ test: TestScheduler,
        _ request: ApplyJobs,
        as uid: UInt32 = 0
    ) async throws -> ApplyReply {
        try #require(
            try await test.handler().handle(.applyJobs(request), from: uid).get() as? ApplyReply
        )
    }

    func revision(_ job: Job, _ definition: JobDefinition) -> ApplyJobs {
        ApplyJobs(change: [JobRevision(id: job.id, definition: definition)])
    }

    func commands(_ test: TestScheduler) -> [String] {
        test.runner.requests.map { $0.argv[0] }
    }

    @Test("What would have no effect is refused, added or changed")
    func withoutEffect() async throws {
        try await TestScheduler.with { test in
            let job = try await add(test, Self.definition { $0.retries = 3 })
            let event = Self.definition { ($0.name, $0.command, $0.retries) = ("event", nil, 3) }
            let expected =
                "'retries' is stated, expected none without 'command' or 'queue', "
                + "for whose runs or tasks it is"
            await #expect(throws: ControlError(.invalidParams, "parameter \(expected)")) {
                try await add(test, event)
            }
            let inList = ControlError(.invalidParams, "change[0]: parameter \(expected)")
            await #expect(throws: inList) { try await apply(test, revision(job, event)) }
        }
    }

    @Test("A first date that was said by how far off it is stays where it is as the job is changed")
    func relativeWords() async throws {
        try await TestScheduler.with { test in
            let words = ScheduleWords(every: "10s", from: "+5s")
            let job = try await add(test, Self.definition(words) { $0.count = 10 })
            #expect(job.definition.schedule.from == "2026-12-01T08:00:05.000000Z")
            try await test.advance(by: .seconds(6))
            var definition = job.definition
            definition.command = ["new"]
            let changed = try await apply(test, revision(job, definition)).changed
            #expect(changed.map(\.fires) == [1])
            #expect(changed.first?.fireDate == TestScheduler.start + .seconds(15))
            let once = try await add(
                test,
                Self.definition(ScheduleWords(at: "+1h")) { $0.name = "at" }
            )
            #expect(once.definition.schedule.at == "2026-12-01T09:00:06.000000Z")
        }
    }

    @Test(
        "A job whose schedule stays keeps its id, its grid and its history, however it is spelled"
    )
    func inPlace() async throws {
        try await TestScheduler.with { test in
            let job = try await add(test, Self.definition())
            try await test.advance(by: .seconds(24))
            let new = Self.definition(ScheduleWords(every: "10000ms")) {
                $0.command = ["new"]
                $0.tags = ["net"]
                $0.env = ["A": "1"]
            }
            let changed = try await apply(test, revision(job, new)).changed
            #expect(changed.map(\.id) == [job.id])
            #expect(changed.first?.fireDate == TestScheduler.start + .seconds(30))
            #expect(changed.first?.fires == 2)
            try await test.advance(by: .seconds(10))
            #expect(commands(test) == ["old", "old", "new"])
            #expect(test.runner.requests.last?.environment["A"] == "1")
            #expect(test.fired(job.id) == [10, 20, 30])
            #expect(try await test.history(job.id).count == 3)
            #expect(test.sink.all(.jobChanged).map(\.job) == [job.id])
            var filter = ListJobs()
            filter.tag = "net"
            let list = try await test.handler().handle(.listJobs(filter), from: 0).get()
            #expect((list as? JobsReply)?.jobs.map(\.id) == [job.id])
        }
    }

    @Test("A change right before a date, its run made ready, fires that date once, as changed")
    func atDate() async throws {
        try await TestScheduler.with { test in
            let job = try await add(test, Self.definition())
            try await test.advance(by: .milliseconds(9_995))
            try await test.settle()
            try await apply(test, revision(job, Self.definition { $0.command = ["new"] }))
            try await test.advance(by: .seconds(1))
            #expect(commands(test) == ["new"])
            #expect(test.fired(job.id) == [10])
        }
    }

    @Test("A date that comes while the change is made fires late, as changed")
    func dateDuringChange() async throws {
        try await TestScheduler.with { test in
            let job = try await add(test, Self.definition())
            try await test.advance(by: .milliseconds(9_995))
            test.stall(.milliseconds(10))
            try await apply(test, revision(job, Self.definition { $0.command = ["new"] }))
            try await test.advance(by: .seconds(1))
            #expect(commands(test) == ["new"])
            #expect(test.fired(job.id) == [10])
        }
    }

    @Test("With another schedule it is the same job, with its history")
    func otherSchedule() async throws {
        try await TestScheduler.with { test in
            let job = try await add(test, Self.definition(ScheduleWords(cron: "* * * * *")))
            try await test.advance(by: .seconds(60))
            let new = Self.definition(ScheduleWords(cron: "*/2 * * * *"))
            let changed = try #require(try await apply(test, revision(job, new)).changed.first)
            #expect(changed.id == job.id)
            #expect(changed.fireDate == TestScheduler.start + .seconds(120))
            try await test.advance(by: .seconds(240))
            #expect(test.fired(job.id) == [60, 120, 240])
            #expect(try await test.history(job.id).map(\.state).count == 3)
        }
    }

    @Test("A date that the old job has fired while the change was on its way is not fired again")
    func firedMeanwhile() async throws {
        try await TestScheduler.with { test in
            let job = try await add(test, Self.definition(ScheduleWords(cron: "* * * * *")))
            try await test.advance(by: .milliseconds(59_900))
            // Read before the date, written behind it.
            let new = try NewJob(
                Self.definition(ScheduleWords(cron: "*/1 * * * *")),
                owner: 0,
                at: test.clock.now(),
                zone: .utc
            )
            try await test.advance(by: .milliseconds(200))
            let applied = try await test.scheduler.apply(
                JobChanges(invalidate: [], change: [.init(id: job.id, to: new)], add: []),
                caller: TestScheduler.root
            )
            let next = try #require(applied.changed.first)
            try await test.advance(by: .seconds(60))
            #expect(next.id == job.id)
            #expect(test.fired(job.id) == [60, 120])
        }
    }

    @Test(
        "A change of what somebody else has changed meanwhile is refused, and told what was found"
    )
    func revisions() async throws {
        try await TestScheduler.with { test in
            let job = try await add(test, Self.definition())
            #expect(job.revision == 1)
            let first = JobRevision(of: job, Self.definition { $0.command = ["first"] })
            let changed = try await apply(test, ApplyJobs(change: [first])).changed
            #expect(changed.map(\.revision) == [2])
            // Another schedule, and a name: each is a revision.
            let other = Self.definition(ScheduleWords(every: "20s")) { $0.name = "other" }
            let second = JobRevision(of: job, other)
            for isDryRun in [true, false] {
                await #expect(
                    throws: ControlError(
                        .conflict,
                        "job 1 (sync) was changed by another request: it has revision 2, and this "
                            + "change was made of 1; nothing was done, so look at it again and repeat"
                    )
                ) { try await apply(test, ApplyJobs(change: [second], dryRun: isDryRun)) }
            }
            let third = JobRevision(of: changed[0], other)
            #expect(
                try await apply(test, ApplyJobs(change: [third])).changed.map(\.revision) == [3]
            )
            // Who does not say what it was made of changes what there is.
            let blind = JobRevision(id: job.id, definition: other)
            #expect(
                try await apply(test, ApplyJobs(change: [blind])).changed.map(\.revision) == [4]
            )
            let crashed = try await test.crashed()
            #expect(try await crashed.job(job.id).definitionRevision == 4)
            try await crashed.close()
        }
    }

    @Test("All of it happens or nothing, and after the answer it survives a crash")
    func allOrNothing() async throws {
        try await TestScheduler.with { test in
            let job = try await add(test, Self.definition())
            let taken = try await add(test, Self.definition { $0.name = "taken" })
            var request = revision(job, Self.definition { $0.command = ["new"] })
            request.add = [
                Self.definition { $0.name = "a" }, Self.definition { $0.name = "taken" },
            ]
            await #expect(throws: ControlError.self) { try await apply(test, request) }
            #expect(try await test.job(job.id).definition.command == ["old"])
            request.invalidate = [taken.id]
            let reply = try await apply(test, request)
            #expect(reply.invalidated.map(\.id) == [taken.id])
            #expect(reply.added.map(\.definition.name) == ["a", "taken"])
            let crashed = try await test.crashed()
            #expect(try await crashed.job(job.id).definition.command == ["new"])
            #expect(try await crashed.job(taken.id).state == .invalidated)
            try await crashed.advance(by: .seconds(10))
            #expect(commands(crashed).sorted() == ["new", "old", "old"])
            try await crashed.close()
        }
    }

    @Test("A fire that waits for its next attempt makes it as the job is by then")
    func retry() async throws {
        try await TestScheduler.with { test in
            let failing = { (definition: inout JobDefinition) in
                definition.retries = 1
                definition.backoff = "4s..4s"
            }
            let job = try await add(test, Self.definition(ScheduleWords(every: "1h"), failing))
            test.runner.outcome = .exited(1)
            try await test.advance(by: .seconds(3600))
            try await test.settle()
            #expect(commands(test) == ["old"])
            let new = Self.definition(ScheduleWords(every: "1h")) {
                failing(&$0)
                $0.cwd = "/tmp"
            }
            try await apply(test, revision(job, new))
            try await test.advance(by: .seconds(5))
            #expect(commands(test) == ["old", "old"])
            #expect(test.runner.requests.last?.workingDirectory == "/tmp")
        }
    }

    @Test("A pause is part of a job where it is said, else the business of whoever pauses")
    func pause() async throws {
        try await TestScheduler.with { test in
            let job = try await add(test, Self.definition())
            try await test.change(job.id, .pause)
            try await apply(test, revision(job, Self.definition { $0.nice = 1 }))
            #expect(try await test.job(job.id).state == .paused)
            try await apply(test, revision(job, Self.definition { $0.paused = false }))
            #expect(try await test.job(job.id).state == .scheduled)
            try await apply(test, revision(job, Self.definition { $0.paused = true }))
            #expect(try await test.job(job.id).state == .paused)
            try await apply(test, revision(job, Self.definition()))
            #expect(try await test.job(job.id).state == .scheduled)
            #expect(test.sink.all(.jobPaused).count == 2)
            #expect(test.sink.all(.jobResumed).count == 2)
        }
    }

    @Test(
        "A pause by hand is none of the definition's, though that asked for one, ended or not",
        arguments: [true, false]
    )
    func pauseByHand(isEnded: Bool) async throws {
        try await TestScheduler.with { test in
            let job = try await add(test, Self.definition { $0.paused = true })
            if isEnded { try await test.change(job.id, .resume) }
            #expect(try await test.job(job.id).definition.paused == (isEnded ? nil : true))
            try await test.change(job.id, .pause)
            #expect(try await test.job(job.id).definition.paused == nil)
            let after = try await test.crashed()
            try await apply(after, revision(job, Self.definition { $0.nice = 1 }))
            #expect(try await after.job(job.id).state == .paused)
            // Declared again, it is the definition's.
            try await apply(after, revision(job, Self.definition { $0.paused = true }))
            try await apply(after, revision(job, Self.definition()))
            #expect(try await after.job(job.id).state == .scheduled)
            #expect(try await after.job(job.id).definitionRevision == 4)
            try await after.close()
        }
    }

    @Test("A job that has fired as often as it now may is finished")
    func count() async throws {
        try await TestScheduler.with { test in
            let job = try await add(test, Self.definition())
            try await test.advance(by: .seconds(25))
            try await apply(test, revision(job, Self.definition { $0.count = 2 }))
            #expect(try await test.job(job.id).endReason == .count)
            try await test.advance(by: .seconds(25))
            #expect(test.fired(job.id) == [10, 20])
        }
    }

    @Test("Nobody changes another user's job, and nobody but its owner learns of it")
    func strangers() async throws {
        try await TestScheduler.with { test in
            let job = try await add(test, Self.definition())
            var refusal: ControlError?
            do {
                try await apply(test, revision(job, Self.definition()), as: 70_001)
            } catch let error as ControlError {
                refusal = error
            }
            #expect(refusal == ControlError.noJob(job.id))
        }
    }

    @Test(
        "What cannot be applied is refused with the reason",
        arguments: [
            (Self.definition { $0.name = "other" }, "job 1 has the name 'other'"),
            (
                Self.definition { $0.whileConnected = true },
                "change[0]: 'whilePid' and 'whileConnected' are accepted by job.add alone"
            ),
            (Self.definition(ScheduleWords(every: "0s")), "change[0]: duration '0s' is too short"),
        ]
    )
    func refusals(new: JobDefinition, message: String) async throws {
        try await TestScheduler.with { test in
            _ = try await add(test, Self.definition { $0.name = "other" })
            let job = try await add(test, Self.definition())
            let answer = await test.handler().handle(.applyJobs(revision(job, new)), from: 0)
            guard case .failure(let error) = answer else {
                Issue.record("was accepted")
                return
            }
            #expect(error.message.hasPrefix(message))
        }
    }
}
