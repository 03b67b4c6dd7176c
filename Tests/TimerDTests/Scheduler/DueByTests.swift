// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

@Suite("When a fire was to begin", .timeLimit(.minutes(1))) struct DueByTests {
    @Test("A fire and its run's start say by when it was to begin, also after a restart")
    func dueBy() async throws {
        try await TestScheduler.with { test in
            var dueBy: [JobID: Timestamp] = [:]
            for command in [["true"], nil] {
                let job = try await test.add(ScheduleWords(every: "1h"), command: command) {
                    ($0.jitter, $0.tolerance) = ("30min", "1min")
                }
                dueBy[job.id] = try #require(job.dueDate) + .seconds(60)
            }
            let plain = try await test.add(ScheduleWords(every: "1h"), command: ["true"])
            try await test.advance(by: .seconds(5500))
            for (job, date) in dueBy {
                #expect(try await test.history(job).first?.dueBy == date)
                #expect(test.sink.all(.fireFired).first { $0.job == job }?.dueBy == date)
            }
            #expect(try await test.history(plain.id).first?.dueBy == nil)
            let started = test.sink.all(.runStarted)
            let dates = Set(dueBy.values)
            #expect(started.contains { $0.dueBy.map { dates.contains($0) } == true })
            // As whoever watches later is told of it.
            let source = test.store.events(after: test.scheduler)
            let page = try await source(0, nil, .init(events: 100))
            let replayed = page.events.filter { $0.type == .runStarted }
            #expect(replayed.map(\.dueBy) == started.map(\.dueBy))
            let after = try await test.crashed()
            for (job, date) in dueBy {
                #expect(try await after.history(job).first?.dueBy == date)
            }
            try await after.close()
        }
    }
}
