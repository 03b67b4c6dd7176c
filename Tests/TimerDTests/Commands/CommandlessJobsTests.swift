// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

/// What becomes of fires whose command is to begin, or to begin again, as their job is changed into one without.
@Suite("Jobs that have no command any more", .timeLimit(.minutes(1)))
struct CommandlessJobsTests {
    enum Way: CaseIterable {
        case event, queue, replaced
    }

    /// Makes the job an event, or one of a queue, which fires in an hour.
    private static func change(
        _ test: TestScheduler,
        _ job: StoredJob,
        _ way: Way = .event
    ) async throws {
        var definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
        (definition.name, definition.notify) = (job.definition.name, job.definition.notify)
        definition.notifyEvery = job.definition.notifyEvery
        if way == .queue { definition.queue = "q" }
        let new = try NewJob(definition, owner: 0, at: test.clock.now(), zone: .utc)
        if way == .replaced {
            _ = try await test.scheduler.add([new], replace: true, caller: TestScheduler.root)
        } else {
            let changes = JobChanges(invalidate: [], change: [.init(id: job.id, to: new)], add: [])
            _ = try await test.scheduler.apply(changes, caller: TestScheduler.root)
        }
    }

    /// A job that fires in 10 s, with a command that is tried again within the hour.
    private static func add(
        _ test: TestScheduler,
        _ change: (inout JobDefinition) -> Void = { _ in }
    ) async throws -> StoredJob {
        try await test.add(ScheduleWords(every: "2h", from: "2026-12-01T08:00:10Z"), command: ["x"])
        {
            ($0.name, $0.retries, $0.backoff) = ("a", 1, "1h..1h")
            ($0.notify, $0.notifyEvery) = ([NoticeSupport.place], "0s")
            change(&$0)
        }
    }

    /// The commands of jobs that were started.
    private static func started(_ test: TestScheduler) -> [[String]] {
        test.runner.requests.filter { $0.run > 0 }.map(\.argv)
    }

    private static func told(_ test: TestScheduler) throws -> [NoticeDocument] {
        try NoticeSupport.told(test).map { try NoticeSupport.document($0) }
    }

    /// How many fires the scheduler has wait, for whatever.
    private static func waiting(_ test: TestScheduler) async -> Int {
        let measures = await test.scheduler.measures()
        return measures.waiting + measures.waitingForPlace
    }

    @Test("A fire that waits for its next attempt has failed for good", arguments: Way.allCases)
    func retry(way: Way) async throws {
        try await TestScheduler.with { test in
            test.runner.answer = NoticeSupport.answers(.exited(3))
            test.runner.output = CapturedOutput(
                stdout: Array(String(repeating: "é", count: 5000).utf8),
                stderr: Array("no\n".utf8)
            )
            let job = try await Self.add(test)
            try await test.advance(by: .seconds(10))
            #expect(try await test.history(job.id).map(\.waitsFor) == [.retry])
            #expect(await Self.waiting(test) == 1)
            try await Self.change(test, job, way)
            let run = try #require(try await test.history(job.id).first)
            #expect((run.state, run.failed, run.status) == (.done, true, 3))
            #expect(run.nextAttemptAt == nil && run.waitsFor == nil)
            #expect(await Self.waiting(test) == 0)
            #expect(test.sink.all(.jobChanged).map(\.job) == [job.id])

            try await test.advance(by: .seconds(1))
            let told = try #require(try Self.told(test).first)
            #expect(told.reason == "failed" && told.fire == run.fire && told.run == run.id)
            #expect((told.attempt, told.outcome, told.status) == (1, .exited, 3))
            #expect(told.startedAt == run.startedAt && told.endedAt == run.endedAt)
            #expect(told.stderr == "no\n")
            #expect(told.stdout?.unicodeScalars.allSatisfy { $0 == "é" } == true)
            #expect(told.stdout?.utf8.count == 4092, "the end, not from the middle of a character")
            try await test.advance(by: .seconds(3600))
            #expect(Self.started(test) == [["x"]])
            #expect(try Self.told(test).count == 1)
        }
    }

