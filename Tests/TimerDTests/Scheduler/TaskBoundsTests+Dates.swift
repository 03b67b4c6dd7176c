// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

/// Dates of whoever has as many tasks as may be.
extension TaskBoundsTests {
    @Test(
        "With maxTasksPerUser tasks the dates of a job that repeats are skipped; one that fires once, and root, have theirs"
    )
    func dates() async throws {
        try await TestScheduler.with { test in
            var settings = await test.scheduler.settings
            settings.maxTasksPerUser = 2
            await test.scheduler.reload(settings)
            func add(_ words: ScheduleWords, of uid: UInt32) async throws -> JobID {
                var definition = JobDefinition(schedule: words)
                (definition.queue, definition.overlap) = ("mails", .allow)
                let new = try NewJob(definition, owner: uid, at: test.clock.now(), zone: .utc)
                let caller = Caller(uid: uid, isAdministrator: uid == 0)
                return try await test.scheduler.add([new], replace: false, caller: caller)[0].id
            }
            let repeating = try await add(ScheduleWords(every: "10s"), of: 1000)
            let once = try await add(ScheduleWords(in: "35s"), of: 1000)
            let root = try await add(ScheduleWords(every: "10s"), of: 0)
            try await test.advance(by: .seconds(41))
            #expect(test.fired(repeating) == [10, 20])
            #expect(try await test.history(repeating).count { $0.reason == .overload } == 2)
            #expect(test.fired(once) == [35])
            #expect(test.fired(root) == [10, 20, 30, 40])
        }
    }
}
