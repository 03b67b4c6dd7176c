// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

/// docs/protocol.md, "Changing a job": what follows a run's end goes by the job as it is then.
@Suite("Jobs that are changed under their run", .timeLimit(.minutes(1)))
struct ChangedUnderRunTests {
    /// A change of a job under its run, which ends with status 3, and what is to come of that.
    enum Change: CaseIterable {
        case fewerRetries, moreRetries, onFailure, successCodes

        fileprivate var retriesBefore: Int { self == .fewerRetries ? 2 : 0 }

        fileprivate func make(_ definition: inout JobDefinition) {
            switch self {
            case .fewerRetries: definition.retries = 0
            case .moreRetries: definition.retries = 1
            case .onFailure: definition.onFailure = ["alert"]
            case .successCodes:
                definition.successCodes = [0, 3]
                definition.onSuccess = ["next"]
            }
        }

        /// What is started behind the end, and whether the run has failed.
        fileprivate var outcome: (started: [[String]], failed: Bool?) {
            switch self {
            case .fewerRetries: ([], true)
            case .moreRetries: ([["x"]], true)
            case .onFailure: ([["alert"]], true)
            case .successCodes: ([["next"]], nil)
            }
        }
    }

    /// A job whose first run goes on until it is ended; its next date is two hours later.
    private static func add(
        _ test: TestScheduler,
        _ change: (inout JobDefinition) -> Void = { _ in }
    ) async throws -> StoredJob {
        test.runner.isHolding = true
        let job = try await test.add(
            ScheduleWords(every: "2h", from: "2026-12-01T08:00:10Z"),
            command: ["x"]
        ) {
            ($0.name, $0.backoff) = ("a", "1s..1s")
            change(&$0)
        }
        try await test.advance(by: .seconds(11))
        test.runner.isHolding = false
        return job
    }

    /// Ends the job's run, in this daemon or in one that takes it up after a crash, and lets a minute pass.
    ///
    /// `later`: how runs end that begin behind that.
    /// - Returns: the daemon that has seen the end.
    private static func end(
        _ test: TestScheduler,
        _ job: StoredJob,
        _ outcome: RunOutcome,
        isRestarted: Bool,
        later: RunOutcome = .exited(0)
    ) async throws -> TestScheduler {
        var after = test
        if isRestarted {
            let run = try #require(try await test.history(job.id).last?.id)
            var known = KnownRuns(epoch: test.runner.known.epoch)
            known.runs[run.rawValue] = KnownRun(
                phase: .running,
                pid: 77,
                startedAtMicroseconds: test.clock.now().wall.microseconds
            )
            after = try await test.crashedAndDown(for: .seconds(1), known: known)
        }
        after.runner.outcome = later
        after.runner.end(outcome)
        try await after.advance(by: .seconds(60))
        return after
    }

    private static func close(_ after: TestScheduler, _ test: TestScheduler) async throws {
        guard after !== test else { return }
        try await after.close()
        test.runner.end()
    }

    /// The commands of jobs that were started behind the first.
    private static func startedLater(_ after: TestScheduler, isRestarted: Bool) -> [[String]] {
        let all = after.runner.requests.filter { $0.run > 0 }.map(\.argv)
        return isRestarted ? all : Array(all.dropFirst())
    }

    @Test(
        "What follows a run's end goes by the job as it is then, with a restart in between or without",
        arguments: Change.allCases,
        [false, true]
    )
    func follows(change: Change, isRestarted: Bool) async throws {
        try await TestScheduler.with { test in
            let job = try await Self.add(test) { $0.retries = change.retriesBefore }
            try await NoticeSupport.change(test, job) { change.make(&$0) }
            let after = try await Self.end(test, job, .exited(3), isRestarted: isRestarted)
            let started = Self.startedLater(after, isRestarted: isRestarted)
            #expect(started == change.outcome.started)
            let first = try #require(try await after.history(job.id).first)
            #expect((first.status, first.failed) == (3, change.outcome.failed))
            try await Self.close(after, test)
        }
    }

