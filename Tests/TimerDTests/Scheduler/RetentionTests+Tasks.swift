// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

extension RetentionTests {
    @Test(
        "A job keeps its newest runs and fires also where its tasks are dropped, or replaced, after an attempt",
        arguments: [false, true]
    )
    func droppedTasks(isReplaced: Bool) async throws {
        try await TestScheduler.with(keeping: Keeping(runs: 5)) { test in
            let job = try await test.add(ScheduleWords(every: "1d")) {
                ($0.queue, $0.overlap) = ("mails", isReplaced ? .replace : .allow)
            }
            for _ in 1...60 {
                _ = try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
                let task = try #require(try await test.reserve("mails").first)
                _ = try await test.tell(task) {
                    try $0.release(ReleasedTask($1), TestScheduler.root)
                }
                guard !isReplaced else { continue }
                _ = try await test.scheduler.care(TestScheduler.root) {
                    try $0.drop(.fires([task.fire]), TestScheduler.root)
                }
            }
            // The last one was not over yet as its attempt ended.
            let runs = try await Self.count(test, "SELECT count(*) FROM runs")
            #expect((5...6).contains(runs))
            #expect(try await Self.count(test, "SELECT count(*) FROM fires") <= Self.rowLimit(6))
        }
    }
}
