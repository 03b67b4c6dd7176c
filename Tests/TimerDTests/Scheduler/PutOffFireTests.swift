// SPDX-License-Identifier: Apache-2.0

import JobModel
import Schedules
import Testing
import TimerControl

@testable import TimerD

@Suite("Between a date and when jitter has it due", .timeLimit(.minutes(2)))
struct PutOffFireTests {
    /// A job each 5 s whose first date is put off by 1 s to 4 s; what a date is put off by hangs on the job's number.
    private static func add(
        to test: TestScheduler,
        command: [String]? = nil,
        _ change: (inout JobDefinition) -> Void = { _ in }
    ) async throws -> (id: JobID, due: Timestamp) {
        var found: (id: JobID, due: Timestamp)?
        for _ in 0..<50 where found == nil {
            let job = try await test.add(ScheduleWords(every: "5s"), command: command) {
                $0.jitter = "5s"
                change(&$0)
            }
            let (date, due) = (try #require(job.fireDate), try #require(job.dueDate))
            if due - date > .seconds(1), due - date < .seconds(4) {
                found = (job.id, due)
            } else {
                try await test.change(job.id, .invalidate)
            }
        }
        return try #require(found)
    }

    @Test(
        "An event that was not due at a crash is told when it is due, as one that nobody was told of"
    )
    func crash() async throws {
        try await TestScheduler.with { test in
            let job = try await Self.add(to: test)
            try await test.advance(by: .milliseconds(5_500))
            let after = try await test.crashed()
            #expect(after.recovered.redelivered == 0)
            try await after.advance(by: .milliseconds(4_400))
            let told = after.sink.all(.fireFired).filter { $0.job == job.id }
            #expect(told.map(\.firedAt) == [job.due])
            #expect(told.map(\.redelivered) == [nil])
            try await after.close()
        }
    }

    @Test(
        "An event that was not due at a crash is not told where its job is paused or ended",
        arguments: [JobChange.pause, .invalidate]
    )
    func crashThenChange(_ change: JobChange) async throws {
        try await TestScheduler.with { test in
            let job = try await Self.add(to: test)
            try await test.advance(by: .milliseconds(5_500))
            let after = try await test.crashed()
            try await after.change(job.id, change)
            try await after.advance(by: .seconds(10))
            #expect(after.fired(job.id).isEmpty)
            #expect(try await after.job(job.id).fires == 0)
            try await after.close()
        }
    }

    @Test("A fire that was claimed before it was due goes by overlap, also with misfire 'all'")
    func overlap() async throws {
        try await TestScheduler.with { test in
            test.runner.isHolding = true
            let job = try await Self.add(to: test, command: ["slow"]) { $0.misfire = .all }
            try await test.advance(by: .milliseconds(5_500))
            _ = try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
            try await test.change(job.id, .pause)
            try await test.change(job.id, .resume)
            try await test.advance(by: .milliseconds(4_400))
            #expect(try await test.history(job.id).map(\.reason) == [.overlap, .manual])
            test.runner.end()
            try await test.settle()
            #expect(test.runner.requests.count == 1)
        }
    }

    @Test("A fire that was claimed before it was due, and cannot begin in time, is a missed one")
    func misfire() async throws {
        try await TestScheduler.with { test in
            let job = try await Self.add(to: test) { $0.misfire = .skip }
            try await test.advance(by: .milliseconds(5_500))
            try await test.change(job.id, .pause)
            try await test.change(job.id, .resume)
            test.stall(.seconds(100))
            try await test.advance(by: .zero)
            #expect(try await test.history(job.id).first?.reason == .misfire)
            #expect(!test.fired(job.id).contains(5))
        }
    }
}
