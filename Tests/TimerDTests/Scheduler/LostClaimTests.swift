// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

/// A job whose row has lost which fire is claimed for its next date, as a bad disk may have it.
@Suite("Lost claims", .timeLimit(.minutes(2))) struct LostClaimTests {
    @Test(
        "It has its claim back with the next start, and each date fires once",
        arguments: [nil, ["true"]],
        ["NULL", "-5", "4000000000000000"]
    )
    func found(command: [String]?, claim: String) async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "4s"), command: command)
            let other = try await test.add(ScheduleWords(every: "4s"), command: command)
            try await test.advance(by: .seconds(5))
            #expect(try await test.job(job.id).claim != nil)
            try await HeldJobsTests.change(
                test,
                "UPDATE jobs SET claim_id = \(claim) WHERE id = ?1",
                job.id
            )
            let after = try await test.crashed()
            try await after.advance(by: .seconds(12))
            #expect(after.fired(job.id) == [8, 12, 16])
            #expect(after.fired(job.id) == after.fired(other.id))
            let fires = try await after.history(job.id).map(\.fireDate)
            #expect(fires.count == Set(fires).count)
            #expect(try await after.job(job.id).fires == 4)
            try await after.close()
        }
    }

    @Test("A job whose claimed fire is gone waits for its next date without one, and fires at each")
    func gone() async throws {
        try await TestScheduler.with { test in
            test.runner.isHolding = true
            let job = try await test.add(ScheduleWords(every: "4s"), command: ["sleep"]) {
                $0.overlap = .allow
            }
            try await test.advance(by: .seconds(5))
            #expect(test.runner.heldCount == 1, "only jobs of which a fire is open are looked at")
            try await HeldJobsTests.change(
                test,
                "DELETE FROM fires WHERE job_id = ?1 AND state = 'claimed'",
                job.id
            )
            let after = try await test.crashed()
            try await after.advance(by: .seconds(12))
            #expect(after.fired(job.id) == [8, 12, 16])
            #expect(try await after.job(job.id).fires == 4)
            try await after.close()
            test.runner.end()
        }
    }
}
