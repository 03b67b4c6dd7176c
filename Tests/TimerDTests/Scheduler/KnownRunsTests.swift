// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

/// The table of what a daemon finds that was killed at any point of a run's life.
@Suite("Runs that go on without the daemon", .timeLimit(.minutes(2)))
struct KnownRunsTests {
    /// A daemon with a run in progress: its row says so, and its process is on its way.
    private func withRun(
        _ change: (inout JobDefinition) -> Void = { _ in },
        _ body: (_ test: TestScheduler, _ job: JobID, _ run: Int64) async throws -> Void
    ) async throws {
        try await TestScheduler.with { test in
            test.runner.isHolding = true
            let job = try await test.add(ScheduleWords(in: "10s"), command: ["backup"], change)
            try await test.advance(by: .seconds(11))
            let run = try #require(test.runner.requests.first?.run)
            try await body(test, job.id, run)
            test.runner.end()
        }
    }

    private func known(
        _ test: TestScheduler,
        _ run: Int64? = nil,
        _ phase: RunPhase = .running
    ) -> KnownRuns {
        var known = KnownRuns(epoch: test.runner.known.epoch)
        let started = test.clock.now().wall.microseconds
        if let run {
            known.runs[run] = KnownRun(phase: phase, pid: 77, startedAtMicroseconds: started)
        }
        return known
    }

