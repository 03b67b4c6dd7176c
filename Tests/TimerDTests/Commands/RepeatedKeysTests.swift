// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

/// A job that is added again by its key, where a new one would be refused.
@Suite("Keys that are said again", .timeLimit(.minutes(1))) struct RepeatedKeysTests {
    private static let uid: UInt32 = 1000

    private func definition(_ key: String, _ schedule: ScheduleWords = ScheduleWords(every: "1h"))
        -> JobDefinition
    {
        var definition = JobDefinition(schedule: schedule)
        definition.key = key
        return definition
    }

    /// The numbers of those that were there.
    private func add(_ test: TestScheduler, _ definitions: [JobDefinition]) async throws -> [JobID]
    {
        let request = Request.addJobs(AddJobs(definitions))
        let reply = try await test.handler().handle(request, from: Self.uid).get()
        return try #require(reply as? JobsReply).existing ?? []
    }

    private func ids(_ numbers: Int64...) -> [JobID] { numbers.map(JobID.init(rawValue:)) }

    @Test("What is there takes no room, nor does a key that comes twice in one list")
    func room() async throws {
        try await TestScheduler.with { test in
            var settings = await test.scheduler.settings
            (settings.maxJobsPerUser, settings.maxTasksPerUser) = (3, 3)
            await test.scheduler.reload(settings)
            #expect(try await add(test, ["a", "b"].map { definition($0) }) == [])
            #expect(
                try await add(test, ["a", "b", "c", "c"].map { definition($0) }) == ids(1, 2),
                "job 3 was made by this request"
            )
            #expect(try await add(test, ["a", "c"].map { definition($0) }) == ids(1, 3))
            let more = ["a", "d"].map { definition($0) }
            await #expect(
                throws: ControlError(
                    .limitReached,
                    "uid 1000 has 3 live jobs, with 1 more it would be above maxJobsPerUser, which is 3"
                )
            ) { try await add(test, more) }

            let applied = ApplyJobs(add: ["b", "c"].map { definition($0) })
            let reply = try await test.handler().handle(.applyJobs(applied), from: Self.uid).get()
            #expect(try #require(reply as? ApplyReply).existing == ids(2, 3))
        }
    }

    @Test("Who has more jobs than a lowered limit repeats a key and replaces a job, and adds none")
    func lowered() async throws {
        try await TestScheduler.with { test in
            var named = definition("c")
            named.name = "c"
            #expect(try await add(test, [definition("a"), definition("b"), named]) == [])
            var settings = await test.scheduler.settings
            settings.maxJobsPerUser = 2
            await test.scheduler.reload(settings)

            #expect(try await add(test, ["a", "b"].map { definition($0) }) == ids(1, 2))
            named.key = nil
            let replaced = Request.addJobs(AddJobs([named], replace: true))
            let reply = try await test.handler().handle(replaced, from: Self.uid).get()
            #expect(try #require(reply as? JobsReply).jobs.map(\.id) == ids(3))
            let more = [definition("a"), definition("d")]
            await #expect(
                throws: ControlError(
                    .limitReached,
                    "uid 1000 has 3 live jobs, with 1 more it would be above maxJobsPerUser, which is 2"
                )
            ) { try await add(test, more) }
        }
    }

    @Test(
        "A key that is said again and again is refused where much would be told of its job, and nothing is stored"
    )
    func toldAgain() async throws {
        try await TestScheduler.with { test in
            var large = definition("large")
            large.userInfo = JSONText(.string(String(repeating: "x", count: 60_000)))
            let again = Array(repeating: definition("large"), count: 40)
            #expect(try await add(test, [large]) == [])
            let few = try await add(test, Array(again.prefix(10)))
            #expect(few.count == 10)
            let same = try await add(test, Array(repeating: large, count: 40))
            #expect(same.count == 40, "the request says as much itself")
            let refusals: [Request] = [
                .addJobs(AddJobs([definition("new")] + again)),
                .applyJobs(ApplyJobs(add: [definition("new")] + again)),
            ]
            for request in refusals {
                let error = ControlError(
                    .limitReached,
                    "job 1 has the key 'large': the answer would tell more of jobs that are there than the "
                        + "request says of its own and 1048576 bytes; name fewer of them at once"
                )
                await #expect(throws: error) {
                    try await test.handler().handle(request, from: Self.uid).get()
                }
            }
            #expect(try await add(test, [definition("new")]) == [], "it was not stored")
        }
    }

    @Test("Several definitions of one key are one task")
    func tasks() async throws {
        try await TestScheduler.with { test in
            var settings = await test.scheduler.settings
            settings.maxTasksPerUser = 1
            await test.scheduler.reload(settings)
            var task = definition("a", ScheduleWords(in: "0s"))
            task.queue = "mails"
            let tasks = [task, task, task]
            let first = try await add(test, tasks)
            #expect(first == [], "it was not there before")
            #expect(try await add(test, tasks) == ids(1, 1, 1))
            #expect(try await test.queue("mails")?.ready == 1)
        }
    }

    @Test("A name comes twice in a list where both are one job")
    func names() async throws {
        try await TestScheduler.with { test in
            var job = definition("a")
            job.name = "one"
            #expect(try await add(test, [job, job]) == [])
            var other = job
            other.key = nil
            other.name = "other"
            job.name = "other"
            let beside = try await add(test, [other, job])
            #expect(beside == ids(1), "it is there, whatever else has its name")
            job.key = "b"
            for list in [[job], [job, other]] {
                await #expect(throws: ControlError.self) { try await add(test, list) }
            }
        }
    }

    @Test("A date that has passed since is no reason to refuse what is there")
    func passed() async throws {
        try await TestScheduler.with { test in
            var at = definition("at", ScheduleWords(at: "2026-12-01T08:00:05Z"))
            at.misfireAfter = "1s"
            var until = definition("until", ScheduleWords(in: "0s"))
            (until.queue, until.until) = ("mails", "2026-12-01T08:00:05Z")
            #expect(try await add(test, [at, until]) == [])
            try await test.advance(by: .seconds(60))
            #expect(try await add(test, [at, until]) == ids(1, 2))

            at.key = "other"
            await #expect(
                throws: ControlError(
                    .badSchedule,
                    "jobs[1]: the date '2026-12-01T08:00:05.000000Z' has passed, 55s ago; "
                        + "misfire 'once' would make up for it at once"
                )
            ) { try await add(test, [until, at]) }
        }
    }
}
