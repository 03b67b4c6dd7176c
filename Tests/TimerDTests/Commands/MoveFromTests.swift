// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

@Suite("A move, or a skip, that says from where", .timeLimit(.minutes(1))) struct MoveFromTests {
    @Test("A date that somebody else has moved meanwhile stays", arguments: ["1h", "2h"])
    func from(_ every: String) async throws {
        try await TestScheduler.with { test in
            let definition = JobDefinition(schedule: ScheduleWords(every: every))
            let job = try await test.jobs(.addJobs(AddJobs(definition)), as: 0)[0]
            let seen = try #require(job.fireDate)
            func request(_ seconds: Int64, from: Timestamp?) -> Request {
                let date = (TestScheduler.start + .seconds(seconds)).rfc3339
                return .setFireDate(
                    SetFireDate(job: .id(job.id), fireDate: date, from: from)
                )
            }
            #expect(await test.refusal(request(600, from: seen), as: 0) == nil)
            // It was made of the date before.
            let refusal = await test.refusal(request(900, from: seen), as: 0)
            #expect(refusal?.reason == .conflict)
            let moved = TestScheduler.start + .seconds(600)
            #expect(
                refusal?.message.contains("'\(moved.rfc3339)', not at '\(seen.rfc3339)'") == true
            )
            #expect(await test.refusal(request(900, from: moved), as: 0) == nil)
            #expect(await test.refusal(request(1200, from: nil), as: 0) == nil)
        }
    }

    @Test(
        "A date of elapsed time may be seen off by less than a second, one of the wall clock by nothing",
        arguments: [true, false]
    )
    func seenOff(isElapsed: Bool) async throws {
        try await TestScheduler.with { test in
            let words =
                isElapsed ? ScheduleWords(every: "1h") : ScheduleWords(cron: "0 * * * *")
            let definition = JobDefinition(schedule: words)
            let job = try await test.jobs(.addJobs(AddJobs(definition)), as: 0)[0]
            let date = try #require(job.fireDate)
            func refusal(seen: Timestamp) async -> ControlError.Reason? {
                let later = (TestScheduler.start + .seconds(1800)).rfc3339
                let move = SetFireDate(job: .id(job.id), fireDate: later, from: seen)
                return await test.refusal(.setFireDate(move), as: 0)?.reason
            }
            #expect(await refusal(seen: date - .seconds(1)) == .conflict)
            #expect(await refusal(seen: date + .seconds(1)) == .conflict)
            let near = date + TimeSpan(microseconds: 999_999)
            #expect(await refusal(seen: near) == (isElapsed ? nil : .conflict))
            if !isElapsed { #expect(await refusal(seen: date) == nil) }
        }
    }

    @Test(
        "A date may be moved up to its job's until, and no further",
        arguments: [ScheduleWords(every: "1h"), ScheduleWords(cron: "0 * * * *")]
    )
    func until(_ words: ScheduleWords) async throws {
        try await TestScheduler.with { test in
            let end = TestScheduler.start + .seconds(7200)
            var definition = JobDefinition(schedule: words)
            definition.until = end.rfc3339
            let job = try await test.jobs(.addJobs(AddJobs(definition)), as: 0)[0]
            func request(_ date: Timestamp) -> Request {
                .setFireDate(SetFireDate(job: .id(job.id), fireDate: date.rfc3339))
            }
            let refusal = await test.refusal(request(end + .seconds(1)), as: 0)
            #expect(refusal?.reason == .badSchedule)
            #expect(refusal?.message.contains("after the job's until '\(end.rfc3339)'") == true)
            #expect(try await test.jobs(.getJob(.id(job.id)), as: 0)[0].fireDate == job.fireDate)
            #expect(try await test.jobs(request(end), as: 0)[0].fireDate == end)
        }
    }

    @Test("Dates are dropped from the one that was seen, and none in its place", arguments: [1, 3])
    func skip(_ count: Int) async throws {
        try await TestScheduler.with { test in
            let definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
            let job = try await test.jobs(.addJobs(AddJobs(definition)), as: 0)[0]
            let other = try await test.jobs(.addJobs(AddJobs(definition)), as: 0)[0]
            let seen = try #require(job.fireDate)
            func request(_ ids: [JobID]) -> Request {
                .skipJobs(SkipJobs(jobs: .ids(ids), count: count, from: seen))
            }
            let skipped = try await test.jobs(request([job.id]), as: 0)[0].fireDate
            #expect(skipped == seen + .seconds(Int64(3600 * count)))
            // Sent again it would drop others; and of several jobs all stay as they are.
            for ids in [[job.id], [other.id, job.id]] {
                let refusal = await test.refusal(request(ids), as: 0)
                #expect(refusal?.reason == .conflict)
                #expect(refusal?.message.contains("not at '\(seen.rfc3339)'") == true)
            }
            #expect(try await test.jobs(request([other.id]), as: 0)[0].fireDate == skipped)
        }
    }

    @Test("The date is read and written as it is")
    func wire() throws {
        let from = TestScheduler.start + .seconds(5)
        let request = Request.setFireDate(
            SetFireDate(job: .name("a"), fireDate: "+10m", from: from)
        )
        let line = try RequestLine(parsing: try request.line(id: .integer(7)))
        #expect(line == .single(RequestEnvelope(id: .integer(7), request: .success(request))))
    }
}