    @Test(
        "Its row is stored, and nobody was asked to start it: it begins, once, under a number of its own"
    )
    func neverAsked() async throws {
        try await withRun { test, job, run in
            let after = try await test.crashedAndDown(for: .seconds(5), known: known(test))
            #expect(after.recovered.interrupted == 0 && after.recovered.takenUp == 0)
            #expect(after.runner.requests.map(\.argv) == [["backup"]])
            #expect(after.runner.requests.first?.environment["TIMERD_ATTEMPT"] == "1")
            let runs = try await after.history(job)
            #expect(
                runs.map(\.outcome) == [.exited] && runs.first?.id.map { $0.rawValue > run } == true
            )
            // Its event was told before.
            #expect(after.sink.all(.fireFired).isEmpty)
            try await after.close()
        }
    }

    @Test(
        "Its event may have been told, and nobody was asked to start it: it is told again as what it is"
    )
    func toldAndNeverAsked() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(in: "5s"), command: ["once"])
            // Its row is stored ahead of its date; at the date it is told before anything more is stored.
            try await test.advance(by: .milliseconds(4_995))
            let after = try await test.crashedAndDown(for: .seconds(3), known: known(test))
            #expect(after.sink.all(.fireFired).map(\.redelivered) == [true])
            let now = TestScheduler.start + .milliseconds(7_995)
            #expect(after.sink.all(.fireFired).map(\.firedAt) == [now])
            #expect(after.runner.requests.map(\.argv) == [["once"]])
            #expect(try await after.history(job.id).map(\.outcome) == [.exited])
            try await after.close()
        }
    }

    @Test(
        "Nobody was told of it or asked to start it, and its misfire rule is against it by now: it is skipped",
        arguments: [FireReason.misfire, .misfireWindow]
    )
    func missedAndNeverAsked(reason: FireReason) async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(in: "5s"), command: ["once"]) {
                if reason == .misfire { $0.misfire = .skip } else { $0.misfireWindow = "5min" }
            }
            // Its row is stored ahead of its date.
            try await test.advance(by: .milliseconds(4_995))
            let after = try await test.crashedAndDown(for: .seconds(600), known: known(test))
            try await after.advance(by: .seconds(1))
            #expect(after.runner.requests.isEmpty && after.sink.all(.fireFired).isEmpty)
            let rows = try await after.history(job.id)
            #expect(rows.map(\.state) == [.skipped] && rows.map(\.reason) == [reason])
            #expect(try await after.job(job.id).endReason == .missed)
            try await after.close()
        }
    }

    @Test("Its job was ended, and nobody was asked to start it: its row says that it never began")
    func endedAndNeverAsked() async throws {
        try await withRun { test, job, _ in
            try await test.change(job, .invalidate)
            let after = try await test.crashedAndDown(for: .seconds(5), known: known(test))
            #expect(after.runner.requests.isEmpty)
            let rows = try await after.history(job)
            #expect(rows.map(\.state) == [.done])
            #expect(rows.map(\.outcome) == [.notStarted])
            #expect(rows.first?.error == "it was ended before it began")
            try await after.close()
        }
    }

    @Test("A run that was prepared ahead of its date and never asked for begins at its date")
    func prepared() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(in: "5s"), command: ["once"])
            try await test.advance(by: .milliseconds(4_992))
            let after = try await test.crashedAndDown(for: .zero, known: known(test))
            try await after.advance(by: .milliseconds(5))
            #expect(after.runner.requests.isEmpty && after.sink.all(.fireFired).isEmpty)
            try await after.advance(by: .seconds(10))
            #expect(after.runner.requests.map(\.argv) == [["once"]])
            #expect(after.sink.all(.fireFired).map(\.redelivered) == [nil])
            #expect(try await after.history(job.id).map(\.outcome) == [.exited])
            #expect(try await after.job(job.id).state == .finished)
            try await after.close()
        }
    }

    @Test(
        "It is known, however far it has come: it is taken up, and has one row with its true end",
        arguments: [RunPhase.starting, .running, .surviving, .ended]
    )
    func takenUp(phase: RunPhase) async throws {
        try await withRun { test, job, run in
            let after = try await test.crashedAndDown(
                for: .seconds(5),
                known: known(test, run, phase)
            )
            #expect(after.recovered.interrupted == 0 && after.recovered.takenUp == 1)
            #expect(after.runner.takenUp == [run] && after.runner.requests.isEmpty)
            after.runner.end(.exited(3))
            let runs = try await after.history(job)
            #expect(runs.map(\.outcome) == [.exited] && runs.map(\.id) == [RunID(rawValue: run)])
            #expect(runs.map(\.status) == [phase == .ended ? 0 : 3])
            #expect(after.runner.stored == [run])
            #expect(after.sink.all(.runFinished).count == 1)
            try await after.close()
        }
    }

    @Test("Its end is stored, and this was not said: it is said now, and nothing else happens")
    func settled() async throws {
        try await withRun { test, job, run in
            test.runner.end()
            let runs = try await test.history(job)
            let after = try await test.crashedAndDown(
                for: .seconds(5),
                known: known(test, run, .ended)
            )
            #expect(after.runner.stored == [run] && after.runner.takenUp.isEmpty)
            #expect(try await after.history(job) == runs)
            try await after.close()
        }
    }

    @Test("Another runner knows nothing of it: it was interrupted, and is not begun again")
    func anotherRunner() async throws {
        try await withRun { test, job, _ in
            let after = try await test.crashedAndDown(for: .seconds(5), known: KnownRuns(epoch: 1))
            #expect(after.recovered.interrupted == 1)
            #expect(after.runner.requests.isEmpty)
            #expect(try await after.history(job).map(\.outcome) == [.interrupted])
            try await after.close()
        }
    }

    @Test(
        "In a copy nobody knows whether it began since: it was interrupted, says so, and is not begun again",
        arguments: [nil, "a"]
    )
    func copied(node: String?) async throws {
        try await withRun { test, job, _ in
            try await test.store.writer.write { database in
                try RunStore(database).forgetRunners()
                try database.prepare("UPDATE runs SET node = ?1").run(node)
            }
            let after = try await test.crashedAndDown(for: .seconds(5), known: known(test))
            #expect(after.recovered.interrupted == 1)
            #expect(after.runner.requests.isEmpty)
            // Of nodes a failover forgets the runners, too.
            let reason =
                node == nil
                ? "the database is a copy from while it was in progress; how it ended is not known"
                : nil
            let runs = try await after.history(job)
            #expect(runs.map(\.outcome) == [.interrupted] && runs.map(\.error) == [reason])
            #expect(after.sink.all(.runFinished).map(\.reason) == [reason])
            try await after.close()
        }
    }

    @Test("A run that is taken up keeps its job busy and has its place")
    func busy() async throws {
        let change = { @Sendable (job: inout JobDefinition) in
            job.schedule = ScheduleWords(every: "10s")
        }
        try await withRun(change) { test, job, run in
            let after = try await test.crashedAndDown(for: .zero, known: known(test, run))
            try await after.advance(by: .seconds(15))
            #expect(after.runner.requests.isEmpty)
            let places = await after.loop.ask { [scheduler = after.scheduler] in
                scheduler.assumeIsolated { $0.places.taken }
            }
            #expect(places == 1)
            after.runner.end()
            try await after.advance(by: .seconds(10))
            #expect(after.runner.requests.count == 1)
            #expect(try await after.history(job).last?.outcome == .exited)
            try await after.close()
        }
    }

    @Test("A run that is taken up and fails is tried again, as its job wants it")
    func retried() async throws {
        let change = { @Sendable (job: inout JobDefinition) in job.retries = 1 }
        try await withRun(change) { test, job, run in
            let after = try await test.crashedAndDown(for: .zero, known: known(test, run))
            after.runner.end(.exited(1))
            try await after.advance(by: .seconds(60))
            #expect(after.runner.requests.map { $0.environment["TIMERD_ATTEMPT"] } == ["2"])
            #expect(try await after.history(job).count == 2)
            try await after.close()
        }
    }

    @Test(
        "Runs that are known and of which there is no row are left alone, and their numbers are not used"
    )
    func foreign() async throws {
        try await TestScheduler.with { test in
            try await test.add(ScheduleWords(every: "10s"), command: ["x"])
            let log = RecordedLog()
            let after = try await test.crashedAndDown(
                for: .zero,
                known: known(test, 500),
                log: log.logger
            )
            #expect(after.runner.takenUp.isEmpty && after.runner.stored == [500])
            let words = "a run goes on that the database does not have in progress"
            #expect(log.all.contains { $0.contains(words) && $0.contains("run=500") })
            try await after.advance(by: .seconds(15))
            #expect(after.runner.requests.map(\.run) == [501])
            try await after.close()
        }
    }

    @Test(
        "While the runner is away commands wait, and begin once it is back; the same if it is replaced or has no room"
    )
    func away() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "10s"), command: ["x"])
            for change in [RunnerChange.away("it is gone"), .full("no room"), .replaced("0.0.9")] {
                let count = test.runner.requests.count
                await test.loop.ask { [scheduler = test.scheduler] in
                    scheduler.assumeIsolated { $0.runnerChanged(change) }
                }
                try await test.advance(by: .seconds(10))
                #expect(test.runner.requests.count == count)
                let isOpen = try await test.history(job.id).contains {
                    $0.outcome == nil && $0.id != nil
                }
                #expect(!isOpen, "no row says that it runs")
                await test.loop.ask { [scheduler = test.scheduler] in
                    scheduler.assumeIsolated {
                        if case .full = change {
                            $0.runnerChanged(.hasRoom)
                        } else {
                            $0.runnerChanged(.back(epoch: 5))
                        }
                    }
                }
                try await test.settle()
                #expect(test.runner.requests.count == count + 1)
            }
            // None of its dates was left out.
            #expect(try await test.history(job.id).map(\.outcome) == [.exited, .exited, .exited])
        }
    }

    @Test("Why the runner is away is what clients and the log are told")
    func reason() async throws {
        let log = RecordedLog()
        let folder = try TemporaryFolder()
        let test = try await TestScheduler(folder: folder.path, log: log.logger)
        let standing = { @Sendable (change: RunnerChange) async in
            await test.loop.ask { [scheduler = test.scheduler] in
                scheduler.assumeIsolated {
                    $0.runnerChanged(change)
                    return $0.runnerStanding(named: true)
                }
            }
        }
        let away = await standing(.away("the connection has ended: why"))
        #expect(away.trouble == "timerd-runner does not answer: the connection has ended: why")
        #expect(away.troubleSince == TestScheduler.start && away.pid == nil)
        let line =
            "timerd-runner does not answer; commands wait error=the connection has ended: why"
        #expect(log.all.contains(line), "\(log.all)")
        let replaced = await standing(.replaced("0.0.9"))
        #expect(replaced.trouble == "timerd-runner of another release is being replaced")
        #expect(log.all.last?.hasSuffix(" release=0.0.9") == true, "\(log.all)")
        try await test.close()
    }

    @Test(
        "Room for runs is of no use while the runner is away, nor is an answer from before it went"
    )
    func awayAgain() async throws {
        try await TestScheduler.with { test in
            try await test.add(ScheduleWords(every: "10s"), command: ["x"])
            await test.loop.ask { [scheduler = test.scheduler] in
                scheduler.assumeIsolated {
                    $0.runnerChanged(.full("too many open files"))
                    $0.runnerChanged(.away("it is gone"))
                    $0.runnerChanged(.back(epoch: 5))
                    // Before the write of that epoch is durable.
                    $0.runnerChanged(.away("it is gone again"))
                    $0.runnerChanged(.hasRoom)
                }
            }
            try await test.settle()
            try await test.advance(by: .seconds(10))
            #expect(test.runner.requests.isEmpty)
            await test.loop.ask { [scheduler = test.scheduler] in
                scheduler.assumeIsolated { $0.runnerChanged(.back(epoch: 6)) }
            }
            try await test.settle()
            #expect(test.runner.requests.map(\.epoch) == [6])
        }
    }
}
