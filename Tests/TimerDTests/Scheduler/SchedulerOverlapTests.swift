// SPDX-License-Identifier: Apache-2.0

import Locks
import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import SQLite
@testable import TimerD

@Suite("Scheduler, runs that overlap", .timeLimit(.minutes(2)))
struct SchedulerOverlapTests {
    /// A job every 10 s whose runs do not end by themselves.
    private static func with(
        _ overlap: JobDefinition.Overlap,
        _ body: (TestScheduler, JobID) async throws -> Void
    ) async throws {
        try await TestScheduler.with { test in
            test.runner.isHolding = true
            let job = try await test.add(ScheduleWords(every: "10s"), command: ["slow"]) {
                $0.overlap = overlap
            }
            try await body(test, job.id)
            test.runner.isHolding = false
            test.runner.end()
            try await test.settle()
        }
    }

    /// The fire dates of the runs that were started, in seconds after the start.
    private static func started(_ test: TestScheduler) -> [Int64] {
        test.runner.requests.map { request in
            let date = Timestamp(rfc3339: request.environment["TIMERD_FIRE_DATE"] ?? "")
            return ((date ?? .distantPast) - TestScheduler.start).microseconds / 1_000_000
        }
    }

    @Test("skip: a date that comes while a run is in progress is skipped, with the reason")
    func skip() async throws {
        try await Self.with(.skip) { test, job in
            try await test.advance(by: .seconds(31))
            #expect(Self.started(test) == [10])
            test.runner.end()
            try await test.advance(by: .seconds(10))
            #expect(Self.started(test) == [10, 40])
            let story = try await SchedulerDatesTests.story(test.history(job))
            #expect(story == ["fire 10", "overlap 20", "overlap 30", "fire 40"])
        }
    }

    @Test("queue: one fire waits for the run's end; those that come meanwhile are skipped")
    func queue() async throws {
        try await Self.with(.queue) { test, job in
            try await test.advance(by: .seconds(35))
            #expect(Self.started(test) == [10])
            #expect(test.fired(job) == [10], "20 waits, 30 is skipped")
            let history = try await test.history(job)
            #expect(history.map(\.state) == [.running, .waiting, .skipped])
            #expect(history.map(\.waitsFor) == [nil, .run, nil])
            #expect(history.map(\.reason) == [nil, nil, .lineFull])
            let told = try #require(test.sink.all(.fireSkipped).first)
            #expect(told.reason == "lineFull")
            #expect(told.run == history.first?.id)
            test.runner.end()
            try await test.settle()
            #expect(Self.started(test) == [10, 20])
            try await test.advance(by: .seconds(6))
            #expect(test.fired(job) == [10, 20], "40 waits")
            test.runner.end()
            try await test.settle()
            #expect(Self.started(test) == [10, 20, 40])
        }
    }

    @Test(
        "queue: a run that failed is tried again before what waits begins, also if its job has got retries since"
    )
    func retriesSince() async throws {
        try await Self.with(.queue) { test, job in
            try await test.advance(by: .seconds(21))
            let stored = try await test.job(job)
            try await NoticeSupport.change(test, stored) {
                ($0.retries, $0.backoff) = (1, "1s..1s")
            }
            test.runner.end(.exited(1))
            try await test.advance(by: .seconds(2))
            #expect(Self.started(test) == [10, 10])
            test.runner.end()
            try await test.settle()
            #expect(Self.started(test) == [10, 10, 20])
        }
    }

    @Test("A fire that has to wait is told as it begins, and that is stored before")
    func waitingIsStoredFirst() async throws {
        let folder = try TemporaryFolder()
        let sink = RowsWhenTold(database: folder.file("timerd.db"))
        let test = try await TestScheduler(folder: folder.path) { _ in sink }
        test.runner.isHolding = true
        _ = try await test.add(ScheduleWords(every: "10s"), command: ["slow"]) {
            $0.overlap = .queue
        }
        try await test.advance(by: .seconds(25))
        #expect(sink.states == [.running])
        test.runner.end()
        try await test.settle()
        #expect(sink.states == [.running, .running])
        test.runner.end()
        try await test.close()
    }

    /// Keeps what the row of each fire said at the moment when it was told.
    private final class RowsWhenTold: EventPublisher {
        private let database: String
        private let found = Locked([Run.State?]())

        init(database: String) { self.database = database }

        var states: [Run.State?] { found.withLock { $0 } }

        func publish(_ event: Event) {
            guard event.type == .fireFired, let fire = event.fire else { return }
            // try?: what cannot be read is nil, and not what is expected.
            let reader = try? Database(path: database, mode: .readOnly)
            defer { reader?.close() }
            let query = "SELECT state FROM fires WHERE id = ?1"
            let state = try? reader?.prepare(query).value(fire, as: Run.State.self)
            found.withLock { $0.append(state) }
        }
    }

