// SPDX-License-Identifier: Apache-2.0

import JobModel
import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

/// A run that somebody ends is not tried again, whatever daemon finds it.
@Suite("Runs that were told to end", .timeLimit(.minutes(2))) struct StoppedRunTests {
    enum Way: CaseIterable {
        case killRun, invalidateAndUndo, replace
    }

    /// What the next daemon finds of the run.
    enum Left: CaseIterable {
        /// It goes on, and ends by the signal.
        case goesOn
        /// The runner died with it.
        case isLost
        /// The runner was never asked for it.
        case wasNeverAsked
    }

    /// A job whose every failure is followed by something; its first run is in progress, and takes no notice of signals.
    private func begin(_ test: TestScheduler, _ way: Way) async throws -> (JobID, run: Int64) {
        (test.runner.isHolding, test.runner.ignoresSignals) = (true, true)
        let job = try await test.add(ScheduleWords(every: "10s"), command: ["backup"]) {
            ($0.name, $0.retries, $0.backoff) = ("n", 3, "1s")
            ($0.rerunInterrupted, $0.onFailure, $0.notify) = (true, ["alarm"], ["command:tell"])
            $0.overlap = way == .replace ? .replace : .skip
        }
        try await test.advance(by: .milliseconds(10_100))
        return (job.id, try #require(test.runner.requests.first?.run))
    }

    private func end(_ test: TestScheduler, _ job: JobID, _ run: Int64, _ way: Way) async throws {
        switch way {
        case .killRun:
            _ = try await test.scheduler.endRun(
                RunID(rawValue: run),
                caller: TestScheduler.root
            )
        case .invalidateAndUndo:
            try await test.jobs(.invalidateJobs(InvalidateJobs(.ids([job]), kill: true)))
        case .replace: try await test.advance(by: .seconds(10))
        }
    }

    @Test(
        "It is tried no more after a crash, nor is anybody told",
        arguments: Way.allCases,
        Left.allCases
    )
    func crash(way: Way, left: Left) async throws {
        try await TestScheduler.with { test in
            let (job, run) = try await begin(test, way)
            try await end(test, job, run, way)
            let started = test.clock.now().wall.microseconds
            var known = KnownRuns(epoch: left == .isLost ? 1 : test.runner.known.epoch)
            if left == .goesOn {
                known.runs[run] = KnownRun(
                    phase: .running,
                    pid: 77,
                    startedAtMicroseconds: started
                )
            }
            let after = try await test.crashedAndDown(for: .zero, known: known)
            if way == .invalidateAndUndo { try await after.jobs(.restoreJobs(.ids([job]))) }
            after.runner.end(.signalled(9))
            try await after.advance(by: .seconds(5))
            // Only what took its place begins.
            #expect(after.runner.requests.map(\.argv) == (way == .replace ? [["backup"]] : []))
            let runs = try await after.history(job).filter { $0.id?.rawValue == run }
            #expect(runs.map(\.state) == [.done])
            #expect(runs.map(\.stopped) == [true])
            let who: RunStop =
                switch way {
                case .killRun: .owner
                case .invalidateAndUndo: .invalidate
                case .replace: .replace
                }
            #expect(runs.map(\.stoppedBy) == [who])
            switch left {
            case .goesOn: #expect(runs.map(\.signal) == [9])
            case .isLost: #expect(runs.map(\.outcome) == [.interrupted])
            case .wasNeverAsked: #expect(runs.map(\.outcome) == [.notStarted])
            }
            try await after.close()
            test.runner.ignoresSignals = false
            test.runner.end()
        }
    }

    @Test(
        "A run that was told to end says so; one that ended by a signal from elsewhere does not",
        arguments: [true, false]
    )
    func told(isTold: Bool) async throws {
        try await TestScheduler.with { test in
            (test.runner.isHolding, test.runner.ignoresSignals) = (true, true)
            let job = try await test.add(ScheduleWords(in: "1s"), command: ["backup"])
            try await test.advance(by: .seconds(2))
            while test.runner.heldCount == 0 { await Task.yield() }
            let run = try #require(test.runner.requests.first?.run)
            if isTold {
                _ = try await test.scheduler.endRun(
                    RunID(rawValue: run),
                    caller: TestScheduler.root
                )
            }
            test.runner.isHolding = false
            test.runner.end(.signalled(15))
            try await test.advance(by: .seconds(1))
            let runs = try await test.history(job.id)
            #expect(runs.map(\.signal) == [15])
            #expect(runs.map(\.stopped) == [isTold ? true : nil])
        }
    }

    @Test(
        "A run says whether its owner has ended it, or another user",
        arguments: [0, 1001] as [UInt32]
    )
    func administrator(uid: UInt32) async throws {
        try await TestScheduler.with { test in
            (test.runner.isHolding, test.runner.ignoresSignals) = (true, true)
            let job = try await test.add(ScheduleWords(in: "1s"), command: ["backup"])
            try await test.advance(by: .seconds(2))
            while test.runner.heldCount == 0 { await Task.yield() }
            let run = try #require(test.runner.requests.first?.run)
            _ = try await test.scheduler.endRun(
                RunID(rawValue: run),
                caller: Caller(uid: uid, isAdministrator: true)
            )
            test.runner.isHolding = false
            test.runner.end(.signalled(15))
            try await test.advance(by: .seconds(1))
            let runs = try await test.history(job.id)
            #expect(runs.map(\.stoppedBy) == [uid == 0 ? .owner : .administrator])
        }
    }

    @Test(
        "Of all runs that are ended the runner's word counts: one that ended by itself keeps its end",
        arguments: [.interrupted, .exited(3)] as [RunOutcome]
    )
    func endedWithAll(outcome: RunOutcome) async throws {
        try await TestScheduler.with { test in
            (test.runner.isHolding, test.runner.ignoresSignals) = (true, true)
            let job = try await test.add(ScheduleWords(in: "1s"), command: ["backup"]) {
                $0.rerunInterrupted = true
            }
            try await test.advance(by: .seconds(2))
            _ = await test.scheduler.endRuns()
            test.runner.isHolding = false
            test.runner.end(outcome)
            try await test.advance(by: .seconds(1))
            let ends = try await test.history(job.id).map(\.outcome)
            let expected: [Run.Outcome?] =
                outcome == .interrupted ? [.interrupted, .exited] : [.exited]
            #expect(ends == expected)
        }
    }

    @Test("A drain is over once the last run on its way has come back without having begun")
    func drained() async throws {
        try await TestScheduler.with { test in
            let gate = Gate()
            (test.runner.startGate, test.runner.notBegun) = (gate, "it has no room")
            let job = try await test.add(ScheduleWords(in: "1h"), command: ["backup"])
            _ = try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
            while await test.scheduler.fires.running == 0 { await Task.yield() }
            async let drain: Void = test.scheduler.drainRuns()
            while await test.scheduler.idleWaiters.isEmpty { await Task.yield() }
            gate.open()
            await drain
            #expect(await test.scheduler.fires.running == 0)
        }
    }

    @Test("One that had not begun as the daemon stopped is not begun by the next one")
    func stopBeforeBegin() async throws {
        try await TestScheduler.with { test in
            let gate = Gate()
            test.runner.startGate = gate
            let job = try await test.add(ScheduleWords(in: "1h"), command: ["backup"]) {
                $0.retries = 3
            }
            _ = try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
            while await test.scheduler.fires.running == 0 { await Task.yield() }
            let run = try #require(await test.scheduler.fires.all.first?.command?.run)
            _ = try await test.scheduler.endRun(run, caller: TestScheduler.root)
            test.runner.notBegun = "the daemon stops"
            async let stop: Void = test.scheduler.stop(.goOn)
            while await !test.scheduler.isStopping { await Task.yield() }
            gate.open()
            await stop
            let known = KnownRuns(epoch: test.runner.known.epoch)
            let after = try await test.killedAndDown(for: .zero, known: known)
            try await after.advance(by: .seconds(5))
            #expect(after.runner.requests.isEmpty)
            #expect(try await after.history(job.id).map(\.outcome) == [.notStarted])
            try await after.close()
        }
    }

    @Test(
        "A kill of a run that waits for its next attempt drops that, and nobody hears of a failure",
        arguments: [false, true]
    )
    func killedBetweenAttempts(isRestarted: Bool) async throws {
        try await TestScheduler.with { test in
            test.runner.outcome = .exited(3)
            let job = try await test.add(
                ScheduleWords(every: "2h", from: "2026-12-01T08:00:10Z"),
                command: ["false"]
            ) {
                ($0.retries, $0.backoff, $0.onFailure) = (3, "1h..1h", ["alarm"])
                $0.notify = ["command:tell"]
            }
            try await test.advance(by: .seconds(11))
            let first = try #require(try await test.history(job.id).first)
            #expect(first.waitsFor == .retry)
            let kill = Request.killRun(KillRun(try #require(first.id)))
            let reply = try await test.handler().handle(kill, from: 0).get()
            let killed = try #require(reply as? RunReply).run
            #expect(killed.state == .done && killed.waitsFor == nil && killed.stopped == nil)
            #expect(killed.nextAttemptAt == nil && killed.failed == true)
            try await test.settle()
            #expect(test.sink.all(.jobChanged).map(\.job) == [job.id], "who waits looks again")
            #expect(await test.refusal(kill)?.reason == .conflict, "there is nothing more to drop")
            let after = isRestarted ? try await test.crashed() : test
            try await after.advance(by: .seconds(3600 + 1800))
            #expect(after.runner.requests.map(\.argv) == (isRestarted ? [] : [["false"]]))
            #expect(try await after.history(job.id).map(\.id) == [first.id])
            // The job goes on.
            try await after.advance(by: .seconds(1800))
            let later = after.runner.requests.dropFirst(isRestarted ? 0 : 1)
            #expect(later.first?.argv == ["false"])
            if isRestarted { try await after.close() }
        }
    }

    @Test(
        "It is ended as its job says, or, with what it leaves behind, as who ends it says",
        arguments: [nil, "0s", "2min"]
    )
    func killAfter(_ words: String?) async throws {
        try await TestScheduler.with { test in
            (test.runner.isHolding, test.runner.ignoresSignals) = (true, true)
            try await test.add(ScheduleWords(in: "1s"), command: ["backup"]) {
                $0.killAfter = "1h"
            }
            try await test.advance(by: .seconds(2))
            while test.runner.heldCount == 0 { await Task.yield() }
            let run = RunID(rawValue: try #require(test.runner.requests.first?.run))
            let slip = Request.killRun(KillRun(run, killAfter: "soon"))
            #expect(await test.refusal(slip)?.reason == .badSchedule)
            #expect(test.runner.stops.isEmpty)
            let kill = Request.killRun(KillRun(run, killAfter: words))
            _ = try await test.handler().handle(kill, from: 0).get()
            let span: TimeSpan = try words.map { try TimeSpan(parsing: $0) } ?? .seconds(3600)
            #expect(
                test.runner.stops.map(\.teardown) == [.terminate(killAfter: span.duration)]
            )
            #expect(test.runner.endedWithRest == (words == nil ? [] : [run.rawValue]))
            test.runner.isHolding = false
            test.runner.end(.signalled(15))
            try await test.advance(by: .seconds(1))
        }
    }
}
