// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

/// Names that Swift takes for one: é in one code point, and in two.
@Suite("Names in two Unicode forms", .timeLimit(.minutes(1))) struct UnicodeNamesTests {
    private static let forms = ["caf\u{e9}", "cafe\u{301}"]
    private static let (one, two) = (forms[0], forms[1])

    private static func bytes(_ names: [String]) -> [[UInt8]] { names.map { Array($0.utf8) } }

    @Test("A worker of two queues that differ in their Unicode form alone gets the tasks of both")
    func both() async throws {
        try await TestScheduler.with { test in
            for name in Self.forms {
                _ = try await test.add(ScheduleWords(in: "0s")) { $0.queue = name }
            }
            let tasks = try await test.reserve(Self.two, Self.one, count: 5)
            #expect(Self.bytes(tasks.map(\.queue)) == Self.bytes(Self.forms))
        }
    }

    @Test("A task goes to who waits for its queue, however many wait for one of another form")
    func waiting() async throws {
        try await TestScheduler.with { test in
            var others: [Task<[QueuedTask], any Error>] = []
            for number in 1...16 {
                others.append(Task { try await test.reserve(Self.one, wait: .seconds(60)) })
                // To the helper both forms are one queue.
                try await test.waits(number, for: Self.one)
            }
            async let tasks = test.reserve(Self.two, wait: .seconds(60))
            try await test.waits(17, for: Self.two)
            let job = try await test.add(ScheduleWords(in: "0s")) { $0.queue = Self.two }
            #expect(try await tasks.map(\.job) == [job.id])
            for other in others { other.cancel() }
        }
    }

    @Test("A queue's rate keeps nobody from one of another form")
    func rates() async throws {
        try await TestScheduler.with { test in
            for (name, rate) in zip(Self.forms, ["1/h", "1/min"]) {
                _ = try await test.scheduler.care(TestScheduler.root) { transaction in
                    var request = SetQueue(queue: name)
                    request.maxRate = rate
                    return try transaction.set(request, TestScheduler.root)
                }
                for _ in 0..<2 {
                    _ = try await test.add(ScheduleWords(in: "0s")) { $0.queue = name }
                }
                #expect(try await test.reserve(name).count == 1)
            }
            async let tasks = test.reserve(Self.two, wait: .seconds(3600))
            try await test.waits(1, for: Self.two)
            let slow = Task { try await test.reserve(Self.one, wait: .seconds(3600)) }
            try await test.waits(2, for: Self.one)
            try await test.advance(by: .seconds(61))
            #expect(try await tasks.count == 1)
            slow.cancel()
        }
    }

    @Test("Jobs whose keys differ in their Unicode form alone count each against the limits")
    func limits() async throws {
        try await TestScheduler.with { test in
            var settings = await test.scheduler.settings
            for (jobs, tasks) in [(1, 100), (100, 1)] {
                (settings.maxJobsPerUser, settings.maxTasksPerUser) = (jobs, tasks)
                await test.scheduler.reload(settings)
                let definitions = Self.forms.map { key in
                    var definition = JobDefinition(schedule: ScheduleWords(in: "0s"))
                    (definition.key, definition.queue) = (key, "mails")
                    return definition
                }
                let refusal = await test.refusal(.addJobs(AddJobs(definitions)), as: 1000)
                #expect(refusal?.reason == .limitReached)
            }
        }
    }

    @Test("A key is free again once its job has it in another form")
    func keys() async throws {
        try await TestScheduler.with { test in
            var ids: [Int64] = []
            for key in Self.forms + Self.forms {
                var definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
                definition.key = key
                ids += try await test.jobs(.addJobs(AddJobs([definition]))).map(\.id.rawValue)
            }
            #expect(ids == [1, 2, 1, 2])
            var definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
            definition.key = "k" + Self.one
            let job = try #require(try await test.jobs(.addJobs(AddJobs([definition]))).first)
            definition.key = "k" + Self.two
            let new = try NewJob(definition, owner: 0, at: test.clock.now(), zone: .utc)
            let changes = JobChanges(invalidate: [], change: [.init(id: job.id, to: new)], add: [])
            _ = try await test.scheduler.apply(changes, caller: TestScheduler.root)
            definition.key = "k" + Self.one
            let other = try #require(try await test.jobs(.addJobs(AddJobs([definition]))).first)
            #expect(other.id != job.id)
        }
    }

    @Test("A list may name jobs by two forms of a name, as two requests may")
    func names() async throws {
        try await TestScheduler.with { test in
            var definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
            var definitions: [JobDefinition] = []
            for name in Self.forms {
                definition.name = name
                definitions.append(definition)
            }
            let added = try await test.jobs(.addJobs(AddJobs(definitions)))
            #expect(added.count == 2)
        }
    }
}
