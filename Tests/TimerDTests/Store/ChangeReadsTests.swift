// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import SQLite
@testable import TimerD
@testable import Turns

@Suite("What a change of many jobs reads", .timeLimit(.minutes(1))) struct ChangeReadsTests {
    @Test("A change reads the userInfo of the jobs that it tells of, and of no others")
    func userInfo() async throws {
        try await TestScheduler.with { test in
            let info = JSONText(.string(String(repeating: "x", count: 60_000)))
            for _ in 0..<40 {
                try await test.add(ScheduleWords(in: "30d")) {
                    ($0.userInfo, $0.tags) = (info, ["many"])
                }
            }
            try await test.settle()
            /// How many operations of SQLite's machine the reading of userInfo has taken since it was asked.
            func steps() async throws -> Int32 {
                try await test.store.writer.write {
                    try $0.prepare(JobStore.SQL.userInfo).takeSteps()
                }
            }
            _ = try await steps()
            _ = try await test.scheduler.change(
                .ids([JobID(rawValue: 1)]),
                .pause,
                caller: TestScheduler.root
            )
            let one = try await steps()
            #expect(one > 0)
            for change in [JobChange.pause, .resume, .invalidate] {
                let changed = try await test.scheduler.change(
                    .tag("many"),
                    change,
                    caller: TestScheduler.root
                )
                #expect(changed.jobs.count == 40)
                #expect(changed.told == 4)
                #expect(changed.jobs.prefix(4).allSatisfy { $0.definition.userInfo == info })
                #expect(try await steps() == 5 * one, "the four, and the first without room")
            }
        }
    }

    @Test("A change writes tags only where they become others, in another Unicode form too")
    func sameTags() async throws {
        try await TestScheduler.with { test in
            /// How many operations of SQLite's machine the writing of tags has taken since it was asked.
            func steps() async throws -> Int32 {
                try await test.store.writer.write {
                    try $0.prepare(JobStore.SQL.insertTag).takeSteps()
                }
            }
            let words = ScheduleWords(every: "30d")
            let job = try await test.add(words) { $0.tags = ["a", "b"] }
            #expect(try await steps() > 0)
            for (tags, areOthers) in [
                (["a", "b"], false), (["a", "e\u{301}"], true), (["a", "\u{e9}"], true),
                (["a", "\u{e9}"], false),
            ] {
                var definition = JobDefinition(schedule: words)
                definition.tags = tags
                let new = try NewJob(definition, owner: 0, at: test.clock.now(), zone: .utc)
                let change = JobChanges.Change(id: job.id, to: new)
                let changes = JobChanges(invalidate: [], change: [change], add: [])
                _ = try await test.scheduler.apply(changes, caller: TestScheduler.root)
                let taken = try await steps()
                #expect((taken > 0) == areOthers)
            }
        }
    }

    @Test("The dates of all jobs that are skipped at once are bounded")
    func skipOfMany() async throws {
        try await TestScheduler.with { test in
            for _ in 1...11 {
                try await test.add(ScheduleWords(every: "10s")) { $0.tags = ["many"] }
            }
            let refusal = await #expect(throws: ControlError.self) {
                try await Self.skip(10_000, test)
            }
            #expect(refusal?.reason == .limitReached)
            #expect(
                refusal?.message
                    == "10000 dates of each of 11 jobs are 110000, at most 100000 are dropped at once; "
                    + "accepted is a smaller 'count', or fewer jobs"
            )
            let changed = try await Self.skip(9090, test)
            #expect(changed.jobs.count == 11)
            let date = try await test.job(JobID(rawValue: 11)).fireDate
            #expect(date == TestScheduler.start + .seconds(90_910))
        }
    }

    private static func skip(_ count: Int, _ test: TestScheduler) async throws -> ChangedJobs {
        try await test.scheduler.change(.tag("many"), .skip(count), caller: TestScheduler.root)
    }

    @Test("A job that is named twice in one selection is changed once")
    func twice() throws {
        func request(_ method: String, _ parameters: String) throws -> Request {
            let line = #"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":\#(parameters)}"#
            guard case .single(let envelope) = try RequestLine(parsing: Array(line.utf8)) else {
                throw ControlError(.internalError, "not one request")
            }
            return try envelope.request.get()
        }
        let (one, two) = (JobID(rawValue: 1), JobID(rawValue: 2))
        let ids = #"{"ids":[2,1,2,2,1]}"#
        #expect(try request("job.pause", ids) == .pauseJobs(.ids([two, one])))
        #expect(try request("job.resume", ids) == .resumeJobs(.ids([two, one])))
        #expect(
            try request("job.invalidate", ids)
                == .invalidateJobs(InvalidateJobs(.ids([two, one])))
        )
        #expect(
            try request("job.skip", ids) == .skipJobs(SkipJobs(jobs: .ids([two, one]), count: 1))
        )
        #expect(
            try request("job.apply", #"{"invalidate":[1,2,1]}"#)
                == .applyJobs(ApplyJobs(invalidate: [one, two]))
        )
        let many = try request(
            "job.pause",
            "{\"ids\":[" + Array(repeating: "7", count: 10_000).joined(separator: ",") + "]}"
        )
        #expect(RequestLoad(of: many, lineBytes: 0).kind == .write, "one job is no bulk")
    }
}
