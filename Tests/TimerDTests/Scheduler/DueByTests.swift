// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

@Suite("When a fire was to begin", .timeLimit(.minutes(1))) struct DueByTests {
    @Test("A fire says by when it was to begin, also after a restart")
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
            let after = try await test.crashed()
            for (job, date) in dueBy {
                #expect(try await after.history(job).first?.dueBy == date)
            }
            try await after.close()
        }
    }
}
