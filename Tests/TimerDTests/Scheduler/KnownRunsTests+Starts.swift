// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import SQLite
@testable import TimerD

/// When a run began of which the daemon hears later.
extension KnownRunsTests {
    @Test(
        "A run whose start the next daemon hears of began when it did: it was late then, or was not",
        arguments: [RunPhase.running, .ended],
        [true, false]
    )
    func startHeardLate(phase: RunPhase, isLate: Bool) async throws {
        try await TestScheduler.with { test in
            test.runner.isHolding = true
            let job = try await test.add(ScheduleWords(in: "10s"), command: ["backup"]) {
                ($0.notify, $0.notifyLate) = ([NoticeSupport.place], "2s")
            }
            try await test.advance(by: .seconds(11))
            let run = try #require(test.runner.requests.first?.run)
            // The daemon dies before it has stored that.
            try await test.store.writer.write {
                try $0.execute("UPDATE runs SET pid = NULL, started_at_us = NULL")
            }
            let began = TestScheduler.start + .seconds(isLate ? 13 : 10)
            var known = KnownRuns(epoch: test.runner.known.epoch)
            known.runs[run] = KnownRun(
                phase: phase,
                pid: 77,
                startedAtMicroseconds: began.microseconds
            )
            let after = try await test.crashedAndDown(for: .seconds(3600), known: known)
            after.runner.end()
            try await after.advance(by: .seconds(1))
            #expect(after.sink.all(.runStarted).map(\.at) == [began])
            #expect(try await after.history(job.id).map(\.startedAt) == [began])
            let told = try NoticeSupport.told(after).map { try NoticeSupport.document($0) }
            #expect(told.map(\.reason) == (isLate ? ["late"] : []))
            #expect(told.map(\.startedAt) == (isLate ? [began] : []))
            try await after.close()
            test.runner.end()
        }
    }

    @Test(
        "A fire that is told again, and whose run goes on or has ended, fired before that began",
        arguments: [RunPhase.running, .ended]
    )
    func firedBeforeStart(phase: RunPhase) async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(in: "5s"), command: ["once"])
            // Its row is stored ahead of its date; the daemon dies before it stores that it has fired.
            try await test.advance(by: .milliseconds(4_995))
            try await test.settle()
            let runs: [Int64] = try await test.store.reader.read {
                try $0.prepare("SELECT id FROM runs").all { try $0.get(0) }
            }
            let run = try #require(runs.first)
            let began = TestScheduler.start + .milliseconds(5_009)
            var known = KnownRuns(epoch: test.runner.known.epoch)
            known.runs[run] = KnownRun(
                phase: phase,
                pid: 77,
                startedAtMicroseconds: began.microseconds
            )
            let after = try await test.crashedAndDown(for: .seconds(3), known: known)
            #expect(after.sink.all(.fireFired).map(\.firedAt) == [began])
            #expect(after.sink.all(.fireFired).map(\.redelivered) == [true])
            #expect(try await after.history(job.id).map(\.firedAt) == [began])
            after.runner.end()
            try await after.close()
        }
    }

    @Test(
        "A fire that is told again fired at its date, while nobody says when its run began; it is not missed",
        arguments: [3, 600] as [Int64]
    )
    func firedAtDate(down: Int64) async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(in: "5s"), command: ["once"]) {
                $0.misfire = .skip
            }
            try await test.advance(by: .milliseconds(4_995))
            var known = KnownRuns(epoch: test.runner.known.epoch)
            known.silence = "it hangs"
            let after = try await test.crashedAndDown(for: .seconds(down), known: known)
            let date = TestScheduler.start + .seconds(5)
            #expect(after.sink.all(.fireFired).map(\.firedAt) == [date])
            #expect(try await after.history(job.id).map(\.firedAt) == [date])
            after.runner.end()
            try await after.close()
        }
    }

    @Test("A fire by hand whose run was stored and never asked for begins, and is not told again")
    func byHandAndNeverAsked() async throws {
        try await TestScheduler.with { test in
            test.runner.isHolding = true
            let job = try await test.add(ScheduleWords(every: "1h"), command: ["backup"]).id
            _ = try await test.scheduler.fire(.id(job), caller: TestScheduler.root)
            try await test.settle()
            try #require(test.runner.requests.count == 1)
            let known = KnownRuns(epoch: test.runner.known.epoch)
            let after = try await test.crashedAndDown(for: .seconds(5), known: known)
            #expect(after.runner.requests.map(\.argv) == [["backup"]])
            #expect(after.sink.all(.fireFired).isEmpty)
            #expect(try await after.history(job).map(\.outcome) == [.exited])
            try await after.close()
            test.runner.end()
        }
    }
}
