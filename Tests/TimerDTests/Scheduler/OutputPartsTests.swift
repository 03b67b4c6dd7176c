// SPDX-License-Identifier: Apache-2.0

import Dispatch
import JobModel
import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

/// What happens while much output of a run that has ended is stored, a few parts at a time.
@Suite("Much output that is being stored", .timeLimit(.minutes(2)))
struct OutputPartsTests {
    /// Twelve writes store it, and one more the end.
    private static let written = (0..<3 << 20).map { UInt8(truncatingIfNeeded: $0 / 1000) }

    /// Adds a job whose run goes on, and is to write much.
    private static func begin(
        _ test: TestScheduler,
        _ change: (inout JobDefinition) -> Void = { _ in }
    ) async throws -> (StoredJob, RunID) {
        test.runner.isHolding = true
        test.runner.output = CapturedOutput(stdout: written)
        let job = try await test.add(ScheduleWords(in: "1s"), command: ["x"]) {
            $0.outputKept = "16M"
            change(&$0)
        }
        try await test.advance(by: .seconds(2))
        try await test.settle()
        return (job, RunID(rawValue: try #require(test.runner.requests.last?.run)))
    }

    /// Ends the run while the store stands still, with the first parts in its queue.
    private static func end(
        _ run: RunID,
        _ test: TestScheduler,
        _ outcome: RunOutcome = .exited(0)
    ) async -> DispatchSemaphore {
        let gate = SchedulerAheadTests.stall(test)
        test.runner.isHolding = false
        test.runner.end(outcome)
        while await test.scheduler.fires[run]?.hasEnded != true { await Task.yield() }
        return gate
    }

    /// Stops the scheduler, and lets the store go on once it stops.
    private static func stop(
        _ runs: RunsAtStop,
        _ test: TestScheduler,
        _ gate: DispatchSemaphore
    ) async {
        async let stop: Void = test.scheduler.stop(runs)
        while await !test.scheduler.isStopping { await Task.yield() }
        gate.signal()
        await stop
    }

    /// Returns once whatever one write has queued behind another would be stored.
    private static func goOn(_ test: TestScheduler) async throws {
        for _ in 0..<20 {
            try await test.store.writer.barrier()
            await test.loop.flush()
        }
    }

    private static func stored(_ run: RunID, _ test: TestScheduler) async throws
        -> (outcome: String?, output: OutputReading)
    {
        try await test.store.reader.read { database in
            let outcome = try database.prepare("SELECT outcome FROM runs WHERE id = ?1")
                .first(run) { try $0.get(0, as: String?.self) }
            return (outcome ?? nil, try Queries(database).output(of: run))
        }
    }

    /// The number that the next daemon gives first.
    private static func nextEvent(_ test: TestScheduler) async throws -> Int64 {
        try await test.store.reader.read {
            try DaemonState.read($0, now: TestScheduler.start).eventSequenceEnd
        }
    }

    @Test(
        "A stop that waits for no run, as it is on another node, stores nothing behind the last number"
    )
    func elsewhere() async throws {
        let folder = try TemporaryFolder()
        let test = try await TestScheduler(folder: folder.path, node: "a")
        await test.loop.ask { [scheduler = test.scheduler] in
            scheduler.assumeIsolated {
                $0.nodeJoined("b", labels: [], drains: false)
                $0.runnerChanged(.back(epoch: 77), of: "b")
            }
        }
        let (_, run) = try await Self.begin(test) { $0.on = "b" }
        await Self.stop(.end(after: .zero), test, await Self.end(run, test))
        // However far it has come.
        let atStop = try await Self.stored(run, test)
        try await Self.goOn(test)
        let later = try await Self.stored(run, test)
        #expect(later.outcome == atStop.outcome)
        #expect(later.output.stdout == atStop.output.stdout)
        #expect(try await Self.nextEvent(test) == test.scheduler.sequencer.next)
        try await test.close()
    }

    @Test("A stop that ends the runs returns once it is stored, with the end")
    func ends() async throws {
        try await TestScheduler.with { test in
            let (_, run) = try await Self.begin(test)
            await Self.stop(.end(after: .seconds(3600)), test, await Self.end(run, test))
            let (outcome, output) = try await Self.stored(run, test)
            #expect(outcome == "exited")
            let isWhole = output.pieces.flatMap(\.bytes) == Self.written
            #expect(isWhole)
            #expect(test.runner.stored == [run.rawValue])
            #expect(try await Self.nextEvent(test) == test.scheduler.sequencer.next)
        }
    }

    /// Ends the run on a disk that has room for its first parts.
    private static func fillDisk(_ run: RunID, _ test: TestScheduler) async throws {
        try await test.store.writer.write { database in
            let pages = try database.prepare("PRAGMA page_count").value(as: Int.self) ?? 0
            let size = try database.prepare("PRAGMA page_size").value(as: Int.self) ?? 4096
            try database.execute("PRAGMA max_page_count = \(pages + 400_000 / size)")
        }
        test.runner.isHolding = false
        test.runner.end()
        while test.store.writer.statistics.trouble == nil { await Task.yield() }
        #expect(await test.scheduler.fires[run]?.hasEnded == true)
    }

    /// Returns once the disk has room again, and what was to be stored is.
    private static func emptyDisk(_ test: TestScheduler) async throws {
        let writer = test.store.writer
        test.store.thread.perform {
            writer.assumeIsolated {
                // try?: without that room the next loop goes on until the test's time is over.
                try? $0.database.execute("PRAGMA max_page_count = 1000000")
            }
        }
        // try?: the batch in which that ran may have failed before it.
        while writer.statistics.trouble != nil { try? await writer.barrier() }
        try await goOn(test)
    }

    @Test("A stop that has the runs go on leaves it to the next daemon, which stores all of it")
    func goesOn() async throws {
        try await TestScheduler.with { test in
            let (_, run) = try await Self.begin(test)
            try await Self.fillDisk(run, test)
            await test.scheduler.stop(.goOn)
            let before = try await Self.stored(run, test)
            #expect(before.outcome == nil && !before.output.pieces.isEmpty)
            #expect(await !test.scheduler.hasOwnCommands)
            var known = KnownRuns(epoch: test.runner.known.epoch)
            var process = KnownRun(
                phase: .running,
                pid: 77,
                startedAtMicroseconds: test.clock.now().wall.microseconds
            )
            process.outputKept = 16 << 20
            known.runs[run.rawValue] = process
            let after = try await test.killedAndDown(for: .seconds(1), known: known)
            after.runner.output = CapturedOutput(stdout: Self.written)
            after.runner.end()
            try await after.settle()
            let (outcome, output) = try await Self.stored(run, after)
            #expect(outcome == "exited")
            let isWhole = output.pieces.flatMap(\.bytes) == Self.written
            #expect(isWhole)
            try await after.close()
            try await Self.emptyDisk(test)
        }
    }

    @Test(
        "Where nothing can be stored a stop does not wait for its run, and says of none that it goes on"
    )
    func fullDisk() async throws {
        let (folder, log) = (try TemporaryFolder(), RecordedLog())
        let test = try await TestScheduler(folder: folder.path, log: log.logger)
        let (_, run) = try await Self.begin(test)
        try await Self.fillDisk(run, test)
        await test.scheduler.drainRuns()
        await test.scheduler.stop(.end(after: .seconds(3600)))
        #expect(await !test.scheduler.hasOwnCommands)
        #expect(log.all.filter { $0.hasPrefix("a run goes on") }.isEmpty)
        try await Self.emptyDisk(test)
        #expect(try await Self.stored(run, test).outcome == nil)
        #expect(test.runner.stored.isEmpty)
        try await test.close()
    }

    @Test("Its run is not told to end any more, and is not tried again either")
    func kill() async throws {
        try await TestScheduler.with { test in
            let (job, run) = try await Self.begin(test) { ($0.retries, $0.backoff) = (1, "1s..1s") }
            let gate = await Self.end(run, test, .exited(3))
            let queued = test.store.thread.queueLength
            async let answer = test.scheduler.endRun(run, caller: TestScheduler.root)
            while test.store.thread.queueLength == queued { await Task.yield() }
            gate.signal()
            let told = try await answer
            #expect(told == .gone)
            try await test.advance(by: .seconds(60))
            let runs = try await test.history(job.id)
            #expect(runs.map(\.status) == [3] && runs.map(\.stopped) == [nil])
            #expect(test.runner.stops.isEmpty)
        }
    }

    @Test(
        "Its job may be ended meanwhile: all of it is stored, and nothing follows",
        arguments: [false, true]
    )
    func invalidate(kills: Bool) async throws {
        try await TestScheduler.with { test in
            let (job, run) = try await Self.begin(test) { ($0.retries, $0.backoff) = (1, "1s..1s") }
            let gate = await Self.end(run, test, .exited(3))
            async let ended = test.jobs(
                .invalidateJobs(InvalidateJobs(.ids([job.id]), kill: kills))
            )
            let pending = test.scheduler.pending
            while !pending.areAskedFor(by: TestScheduler.root) { await Task.yield() }
            gate.signal()
            let jobs = try await ended
            #expect(jobs.map(\.state) == [.invalidated])
            try await test.advance(by: .seconds(60))
            #expect(try await test.history(job.id).map(\.status) == [3])
            let output = try await Self.stored(run, test).output
            let isWhole = output.pieces.flatMap(\.bytes) == Self.written
            #expect(isWhole)
        }
    }

    @Test("Where a part can never be stored the end is, with the parts before it")
    func dropped() async throws {
        try await TestScheduler.with { test in
            let (job, run) = try await Self.begin(test)
            try await test.store.writer.write {
                try $0.execute(
                    """
                    CREATE TRIGGER refuse BEFORE INSERT ON run_output WHEN new.part = 5
                    BEGIN SELECT RAISE(ABORT, 'no room for it'); END
                    """
                )
            }
            test.runner.isHolding = false
            test.runner.end()
            try await test.settle()
            #expect(try await test.history(job.id).map(\.outcome) == [.exited])
            let output = try await Self.stored(run, test).output
            let kept = output.pieces.flatMap(\.bytes)
            let isBeginning = kept == Array(Self.written.prefix(kept.count))
            #expect(isBeginning && kept.count > 240_000 && kept.count <= 4 * OutputPart.size)
            #expect(output.stdout.bytes == Int64(Self.written.count))
            #expect(output.stdout.dropped == Int64(Self.written.count - kept.count))
            #expect(test.runner.stored == [run.rawValue])
            #expect(await test.scheduler.measures().counters.dropped == 1)
        }
    }

    @Test("What is stored of it stays where the run's end is lost with the runner")
    func interrupted() async throws {
        try await TestScheduler.with { test in
            let (job, run) = try await Self.begin(test)
            let parts = OutputPart.parts(of: CapturedOutput(stdout: Self.written), orAt: 0)
            try await test.store.writer.write { database in
                let first = Array(parts.prefix(8))
                try RunStore(database).insertOutput(first, from: 0, of: run, owner: job.ownerID)
            }
            let after = try await test.crashedAndDown(for: .seconds(1))
            #expect(try await after.history(job.id).map(\.outcome) == [.interrupted])
            let output = try await Self.stored(run, after).output
            let kept = parts.prefix(8).reduce(0) { $0 + $1.kept.stdout }
            #expect(output.pieces.reduce(0) { $0 + $1.bytes.count } == Int(kept))
            #expect(output.stdout == OutputReply.Total(bytes: kept, dropped: 0))
            try await after.close()
            test.runner.isHolding = false
            test.runner.end()
        }
    }
}
