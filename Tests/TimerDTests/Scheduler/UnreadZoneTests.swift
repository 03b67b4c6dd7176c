// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

@Suite("A zone whose file cannot be read now", .timeLimit(.minutes(2)))
struct UnreadZoneTests {
    @Test("It holds no job as if it were gone: jobs go on by the rules that they have")
    func stays() async throws {
        let zones = TestZones()
        try await TestScheduler.with(zones: zones) { test in
            let words = ScheduleWords(cron: "0 12 * * *", tz: "Europe/Berlin")
            let job = try await test.add(words)
            zones.leaveUnread("Europe/Berlin")
            await test.scheduler.reload(test.scheduler.settings)
            try await test.settle()
            #expect(try await test.job(job.id).held == nil)
            try await test.advance(by: .seconds(4 * 3600))
            #expect(test.fired(job.id) == [3 * 3600])
        }
    }

    @Test("A request is told that a limit was reached, not that its words are wrong")
    func reason() {
        let error = ScheduleError(.unreadZone, "zone 'X' cannot be read now: too many open files")
        #expect(ControlError(error).reason == .limitReached)
        #expect(ControlError(ScheduleError(.badZone, "zone 'X' is unknown")).reason == .badSchedule)
    }
}
