// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

/// What a daemon that was killed has left on its way.
extension NoticeTests {
    @Test("Tries that a daemon before has left on their way count among the two of their user")
    func leftTries() async throws {
        try await TestScheduler.with { test in
            try await NoticeSupport.holdTries(test, of: 3)
            let left = NoticeSupport.told(test).map(\.run)
            #expect(left.count == 2)
            var known = KnownRuns(epoch: test.runner.known.epoch)
            for run in left {
                known.runs[run] = KnownRun(phase: .running, pid: 77, startedAtMicroseconds: 0)
            }
            let after = try await test.crashedAndDown(for: .seconds(1), known: known)
            try await after.settle()
            #expect(NoticeSupport.told(after).isEmpty, "two of them are on their way")
            after.runner.end()
            try await after.settle()
            #expect(NoticeSupport.told(after).count == 1, "the third one has its turn")
            try await after.close()
            test.runner.end()
        }
    }

    @Test("A notice whose day passed while nobody could try it is tried some hours more")
    func dayPassed() async throws {
        try await TestScheduler.with { test in
            test.runner.answer = NoticeSupport.answers(.exited(1), told: .exited(75))
            try await test.add(ScheduleWords(in: "10s"), command: ["false"]) {
                $0.notify = [NoticeSupport.place]
            }
            try await test.advance(by: .seconds(11))
            // As after days without a daemon.
            try await test.store.writer.write {
                try $0.execute(
                    "UPDATE notices SET until_us = 0, not_before_us = not_before_us - 25200000000"
                )
            }
            try await test.advance(by: .seconds(1800))
            #expect(NoticeSupport.told(test).count == 5)
            #expect(try await NoticeSupport.waiting(test).count == 1, "its place may take it yet")
            try await test.advance(by: .seconds(7 * 3600))
            #expect(try await NoticeSupport.waiting(test).isEmpty)
            #expect(test.sink.all(.noticeFailed).count == 1)
        }
    }

    @Test("A notice whose day passed as others had their turn is not tried for ever")
    func lateTurn() async throws {
        try await TestScheduler.with { test in
            test.runner.answer = NoticeSupport.answers(.exited(1), told: .exited(75))
            try await test.add(ScheduleWords(in: "10s"), command: ["false"]) {
                $0.notify = [NoticeSupport.place]
            }
            try await test.advance(by: .seconds(11))
            try await test.store.writer.write { try $0.execute("UPDATE notices SET until_us = 0") }
            try await test.advance(by: .seconds(200))
            #expect(NoticeSupport.told(test).count == 2)
            #expect(try await NoticeSupport.waiting(test).isEmpty)
            #expect(test.sink.all(.noticeFailed).count == 1)
        }
    }
}
