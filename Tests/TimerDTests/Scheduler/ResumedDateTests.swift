// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

/// What watchers are told of the next date of a job that goes on after some have passed.
@Suite("Resumed dates", .timeLimit(.minutes(1))) struct ResumedDateTests {
    @Test("A job that is resumed tells when it fires next, and then what became of passed dates")
    func resumed() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "10m")) { $0.misfire = .skip }
            try await test.change(job.id, .pause)
            try await test.advance(by: .seconds(1500))
            try await test.change(job.id, .resume)
            try await test.settle()
            let told = try #require(test.sink.all(.jobResumed).first)
            #expect(told.fireDate == TestScheduler.start + .seconds(1800))
            let skipped = try #require(test.sink.all(.fireSkipped).first)
            #expect(skipped.seq == told.seq + 1)
        }
    }

    @Test("So does one that is released")
    func released() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "10m")) { $0.misfire = .skip }
            try await HeldJobsTests.change(
                test,
                "UPDATE jobs SET held = 'a reason' WHERE id = ?1",
                job.id
            )
            let after = try await test.crashedAndDown(for: .seconds(1500))
            while after.sink.all(.jobReleased).isEmpty {
                try await after.advance(by: .seconds(60))
            }
            let told = try #require(after.sink.all(.jobReleased).first)
            #expect(told.fireDate == TestScheduler.start + .seconds(1800))
            try await after.close()
        }
    }

    @Test("A job that ends as its dates are over tells none")
    func over() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(in: "10m")) { $0.misfire = .skip }
            try await test.change(job.id, .pause)
            try await test.advance(by: .seconds(1500))
            try await test.change(job.id, .resume)
            try await test.settle()
            let told = try #require(test.sink.all(.jobResumed).first)
            #expect(told.fireDate == nil)
            #expect(test.sink.all(.jobFinished).count == 1)
        }
    }
}