    @Test("Many that wait for their next attempt have failed for good, and each is told once")
    func manyRetries() async throws {
        try await TestScheduler.with(keeping: .all) { test in
            test.runner.answer = NoticeSupport.answers(.exited(3))
            let job = try await Self.add(test) {
                ($0.schedule, $0.overlap) = (ScheduleWords(every: "1s"), .allow)
            }
            try await test.advance(by: .seconds(100))
            let waiting = try await test.history(job.id).filter { $0.waitsFor == .retry }
            #expect(waiting.count > JobTransaction.droppedAtOnce)
            try await Self.change(test, job)
            let history = try await test.history(job.id)
            // One may have had its next attempt by then.
            let fires = Set(history.map(\.fire)).sorted()
            #expect(history.allSatisfy { $0.state == .done && $0.failed == true })
            #expect(await Self.waiting(test) == 0)
            try await test.advance(by: .seconds(60))
            let told = try Self.told(test)
            #expect(told.compactMap(\.fire).sorted() == fires)
            #expect(told.allSatisfy { $0.reason == "failed" })
        }
    }

    @Test("It has failed by the rules that its job had then")
    func successCodes() async throws {
        try await TestScheduler.with { test in
            let job = try await Self.add(test) { $0.successCodes = [7] }
            try await test.advance(by: .seconds(10))
            #expect(try await test.history(job.id).map(\.waitsFor) == [.retry])
            try await Self.change(test, job)
            try await test.advance(by: .seconds(1))
            #expect(try Self.told(test).map(\.reason) == ["failed"])
            #expect(try Self.told(test).map(\.status) == [0])
        }
    }

    @Test("After a crash right behind the answer nothing of it is tried again")
    func crash() async throws {
        try await TestScheduler.with { test in
            test.runner.answer = NoticeSupport.answers(.exited(3))
            let job = try await Self.add(test) { $0.notify = nil }
            try await test.advance(by: .seconds(10))
            try await Self.change(test, job)
            let after = try await test.crashed()
            #expect(try await after.history(job.id).map(\.state) == [.done])
            #expect(await Self.waiting(after) == 0)
            try await after.advance(by: .seconds(3600))
            #expect(Self.started(after).isEmpty)
            try await after.close()
        }
    }

    @Test("A run in progress goes on, and its failure is one for good", arguments: Way.allCases)
    func running(way: Way) async throws {
        try await TestScheduler.with { test in
            test.runner.holds = { $0.run > 0 }
            let job = try await Self.add(test) { $0.onFailure = ["alert"] }
            try await test.advance(by: .seconds(10))
            try await Self.change(test, job, way)
            #expect(try await test.history(job.id).map(\.state) == [.running])
            test.runner.end(.exited(3))
            try await test.settle()
            let run = try #require(try await test.history(job.id).first)
            #expect((run.state, run.failed, run.status) == (.done, true, 3))
            #expect(run.nextAttemptAt == nil && run.waitsFor == nil)
            #expect(await Self.waiting(test) == 0)
            try await test.advance(by: .seconds(3600))
            #expect(Self.started(test) == [["x"]])
            #expect(try Self.told(test).map(\.reason) == ["failed"])
        }
    }