    @Test("allow: runs go on beside each other")
    func allow() async throws {
        try await Self.with(.allow) { test, job in
            try await test.advance(by: .seconds(35))
            #expect(Self.started(test) == [10, 20, 30])
            #expect(try await test.history(job).allSatisfy { $0.state == .running })
        }
    }

    @Test("replace: the run in progress is ended, and the new one begins then")
    func replace() async throws {
        try await Self.with(.replace) { test, job in
            try await test.advance(by: .seconds(35))
            #expect(Self.started(test) == [10, 20, 30])
            let history = try await test.history(job)
            #expect(history.map(\.outcome) == [.signalled, .signalled, nil])
        }
    }

    @Test("replace: a fire that waits says that a newer one took its place")
    func replaced() async throws {
        try await Self.with(.replace) { test, job in
            test.runner.ignoresSignals = true
            try await test.advance(by: .seconds(35))
            let history = try await test.history(job)
            #expect(history.map(\.state) == [.running, .skipped, .waiting])
            #expect(history.map(\.reason) == [nil, .replaced, nil])
            #expect(test.sink.all(.fireSkipped).map(\.reason) == ["replaced"])
            test.runner.ignoresSignals = false
        }
    }

    @Test("A fire that waits for a run runs after a crash, once")
    func queueAndCrash() async throws {
        try await Self.with(.queue) { test, job in
            try await test.advance(by: .seconds(25))
            let after = try await test.crashedAndDown(for: .seconds(2))
            #expect(Self.started(after) == [20])
            let history = try await after.history(job)
            #expect(history.map(\.outcome) == [.interrupted, .exited])
            #expect(history.map(\.attempt) == [1, 1])
            try await after.close()
        }
    }

    @Test("A fire that waits is dropped when its job is ended, with the reason")
    func queueAndInvalidate() async throws {
        try await Self.with(.queue) { test, job in
            try await test.advance(by: .seconds(25))
            try await test.change(job, .invalidate)
            test.runner.end()
            try await test.settle()
            #expect(Self.started(test) == [10])
            #expect(try await test.history(job).map(\.reason) == [nil, .invalidated])
        }
    }

    @Test("Fired by hand while it runs, a job does what its overlap policy says")
    func byHand() async throws {
        for (overlap, runs) in [(JobDefinition.Overlap.queue, 1), (.allow, 2), (.replace, 2)] {
            try await Self.with(overlap) { test, job in
                try await test.advance(by: .seconds(11))
                _ = try await test.scheduler.fire(.id(job), caller: TestScheduler.root)
                try await test.settle()
                #expect(test.runner.requests.count == runs, "\(overlap)")
                test.runner.end()
                try await test.settle()
                #expect(test.runner.requests.count == 2, "\(overlap)")
            }
        }
    }

    @Test(
        "A run that was made ready leaves nothing where its fire then waits for another",
        arguments: [
            JobDefinition.Overlap.queue, .skip,
        ]
    )
    func readyAndThenWaiting(overlap: JobDefinition.Overlap) async throws {
        try await TestScheduler.with { test in
            test.runner.isHolding = true
            let job = try await test.add(ScheduleWords(every: "10s"), command: ["x"]) {
                $0.overlap = overlap
            }
            // Its run is stored 10 ms ahead; the one by hand begins after that.
            try await test.advance(by: .milliseconds(9_995))
            _ = try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
            try await test.advance(by: .milliseconds(10))
            let rows = try await test.history(job.id)
            #expect(rows.count { $0.id != nil } == 1)
            #expect(rows.contains { $0.state == (overlap == .queue ? .waiting : .skipped) })
        }
    }

    @Test("A fire that waits for a run does not begin beside the next attempt of another")
    func queuedBesideRetry() async throws {
        try await TestScheduler.with { test in
            test.runner.outcome = .exited(1)
            let job = try await test.add(ScheduleWords(every: "10s"), command: ["x"]) {
                $0.overlap = .queue
                $0.retries = 1
                $0.backoff = "1h"
            }
            // The first fire waits for its next attempt, the second for the first.
            try await test.advance(by: .seconds(25))
            let runs = test.runner.requests.count
            let after = try await test.crashed()
            try await after.advance(by: .seconds(1))
            #expect(runs == 1)
            #expect(after.runner.requests.isEmpty)
            #expect(try await after.history(job.id).contains { $0.state == .waiting })
            try await after.close()
        }
    }
}
