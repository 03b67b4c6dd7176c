// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

extension NoticeTests {
    @Test("Dates that a user has paused over are told to nobody, beyond what is made up for either")
    func pausedOver() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "1s"), command: ["true"]) {
                ($0.notify, $0.misfire, $0.overlap) = ([NoticeSupport.place], .all, .allow)
            }
            try await test.change(job.id, .pause)
            try await test.advance(by: .seconds(200))
            try await test.change(job.id, .resume)
            try await test.advance(by: .seconds(2))
            try await test.settle()
            let skipped = await test.scheduler.measures().counters.skipped["misfireLimit"] ?? 0
            #expect(skipped > 50)
            #expect(try await NoticeSupport.waiting(test).isEmpty)
            #expect(NoticeSupport.told(test).isEmpty)
        }
    }
}
