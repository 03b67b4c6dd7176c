// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

/// Who is told of what was done to a job sees whether an administrator has done it, or its owner.
@Suite("Asked by", .timeLimit(.minutes(1))) struct AskedByTests {
    private static let owner: UInt32 = 1001

    /// All that may be asked for of a job that repeats, in an order in which each changes it.
    private static func requests(_ job: Job, at now: Timestamp) -> [Request] {
        let these = JobSelection.ids([job.id])
        return [
            .pauseJobs(these), .resumeJobs(these), .beginMaintenance(job.owner),
            .endMaintenance(job.owner),
            .setFireDate(SetFireDate(job: .id(job.id), fireDate: (now + .seconds(600)).rfc3339)),
            .skipJobs(SkipJobs(jobs: these, count: 1)), .invalidateJobs(InvalidateJobs(these)),
            .restoreJobs(these), .invalidateJobs(InvalidateJobs(these)),
        ]
    }

    private static let types: [Event.Kind] = [
        .jobAdded, .jobPaused, .jobResumed, .jobPaused, .jobResumed, .jobRescheduled, .fireSkipped,
        .jobInvalidated, .jobRestored, .jobInvalidated,
    ]

    private static func told(_ test: TestScheduler) async throws -> [Event] {
        try await test.settle()
        let source = test.store.events(after: test.scheduler)
        return try await source(0, nil, .init(events: 100)).events
    }

    @Test(
        "Each event of a request says so where its job is another user's, also when it is told again",
        arguments: [0, 1001] as [UInt32]
    )
    func events(asker: UInt32) async throws {
        try await TestScheduler.with { test in
            var definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
            definition.name = "hers"
            let add = Request.addJobs(AddJobs(definition))
            let job = try #require(try await test.jobs(add, as: Self.owner).first)
            for request in Self.requests(job, at: test.clock.now().wall) {
                _ = try await test.handler().handle(request, from: asker).get()
            }
            try await test.settle()
            let by: String? = asker == Self.owner ? nil : "administrator"
            #expect(test.sink.all.map(\.type) == Self.types)
            #expect(test.sink.all.map(\.by) == [nil] + Self.types.dropFirst().map { _ in by })
            let replayed = try await Self.told(test)
            #expect(replayed.map(\.by) == test.sink.all.map(\.by))

            // The answers, and what is read afterwards.
            let shown = try await test.jobs(.getJob(.id(job.id)), as: Self.owner)
            #expect(shown.map(\.endedBy) == [by])
            let again = try await test.jobs(.restoreJobs(.ids([job.id])), as: Self.owner)
            #expect(again.map(\.endedBy) == [nil])
        }
    }

    @Test("What a crash left untold says it too")
    func crashed() async throws {
        try await TestScheduler.with { test in
            let definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
            let add = Request.addJobs(AddJobs(definition))
            let job = try #require(try await test.jobs(add, as: Self.owner).first)
            let moment = test.clock.now()
            // Stored, and told by nobody.
            try await test.store.writer.write { database in
                var writer = JobTransaction(database, at: moment, horizon: .distantPast)
                _ = try writer.change(.ids([job.id]), .pause, caller: TestScheduler.root)
                _ = try writer.finish()
            }
            let next = try await test.crashed()
            let paused = next.sink.all(.jobPaused)
            #expect(paused.map(\.by) == ["administrator"])
            #expect(paused.map(\.redelivered) == [true])
            try await next.close()
        }
    }

    @Test("What nobody has asked for is by nobody: a fire, its run, and the end of a schedule")
    func byItself() async throws {
        try await TestScheduler.with { test in
            var definition = JobDefinition(schedule: ScheduleWords(in: "10s"))
            definition.command = ["x"]
            _ = try await test.jobs(.addJobs(AddJobs(definition)), as: Self.owner)
            try await test.advance(by: .seconds(20))
            #expect(!test.sink.all(.runFinished).isEmpty)
            #expect(test.sink.all.allSatisfy { $0.by == nil })
        }
    }

    @Test(
        "The event of a run's end says whether it was a failure by the job's rules, also when it is told again",
        arguments: [(0, true), (3, false), (4, true)] as [(Int32, Bool)]
    )
    func failed(status: Int32, isFailure: Bool) async throws {
        try await TestScheduler.with { test in
            test.runner.outcome = .exited(status)
            var definition = JobDefinition(schedule: ScheduleWords(in: "10s"))
            (definition.command, definition.successCodes) = (["x"], [3])
            _ = try await test.jobs(.addJobs(AddJobs(definition)), as: 0)
            try await test.advance(by: .seconds(20))
            #expect(test.sink.all(.runFinished).map(\.failed) == [isFailure])
            let replayed = try await Self.told(test)
            #expect(replayed.filter { $0.type == .runFinished }.map(\.failed) == [isFailure])
            #expect(replayed.filter { $0.type != .runFinished }.allSatisfy { $0.failed == nil })
        }
    }
}
