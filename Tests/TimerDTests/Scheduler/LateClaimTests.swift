// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import JobModel
@testable import TimerD

/// The fire that stands for dates that have passed, between its claim and its begin.
@Suite("Late claims", .timeLimit(.minutes(1))) struct LateClaimTests {
    @Test("A change that releases it leaves for how many dates it stands, and counts on")
    func released() async throws {
        try await TestScheduler.with { test in
            let id = try await test.add(ScheduleWords(every: "10s")).id
            try await test.settle()
            let now = test.clock.now()
            let missed = try await test.store.writer.write { database in
                try [Int64(35), 36, 55, 56, 75].map { seconds -> Int? in
                    var moment = now
                    moment.elapsed += .seconds(seconds)
                    var write = JobTransaction(
                        database,
                        at: moment,
                        horizon: moment.elapsed + .seconds(1)
                    )
                    guard var job = try write.job(id) else { return nil }
                    try write.releaseClaim(of: &job)
                    return try write.resolveAndPut(job).claim?.missed
                }
            }
            #expect(missed == [2, 2, 4, 4, 6])
        }
    }
}
