// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

/// What becomes of a run that goes on though the database does not have it in progress.
@Suite("Strays", .timeLimit(.minutes(2)))
struct StrayRunsTests {
    /// What a runner says that has run 500, of which no database here knows.
    private let known: KnownRuns = {
        var known = KnownRuns(epoch: 1)
        known.runs[500] = KnownRun(phase: .running, pid: 77, startedAtMicroseconds: 0)
        return known
    }()

    @Test("A run of which there is no row is named to administrators, and ends with all others")
    func strays() async throws {
        try await TestScheduler.with { test in
            let log = RecordedLog()
            let after = try await test.crashedAndDown(
                for: .zero,
                known: known,
                log: log.logger
            )
            let named = await after.scheduler.runnerStanding(named: true)
            #expect(named.strays == [StatusReply.Stray(run: RunID(rawValue: 500), pid: 77)])
            #expect(await after.scheduler.runnerStanding(named: false).strays == nil)
            await after.scheduler.stop(.end(after: .zero))
            #expect(after.runner.takenUp == [500] && after.runner.stored == [500, 500])
            #expect(await after.scheduler.leftStrays.isEmpty)
            try await after.close()
            #expect(!log.all.contains { $0.contains("could not be ended") }, "\(log.all)")
        }
    }

    @Test(
        "run.kill of it tells an administrator what ends it, and others that there is no such run",
        arguments: [
            (77, "'kill -- -77' ends it"), (0, "'timerd --end-runs' without a daemon ends it"),
        ] as [(Int32, String)]
    )
    func kill(pid: Int32, advice: String) async throws {
        try await TestScheduler.with { test in
            var known = KnownRuns(epoch: 1)
            known.runs[500] = KnownRun(phase: .running, pid: pid, startedAtMicroseconds: 0)
            let after = try await test.crashedAndDown(for: .zero, known: known)
            let request = Request.killRun(KillRun(RunID(rawValue: 500)))
            let refusal = await after.refusal(request)
            #expect(refusal?.reason == .conflict)
            #expect(refusal?.message.contains(advice) == true, "\(refusal?.message ?? "none")")
            #expect(await after.refusal(request, as: 1000)?.reason == .notFound)
            try await after.close()
        }
    }

    @Test(
        "In a copy a run that began at another time is another database's that has the number: it is left, and named",
        arguments: [true, false]
    )
    func otherOrigin(isSame: Bool) async throws {
        try await TestScheduler.with { test in
            test.runner.isHolding = true
            let job = try await test.add(ScheduleWords(in: "10s"), command: ["backup"])
            try await test.advance(by: .seconds(11))
            let run = try #require(test.runner.requests.first?.run)
            let began = TestScheduler.start + .seconds(10)
            try await test.store.writer.write { database in
                try RunStore(database).forgetRunners()
                try RunStore(database).markStarted(RunID(rawValue: run), pid: 77, at: began)
            }
            var known = KnownRuns(epoch: test.runner.known.epoch)
            known.runs[run] = KnownRun(
                phase: .running,
                pid: 77,
                startedAtMicroseconds: (isSame ? began : began + .seconds(1)).microseconds
            )
            let after = try await test.crashedAndDown(for: .seconds(5), known: known)
            #expect(after.recovered.takenUp == (isSame ? 1 : 0))
            #expect(after.runner.takenUp == (isSame ? [run] : []))
            let strays = await after.scheduler.runnerStanding(named: true).strays
            let stray = StatusReply.Stray(run: RunID(rawValue: run), pid: 77)
            #expect(strays == (isSame ? nil : [stray]))
            after.runner.end()
            let outcomes = try await after.history(job.id).map(\.outcome)
            #expect(outcomes == [isSame ? .exited : .interrupted])
            try await after.close()
            test.runner.end()
        }
    }

    @Test("Unknown is a run without a row: none that is over here, and no try of a notice")
    func unknown() async throws {
        try await TestScheduler.with { test in
            _ = try await test.add(ScheduleWords(in: "10s"), command: ["backup"])
            try await test.advance(by: .seconds(11))
            try await test.settle()
            let over = try #require(test.runner.requests.first?.run)
            var known = known
            for run in [over, -65_537] { known.runs[run] = known.runs[500] }
            let after = try await test.crashedAndDown(for: .zero, known: known)
            let all = [-65_537, over, 500].map(RunID.init(rawValue:))
            #expect(after.recovered.strays == all)
            #expect(after.recovered.unknown == [RunID(rawValue: 500)])
            try await after.close()
        }
    }

    @Test("A daemon that leaves its runs to the next one leaves those without a row, too")
    func straysGoOn() async throws {
        try await TestScheduler.with { test in
            let after = try await test.crashedAndDown(for: .zero, known: known)
            await after.scheduler.stop(.goOn)
            #expect(after.runner.takenUp.isEmpty)
            try await after.close()
        }
    }
}
