// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

@Suite("Scheduler, runs that fail", .timeLimit(.minutes(2)))
struct SchedulerRetryTests {
    @Test("A run that fails is tried again, later each time, until its retries are used up")
    func retries() async throws {
        try await TestScheduler.with { test in
            test.runner.outcome = .exited(3)
            let job = try await test.add(ScheduleWords(in: "10s"), command: ["false"]) {
                $0.retries = 3
                $0.backoff = "4s..1min"
            }
            try await test.advance(by: .seconds(300))
            let attempts = test.runner.requests.map { $0.environment["TIMERD_ATTEMPT"] }
            #expect(attempts == ["1", "2", "3", "4"])
            let history = try await test.history(job.id)
            #expect(Set(history.map(\.fire)).count == 1, "attempts of one fire")
            let starts = history.sorted { $0.attempt ?? 0 < $1.attempt ?? 0 }
                .compactMap(\.startedAt)
            for (index, (before, after)) in zip(starts, starts.dropFirst()).enumerated() {
                let bound = TimeSpan.seconds(4 << Int64(index))
                #expect(after - before <= bound, "full jitter: at most 4 s, 8 s, 16 s")
            }
            #expect(test.sink.all(.fireFired).count == 1)
            #expect(try await test.job(job.id).state == .finished)
        }
    }

    @Test(
        "The next attempt waits no longer than it was to, where the machine comes up with a lost clock"
    )
    func lostClock() async throws {
        try await TestScheduler.with { test in
            test.runner.outcome = .exited(3)
            try await test.add(ScheduleWords(in: "10s"), command: ["false"]) {
                $0.retries = 1
                $0.backoff = "1min..1min"
            }
            try await test.advance(by: .seconds(10))
            #expect(test.runner.requests.count == 1)
            let after = try await test.crashedAndDown(for: .zero) { machine in
                machine.boot += 1
                machine.sinceBoot = Timestamp(microseconds: 20_000_000)
                machine.wall = Timestamp(microseconds: 20_000_000)
            }
            try await after.advance(to: after.clock.now().wall + .seconds(61))
            #expect(after.runner.requests.map { $0.environment["TIMERD_ATTEMPT"] } == ["2"])
            try await after.close()
        }
    }