    @Test(
        "A date that waits for the run in progress is skipped as changed",
        arguments: Way.allCases
    )
    func waitsForRun(way: Way) async throws {
        try await TestScheduler.with { test in
            test.runner.holds = { $0.run > 0 }
            let job = try await Self.add(test) {
                ($0.schedule, $0.overlap) = (ScheduleWords(every: "10s"), .queue)
            }
            try await test.advance(by: .seconds(25))
            #expect(try await test.history(job.id).map(\.waitsFor) == [nil, .run])
            try await Self.change(test, job, way)
            let dropped = try #require(try await test.history(job.id).last)
            #expect((dropped.state, dropped.reason) == (.skipped, .changed))
            #expect(test.sink.all(.fireSkipped).map(\.fire) == [dropped.fire])
            #expect(test.sink.all(.fireSkipped).map(\.reason) == ["changed"])
            #expect(try await test.job(job.id).fires == 0)
            #expect(await Self.waiting(test) == 0)
            test.runner.end()
            try await test.advance(by: .seconds(60))
            #expect(Self.started(test) == [["x"]])
            #expect(try Self.told(test).isEmpty)
        }
    }

    @Test(
        "A fire by hand that waits for a place is dropped, for its job was changed",
        arguments: Way.allCases
    )
    func byHand(way: Way) async throws {
        try await TestScheduler.with(keeping: TestScheduler.Keeping(maxRuns: 1)) { test in
            test.runner.holds = { $0.run > 0 }
            try await test.add(ScheduleWords(in: "1s"), command: ["long"])
            let job = try await Self.add(test)
            try await test.advance(by: .seconds(2))
            let (_, fire) = try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
            #expect(try await test.history(job.id).map(\.waitsFor) == [.place])
            try await Self.change(test, job, way)
            let dropped = try #require(try await test.history(job.id).first)
            #expect((dropped.fire, dropped.state) == (fire, .skipped))
            #expect(dropped.reason == .withdrawn, "it is of no date of the schedule")
            #expect(dropped.reason?.sentence.contains("changed") == true)
            #expect(test.sink.all(.fireSkipped).map(\.fire) == [fire])
            #expect(await Self.waiting(test) == 0)
            test.runner.end()
            try await test.advance(by: .seconds(60))
            #expect(Self.started(test) == [["long"]])
        }
    }

    @Test("A handler that waits is dropped, and the failure before it is told once")
    func handler() async throws {
        try await TestScheduler.with(keeping: TestScheduler.Keeping(maxRuns: 1)) { test in
            test.runner.holds = { $0.run > 0 }
            let job = try await Self.add(test) { ($0.retries, $0.onFailure) = (0, ["alert"]) }
            try await test.advance(by: .seconds(11))
            try await test.add(ScheduleWords(in: "1s"), command: ["long"])
            try await test.advance(by: .seconds(2))
            test.runner.end(.exited(3))
            try await test.settle()
            #expect(Self.started(test) == [["x"], ["long"]])
            #expect(try await test.history(job.id).map(\.waitsFor) == [.onFailure])
            try await Self.change(test, job)
            #expect(try await test.history(job.id).map(\.state) == [.done])
            #expect(try await test.history(job.id).map(\.waitsFor) == [nil])
            #expect(await Self.waiting(test) == 0)
            test.runner.end()
            try await test.advance(by: .seconds(60))
            #expect(Self.started(test) == [["x"], ["long"]])
            #expect(try Self.told(test).map(\.reason) == ["failed"])
        }
    }

    @Test("An event does not wait for a run of the command that its job had")
    func besideRun() async throws {
        try await TestScheduler.with { test in
            test.runner.isHolding = true
            let job = try await test.add(ScheduleWords(every: "10s"), command: ["x"])
            try await test.advance(by: .seconds(11))
            let event = try NewJob(
                JobDefinition(schedule: ScheduleWords(every: "10s")),
                owner: 0,
                at: test.clock.now(),
                zone: .utc
            )
            let changes = JobChanges(
                invalidate: [],
                change: [.init(id: job.id, to: event)],
                add: []
            )
            _ = try await test.scheduler.apply(changes, caller: TestScheduler.root)
            try await test.advance(by: .seconds(25))
            _ = try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
            let states = try await test.history(job.id).map(\.state)
            #expect(states == [.running, .fired, .fired, .fired])
            test.runner.isHolding = false
            test.runner.end()
            try await test.settle()
        }
    }
}