    @Test(
        "Another command is no further attempt of a fire that has begun: that has failed for good",
        arguments: [false, true],
        [false, true]
    )
    func otherCommand(isReplaced: Bool, isRestarted: Bool) async throws {
        try await TestScheduler.with { test in
            let job = try await Self.add(test) { $0.retries = 3 }
            let change: (inout JobDefinition) -> Void = {
                ($0.command, $0.onFailure) = (["new"], ["alert"])
                $0.notify = [NoticeSupport.place]
            }
            if isReplaced {
                var definition = try await test.job(job.id).definition
                change(&definition)
                let new = try NewJob(definition, owner: 0, at: test.clock.now(), zone: .utc)
                _ = try await test.scheduler.add([new], replace: true, caller: TestScheduler.root)
            } else {
                try await NoticeSupport.change(test, job, change)
            }
            let after = try await Self.end(test, job, .exited(3), isRestarted: isRestarted)
            #expect(Self.startedLater(after, isRestarted: isRestarted) == [["alert"]])
            let runs = try await after.history(job.id)
            #expect(runs.map(\.failed) == [true, nil])
            #expect(runs.allSatisfy { $0.state == .done && $0.nextAttemptAt == nil })
            let told = try NoticeSupport.told(after).map { try NoticeSupport.document($0).reason }
            #expect(told == ["failed"])
            try await Self.close(after, test)
        }
    }

    @Test(
        "A run's end is told where the job says by then, and by its name of then",
        arguments: [["command:new"], ["none"]],
        [false, true]
    )
    func told(places: [String], isRestarted: Bool) async throws {
        try await TestScheduler.with { test in
            let job = try await Self.add(test) { $0.notify = ["command:old"] }
            try await NoticeSupport.change(test, job) { ($0.name, $0.notify) = ("b", places) }
            let after = try await Self.end(test, job, .exited(3), isRestarted: isRestarted)
            let told = NoticeSupport.told(after)
            let commands = told.compactMap { $0.argv.last }
            #expect(commands == (places == ["none"] ? [] : ["new"]))
            let names = try told.map { try NoticeSupport.document($0).name }
            #expect(names.allSatisfy { $0 == "b" })
            #expect(after.sink.all(.runFinished).map(\.name) == ["b"])
            try await Self.close(after, test)
        }
    }

    @Test("Of a job that keeps more runs by now the end of a run removes none")
    func keepRuns() async throws {
        try await TestScheduler.with { test in
            let job = try await Self.add(test) {
                ($0.schedule, $0.overlap) = (ScheduleWords(every: "10s"), .allow)
                $0.keepRuns = 2
            }
            try await NoticeSupport.change(test, job) { $0.keepRuns = 50 }
            try await test.advance(by: .seconds(60))
            let before = try await test.history(job.id).count
            #expect(before > 4)
            test.runner.end()
            #expect(try await test.history(job.id).count == before)
        }
    }

    @Test("Of many that wait for their next attempt each fails for good, and has its handler once")
    func many() async throws {
        try await TestScheduler.with(keeping: .all) { test in
            test.runner.outcome = .exited(3)
            let job = try await test.add(ScheduleWords(every: "1s"), command: ["x"]) {
                ($0.retries, $0.backoff, $0.overlap) = (1, "1h..1h", .allow)
            }
            try await test.advance(by: .seconds(100))
            let fires = try await test.history(job.id).filter { $0.waitsFor == .retry }.map(\.fire)
            #expect(fires.count > JobTransaction.droppedAtOnce)
            try await NoticeSupport.change(test, job) {
                ($0.command, $0.onFailure) = (["new"], ["alert"])
                $0.schedule = ScheduleWords(every: "2h")
            }
            try await test.advance(by: .seconds(60))
            let handled = test.sink.all(.runFinished).filter { $0.handler == .onFailure }
            #expect(handled.compactMap(\.fire).sorted() == fires)
            let history = try await test.history(job.id)
            #expect(history.allSatisfy { $0.state == .done && $0.failed == true })
            #expect(!test.runner.requests.contains { $0.argv == ["new"] })
        }
    }