    @Test(
        "The next attempt comes when it was to, where the clock was stepped while no daemon ran",
        arguments: [86_400, -86_400] as [Int64]
    )
    func steppedMeanwhile(step: Int64) async throws {
        try await TestScheduler.with { test in
            test.runner.outcome = .exited(3)
            let job = try await test.add(ScheduleWords(in: "10s"), command: ["false"]) {
                $0.retries = 1
                $0.backoff = "1h..1h"
            }
            try await test.advance(by: .seconds(10))
            let next = try #require(
                try await test.history(job.id).compactMap(\.nextAttemptAt).first
            )
            let after = try await test.crashedAndDown(for: .zero) {
                $0.wall = $0.wall + .seconds(step)
            }
            let told = try await after.history(job.id).compactMap(\.nextAttemptAt)
            #expect(told == [next + .seconds(step)])
            try await after.advance(to: next + .seconds(step))
            #expect(after.runner.requests.map { $0.environment["TIMERD_ATTEMPT"] } == ["2"])
            try await after.close()
        }
    }

    @Test("The next attempt keeps its turn through a crash: what is due later does not go first")
    func turnAfterCrash() async throws {
        try await TestScheduler.with(keeping: TestScheduler.Keeping(maxRuns: 1)) { test in
            test.runner.outcome = .exited(3)
            try await test.add(ScheduleWords(in: "10s"), command: ["failed"]) {
                $0.retries = 1
                $0.backoff = "1h..1h"
            }
            try await test.advance(by: .seconds(10))
            #expect(test.runner.requests.count == 1)
            let after = try await test.crashed()
            after.runner.isHolding = true
            try await after.add(ScheduleWords(in: "1s"), command: ["first"])
            try await after.advance(by: .seconds(2))
            #expect(after.runner.requests.map(\.argv) == [["first"]])
            try await after.advance(by: .seconds(3600))
            try await after.add(ScheduleWords(in: "1s"), command: ["due"])
            try await after.advance(by: .seconds(2))
            after.runner.end()
            try await after.settle()
            #expect(after.runner.requests.map(\.argv) == [["first"], ["failed"]])
            after.runner.isHolding = false
            after.runner.end()
            try await after.settle()
            #expect(after.runner.requests.map(\.argv).last == ["due"])
            try await after.close()
        }
    }

    @Test("However few runs are kept, an attempt that waits through a crash has its number")
    func forgottenAttempts() async throws {
        try await TestScheduler.with(keeping: TestScheduler.Keeping(runs: 1)) { test in
            test.runner.outcome = .exited(3)
            let job = try await test.add(ScheduleWords(every: "10s"), command: ["false"]) {
                $0.overlap = .allow
                $0.retries = 1
                $0.backoff = "1h..1h"
                $0.count = 4
            }
            try await test.advance(by: .seconds(40))
            #expect(test.runner.requests.count == 4)
            let after = try await test.crashed()
            try await after.advance(by: .seconds(3600))
            #expect(
                after.runner.requests.map { $0.environment["TIMERD_ATTEMPT"] } == [
                    "2", "2", "2", "2",
                ]
            )
            #expect(try await after.history(job.id).compactMap(\.attempt) == [2])
            try await after.close()
        }
    }

    @Test(
        "A job that finished while its run went on is ended by the name and the tag that it was given meanwhile",
        arguments: [JobSelection.name("b"), .tag("y")]
    )
    func renamed(selection: JobSelection) async throws {
        try await TestScheduler.with { test in
            test.runner.isHolding = true
            let job = try await test.add(ScheduleWords(every: "10s"), command: ["false"]) {
                ($0.name, $0.tags, $0.retries, $0.backoff) = ("a", ["x"], 5, "5s..5s")
                $0.until = "2026-12-01T08:00:25Z"
            }
            try await test.advance(by: .seconds(11))
            var definition = try await test.job(job.id).definition
            (definition.name, definition.tags) = ("b", ["y"])
            let revision = JobRevision(id: job.id, definition: definition)
            try await test.jobs(.applyJobs(ApplyJobs(change: [revision])))
            try await test.advance(by: .seconds(10))
            #expect(try await test.job(job.id).state == .finished)
            let caller = TestScheduler.root
            let ended = try await test.scheduler.change(selection, .invalidate, caller: caller)
            #expect(ended.jobs.map(\.id) == [job.id])
            test.runner.isHolding = false
            test.runner.end(.exited(3))
            try await test.advance(by: .seconds(60))
            #expect(test.runner.requests.count == 1, "nothing of it begins any more")
        }
    }

    @Test("What the job calls success is no failure; a run that succeeds is not tried again")
    func success() async throws {
        try await TestScheduler.with { test in
            test.runner.outcome = .exited(3)
            try await test.add(ScheduleWords(in: "10s"), command: ["grep"]) {
                $0.retries = 3
                $0.successCodes = [0, 3]
            }
            try await test.advance(by: .seconds(300))
            #expect(test.runner.requests.count == 1)
        }
    }

    @Test("When a fire has failed for good, onFailure runs once, with the failed run on stdin")
    func onFailure() async throws {
        try await TestScheduler.with { test in
            test.runner.outcome = .exited(3)
            let job = try await test.add(ScheduleWords(in: "10s"), command: ["false"]) {
                $0.name = "backup"
                $0.retries = 1
                $0.onFailure = ["notify"]
            }
            try await test.advance(by: .seconds(300))
            #expect(test.runner.requests.map(\.argv) == [["false"], ["false"], ["notify"]])
            let input = try #require(test.runner.requests.last?.input)
            let told = try JSONValue(parsing: String(decoding: input, as: UTF8.self))
            guard case .object(let members) = told else {
                Issue.record("no object: \(told)")
                return
            }
            #expect(members["job"] == .integer(job.id.rawValue))
            #expect(members["name"] == .string("backup"))
            #expect(members["outcome"] == .string("exited"))
            #expect(members["status"] == .integer(3))
            #expect(members["attempt"] == .integer(2))
        }
    }

    @Test(
        "When a fire has succeeded, onSuccess runs once with its run on stdin, also after a crash"
    )
    func onSuccess() async throws {
        try await TestScheduler.with { test in
            test.runner.answer = { $0.argv == ["flaky"] ? .exited(3) : .exited(0) }
            let job = try await test.add(ScheduleWords(in: "10s"), command: ["flaky"]) {
                ($0.name, $0.retries, $0.backoff) = ("backup", 1, "1s..1s")
                ($0.onSuccess, $0.onFailure) = (["next"], ["alert"])
            }
            try await test.advance(by: .seconds(10))
            test.runner.answer = nil
            test.runner.holds = { $0.argv == ["next"] }
            try await test.advance(by: .seconds(10))
            #expect(test.runner.requests.map(\.argv) == [["flaky"], ["flaky"], ["next"]])
            let input = try #require(test.runner.requests.last?.input)
            let told = try JSONValue(parsing: String(decoding: input, as: UTF8.self))
            #expect(told["job"] == .integer(job.id.rawValue) && told["attempt"] == .integer(2))
            #expect(told["outcome"] == .string("exited") && told["status"] == .integer(0))

            // Its runner is gone with it: the handler was interrupted, and is not run again.
            let after = try await test.crashedAndDown(for: .seconds(5))
            try await after.advance(by: .seconds(60))
            #expect(after.runner.requests.isEmpty)
            let runs = try await after.history(job.id)
            #expect(runs.map(\.onSuccess) == [nil, nil, true])
            #expect(runs.map(\.onFailure) == [nil, nil, nil])
            #expect(runs.last?.outcome == .interrupted && runs.last?.attempt == nil)
            try await after.close()
            test.runner.end()
        }
    }

    @Test("A handler of success that waits when the daemon is killed is run by the next one, once")
    func onSuccessWaits() async throws {
        try await TestScheduler.with(keeping: TestScheduler.Keeping(maxRuns: 1)) { test in
            // Held, so that the other one waits for its place before the handler does.
            test.runner.holds = { $0.argv != ["next"] }
            let job = try await test.add(ScheduleWords(in: "10s"), command: ["true"]) {
                $0.onSuccess = ["next"]
            }
            try await test.add(ScheduleWords(in: "10s"), command: ["long"])
            try await test.advance(by: .seconds(11))
            #expect(test.runner.requests.map(\.argv) == [["true"]])
            test.runner.end()
            try await test.settle()
            #expect(test.runner.requests.map(\.argv) == [["true"], ["long"]])
            let waiting = try await test.history(job.id)
            #expect(waiting.map(\.waitsFor) == [.onSuccess])
            let after = try await test.crashed()
            try await after.advance(by: .seconds(1))
            #expect(after.runner.requests.map(\.argv) == [["next"]])
            try await after.close()
            test.runner.end()
        }
    }

    @Test("Between two attempts a crash changes nothing: the next one comes when it was to come")
    func crashBetween() async throws {
        try await TestScheduler.with { test in
            test.runner.outcome = .signalled(9)
            try await test.add(ScheduleWords(in: "10s"), command: ["false"]) {
                $0.retries = 2
                $0.backoff = "1h..10h"
            }
            try await test.advance(by: .seconds(11))
            #expect(test.runner.requests.count == 1)
            let after = try await test.crashedAndDown(for: .seconds(5))
            #expect(after.runner.requests.isEmpty)
            try await after.advance(by: .seconds(3600))
            #expect(after.runner.requests.map { $0.environment["TIMERD_ATTEMPT"] } == ["2"])
            try await after.close()
        }
    }

    @Test("A run that a crash interrupted runs again only where its job wants that")
    func interrupted() async throws {
        try await TestScheduler.with { test in
            test.runner.isHolding = true
            for (rerun, retries) in [(false, 0), (true, 0), (false, 1)] {
                try await test.add(ScheduleWords(in: "10s"), command: ["\(rerun) \(retries)"]) {
                    $0.rerunInterrupted = rerun
                    $0.retries = retries
                }
            }
            try await test.advance(by: .seconds(11))
            #expect(test.runner.requests.count == 3)
            let after = try await test.crashedAndDown(for: .seconds(5))
            try await after.advance(by: .seconds(60))
            #expect(Set(after.runner.requests.map { $0.argv[0] }) == ["true 0", "false 1"])
            #expect(after.recovered.interrupted == 3)
            try await after.close()
            test.runner.end()
        }
    }

    @Test("While the next attempt is to come, the job is busy; once it is ended, none comes")
    func busyBetween() async throws {
        try await TestScheduler.with { test in
            test.runner.outcome = .exited(1)
            let job = try await test.add(ScheduleWords(every: "10s"), command: ["false"]) {
                $0.retries = 1
                $0.backoff = "1h"
            }
            try await test.advance(by: .seconds(25))
            let story = try await SchedulerDatesTests.story(test.history(job.id))
            #expect(story == ["fire 10", "overlap 20"])
            try await test.change(job.id, .invalidate)
            try await test.advance(by: .seconds(7200))
            #expect(test.runner.requests.count == 1)
            #expect(try await test.history(job.id).first?.state == .done)
        }
    }

    @Test("Two fires that a crash left to be tried again are not tried beside each other")
    func twoAttempts() async throws {
        try await TestScheduler.with { test in
            test.runner.isHolding = true
            let job = try await test.add(ScheduleWords(every: "10s"), command: ["x"]) {
                $0.retries = 1
            }
            // Made ready for its date, which is to be skipped for the fire by hand.
            try await test.advance(by: .milliseconds(9_995))
            _ = try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
            let after = try await test.crashed()
            after.runner.isHolding = true
            try await after.advance(by: .seconds(5))
            #expect(after.runner.heldCount == 1)
            #expect(after.runner.requests.count == 1)
            after.runner.end()
            try await after.advance(by: .milliseconds(1))
            #expect(after.runner.heldCount == 1, "the other follows it")
            #expect(after.runner.requests.count == 2)
            after.runner.end()
            try await after.settle()
            test.runner.end()
            try await after.close()
        }
    }
}
