// SPDX-License-Identifier: Apache-2.0

import JobModel
import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import SQLite
@testable import TimerD

/// That a run is to end is stored before it is told so.
extension StoppedRunTests {
    /// A job that is tried again, whose first run is in progress.
    private func begin(
        _ test: TestScheduler,
        _ change: (inout JobDefinition) -> Void = { _ in }
    ) async throws -> (JobID, run: RunID) {
        test.runner.isHolding = true
        let job = try await test.add(ScheduleWords(every: "10s"), command: ["backup"]) {
            ($0.retries, $0.backoff) = (1, "1s..1s")
            change(&$0)
        }
        try await test.advance(by: .milliseconds(10_100))
        return (job.id, RunID(rawValue: try #require(test.runner.requests.first?.run)))
    }

    @Test(
        "A run gets its signal once it is stored that it is to end; what has ended by then keeps its end",
        arguments: [false, true]
    )
    func storedFirst(endsMeanwhile: Bool) async throws {
        try await TestScheduler.with { test in
            let (job, run) = try await begin(test)
            let gate = SchedulerAheadTests.stall(test)
            async let answer = test.scheduler.endRun(run, caller: TestScheduler.root)
            while !test.scheduler.pending.areAskedFor(by: TestScheduler.root) { await Task.yield() }
            #expect(test.runner.stops.isEmpty)
            if endsMeanwhile {
                test.runner.end(.exited(3))
                while await test.scheduler.fires.running > 0 { await Task.yield() }
            }
            gate.signal()
            let expected: SignalAnswer = endsMeanwhile ? .gone : .sent
            #expect(try await answer == expected)
            #expect(test.runner.stops.map(\.run) == (endsMeanwhile ? [] : [run.rawValue]))
            test.runner.isHolding = false
            try await test.advance(by: .seconds(5))
            // It was to end, and is tried no more either way.
            #expect(test.runner.requests.count == 1)
            let runs = try await test.history(job)
            #expect(runs.map(\.stopped) == [endsMeanwhile ? nil : true])
            #expect(runs.map(\.status) == [endsMeanwhile ? 3 : nil])
            if endsMeanwhile { #expect(runs.map(\.failed) == [true]) }
        }
    }

    @Test("Where it cannot be stored that a run is to end it goes on, and is tried again as before")
    func notStored() async throws {
        try await TestScheduler.with { test in
            let (job, run) = try await begin(test)
            await set(queryOnly: true, test.store)
            await #expect(throws: (any Error).self) {
                _ = try await test.scheduler.endRun(run, caller: TestScheduler.root)
            }
            await set(queryOnly: false, test.store)
            #expect(test.runner.stops.isEmpty)
            test.runner.isHolding = false
            test.runner.end(.exited(3))
            try await test.advance(by: .seconds(5))
            #expect(test.runner.requests.count == 2)
            #expect(try await test.history(job).map(\.stopped) == [nil, nil])
        }
    }

    @Test("A run that a newer fire replaces gets its signal once both are stored")
    func replaced() async throws {
        try await TestScheduler.with { test in
            let (job, run) = try await begin(test) { $0.overlap = .replace }
            // The claim of the next date is stored ahead of it.
            try await test.advance(by: .milliseconds(9895))
            let gate = SchedulerAheadTests.stall(test)
            await test.advanceWithoutStore(by: .milliseconds(100))
            #expect(test.runner.stops.isEmpty)
            gate.signal()
            try await test.settle()
            #expect(test.runner.stops.map(\.run) == [run.rawValue])
            let runs = try await test.history(job)
            #expect(runs.map(\.stoppedBy) == [.replace, nil])
            #expect(runs.map(\.state) == [.done, .running])
            test.runner.end()
        }
    }

    @Test(
        "A run that was to end as its daemon died is ended by the next one, which leaves others alone",
        arguments: [true, false]
    )
    func diedBetween(isToEnd: Bool) async throws {
        try await TestScheduler.with { test in
            let (job, run) = try await begin(test)
            if isToEnd {
                try await test.store.writer.write { try RunStore($0).markStopped(run, .owner) }
            }
            var known = KnownRuns(epoch: test.runner.known.epoch)
            let started = test.clock.now().wall.microseconds
            known.runs[run.rawValue] = KnownRun(
                phase: .running,
                pid: 77,
                startedAtMicroseconds: started
            )
            let after = try await test.crashedAndDown(for: .zero, known: known)
            try await eventually("it is told to end again") {
                after.runner.endedAgain == (isToEnd ? [run.rawValue] : [])
            }
            after.runner.end(.signalled(15))
            try await after.advance(by: .seconds(5))
            #expect(after.runner.requests.count == (isToEnd ? 0 : 1))
            let first = try #require(try await after.history(job).first)
            #expect(first.stoppedBy == (isToEnd ? .owner : nil))
            try await after.close()
            test.runner.end()
        }
    }

    @Test(
        "A kill that the next daemon sends with the rights of who asked, and that is refused, was none",
        arguments: RunStop.allCases
    )
    func refusedAgain(stop: RunStop) async throws {
        try await TestScheduler.with { test in
            let (job, run) = try await begin(test)
            try await test.store.writer.write { try RunStore($0).markStopped(run, stop) }
            var known = KnownRuns(epoch: test.runner.known.epoch)
            known.runs[run.rawValue] = KnownRun(
                phase: .running,
                pid: 77,
                startedAtMicroseconds: test.clock.now().wall.microseconds
            )
            try await test.settle()
            let after = try await test.killedAndDown(
                for: .zero,
                known: known,
                refusesSignals: true
            )
            try await eventually("it is told to end again") {
                after.runner.endedAgain == [run.rawValue]
            }
            // Root owns the job.
            let isKill = stop == .owner || stop == .administrator
            // The answer is on its way back to the scheduler.
            while isKill, await after.isMarkedStopped(run) { await Task.yield() }
            try await after.settle()
            #expect(after.runner.endedAsDaemon == (isKill ? [run.rawValue] : []))
            let left = try #require(try await after.history(job).first)
            #expect(left.stoppedBy == (isKill ? nil : stop))
            after.runner.end(.exited(3))
            try await after.advance(by: .seconds(5))
            #expect(after.runner.requests.count == (isKill ? 1 : 0), "its next attempt")
            try await after.close()
            test.runner.end()
        }
    }

    /// Has the store refuse every write, or no more.
    private func set(queryOnly: Bool, _ store: Store) async {
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            store.thread.perform {
                store.writer.assumeIsolated { writer in
                    do {
                        try writer.database.prepare("PRAGMA query_only = \(queryOnly)").run()
                    } catch {
                        Issue.record(error)
                    }
                }
                done.resume()
            }
        }
    }
}

extension TestScheduler {
    /// Whether the scheduler has it that a run in progress was told to end.
    fileprivate func isMarkedStopped(_ run: RunID) async -> Bool {
        await loop.ask { [scheduler] in
            scheduler.assumeIsolated { $0.fires[run]?.isStopped ?? false }
        }
    }
}