    @Test(
        "A run is ended as its job was when it began: another killAfter is for later runs",
        arguments: [false, true]
    )
    func killAfter(isReplaced: Bool) async throws {
        try await TestScheduler.with { test in
            let job = try await Self.add(test) { ($0.killAfter, $0.overlap) = ("1s", .replace) }
            try await NoticeSupport.change(test, job) { $0.killAfter = "4s" }
            if isReplaced {
                _ = try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
            } else {
                try await test.jobs(.invalidateJobs(InvalidateJobs(.ids([job.id]), kill: true)))
            }
            try await test.settle()
            let began = Teardown.terminate(killAfter: .seconds(1))
            #expect(test.runner.stops.map(\.teardown) == [began])
        }
    }

    @Test(
        "What a run writes is kept if its job said so when it began, with a restart in between or without",
        arguments: [JobDefinition.Output.keep, .drop],
        [false, true]
    )
    func output(began: JobDefinition.Output, isRestarted: Bool) async throws {
        try await TestScheduler.with { test in
            let job = try await Self.add(test) { $0.output = began }
            try await NoticeSupport.change(test, job) { $0.output = began == .keep ? .drop : .keep }
            let run = try #require(try await test.history(job.id).last?.id)
            var known = KnownRuns(epoch: test.runner.known.epoch)
            var process = KnownRun(
                phase: .running,
                pid: 77,
                startedAtMicroseconds: test.clock.now().wall.microseconds
            )
            process.outputKept = began == .keep ? 1024 : 0
            known.runs[run.rawValue] = process
            var after = test
            if isRestarted {
                after = try await test.crashedAndDown(for: .seconds(1), known: known)
            }
            after.runner.output = CapturedOutput(stdout: Array("hello\n".utf8))
            after.runner.end()
            try await after.settle()
            let reading = try await after.store.reader.read { try Queries($0).output(of: run) }
            #expect(reading.pieces.map(\.bytes) == (began == .keep ? [Array("hello\n".utf8)] : []))
            try await Self.close(after, test)
        }
    }

    @Test("A run that was interrupted and is run again takes no retry, and has not failed")
    func rerun() async throws {
        for isRestarted in [false, true] {
            try await TestScheduler.with { test in
                let job = try await Self.add(test) { ($0.retries, $0.rerunInterrupted) = (1, true) }
                let after = try await Self.end(
                    test,
                    job,
                    .interrupted,
                    isRestarted: isRestarted,
                    later: .exited(1)
                )
                let runs = try await after.history(job.id)
                #expect(runs.map(\.attempt) == [1, 2, 3])
                #expect(runs.map(\.failed) == [nil, true, true])
                try await Self.close(after, test)
            }
        }
    }

    @Test("What waits for the end of a run that was run again waits for its retry, too")
    func retryOfRerun() async throws {
        try await TestScheduler.with { test in
            let job = try await Self.add(test) {
                ($0.retries, $0.rerunInterrupted, $0.overlap) = (1, true, .queue)
            }
            test.runner.isHolding = true
            test.runner.end(.interrupted)
            try await test.settle()
            _ = try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
            test.runner.end(.exited(1))
            try await test.settle()
            #expect(test.runner.requests.count == 2, "a retry is to come")
            try await test.advance(by: .seconds(2))
            let last = try await test.history(job.id).filter { $0.attempt == 3 }
            #expect(last.map(\.outcome) == [nil])
            #expect(test.runner.requests.count == 3)
            test.runner.end()
            try await test.settle()
            #expect(test.runner.requests.count == 4)
            test.runner.end()
        }
    }
}
