// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

@Suite("A dead man's switch", .timeLimit(.minutes(2))) struct PingTests {
    private static let url = "https://ping.example/old"

    /// A job that has succeeded once, after an hour, and whose ping was not taken.
    private static func addSucceeded(
        _ test: TestScheduler,
        name: String? = nil
    ) async throws -> StoredJob {
        test.runner.answer = NoticeSupport.answers(.exited(0), told: .exited(22))
        let job = try await test.add(ScheduleWords(every: "1h"), command: ["true"]) {
            ($0.name, $0.ping) = (name, url)
        }
        try await test.advance(by: .seconds(3601))
        #expect(try await NoticeSupport.waiting(test).map(\.reason) == [.ping])
        return job
    }

    /// Jobs that have succeeded, fire no more, and whose pings were not taken.
    private static func addSucceeded(_ test: TestScheduler, jobs: Int) async throws {
        test.runner.answer = NoticeSupport.answers(.exited(0), told: .exited(22))
        for _ in 1...jobs {
            try await test.add(ScheduleWords(in: "1s"), command: ["true"]) { $0.ping = url }
        }
        try await test.advance(by: .seconds(2))
        #expect(try await NoticeSupport.waiting(test).count == jobs)
    }

    @Test("A ping that waits goes no more once a fire has failed for good")
    func failed() async throws {
        try await TestScheduler.with { test in
            let job = try await Self.addSucceeded(test)
            test.runner.answer = NoticeSupport.answers(.exited(1), told: .exited(22))
            _ = try await test.scheduler.fire(.id(job.id), caller: TestScheduler.root)
            #expect(try await NoticeSupport.waiting(test).isEmpty)
        }
    }

    @Test(
        "A ping that waits goes no more to a URL that its job has no longer",
        arguments: ["https://ping.example/new", nil]
    )
    func changed(ping: String?) async throws {
        try await TestScheduler.with { test in
            let job = try await Self.addSucceeded(test)
            try await NoticeSupport.change(test, job) { $0.tags = ["net"] }
            #expect(try await NoticeSupport.waiting(test).count == 1, "its URL is the same")
            try await NoticeSupport.change(test, job) { $0.ping = ping }
            #expect(try await NoticeSupport.waiting(test).isEmpty)
        }
    }

    @Test(
        "A ping that waits goes no more to a URL that the job of its name has no longer",
        arguments: ["https://ping.example/new", nil]
    )
    func replaced(ping: String?) async throws {
        try await TestScheduler.with { test in
            let job = try await Self.addSucceeded(test, name: "a")
            for (url, count) in [(Self.url, 1), (ping, 0)] {
                var definition = job.definition
                definition.ping = url
                let new = try NewJob(definition, owner: 0, at: test.clock.now(), zone: .utc)
                let root = TestScheduler.root
                let again = try await test.scheduler.add([new], replace: true, caller: root)
                #expect(again.map(\.id) == [job.id])
                #expect(try await NoticeSupport.waiting(test).count == count)
            }
        }
    }

    @Test("A ping that waits goes no more once somebody has ended its job")
    func invalidated() async throws {
        try await TestScheduler.with { test in
            let job = try await Self.addSucceeded(test)
            try await test.change(job.id, .invalidate)
            #expect(try await NoticeSupport.waiting(test).isEmpty)
        }
    }

    @Test("A ping is tried for an hour, also of a job that its last fire has ended")
    func patience() async throws {
        try await TestScheduler.with { test in
            test.runner.answer = NoticeSupport.answers(.exited(0), told: .exited(22))
            let job = try await test.add(ScheduleWords(in: "1s"), command: ["true"]) {
                $0.ping = Self.url
            }
            try await test.advance(by: .seconds(3700))
            #expect(try await test.job(job.id).state == .finished)
            #expect(try await NoticeSupport.waiting(test).count == 1)
            try await test.advance(by: .seconds(200))
            #expect(try await NoticeSupport.waiting(test).isEmpty)
            #expect(test.sink.all(.noticeFailed).count == 1)
        }
    }

    @Test("A ping that waits for the next daemon goes within its hour, and is given up after it")
    func oldAtStart() async throws {
        try await TestScheduler.with { test in
            try await Self.addSucceeded(test, jobs: 1)
            let soon = try await test.crashedAndDown(for: .seconds(1800))
            #expect(try await NoticeSupport.waiting(soon).isEmpty)
            #expect(NoticeSupport.told(soon).count == 1)
            #expect(soon.sink.all(.noticeFailed).isEmpty)
            try await soon.close()
            let late = try await test.crashedAndDown(for: .seconds(7200))
            #expect(try await NoticeSupport.waiting(late).isEmpty)
            #expect(NoticeSupport.told(late).isEmpty, "it would pass for a success of now")
            #expect(
                late.sink.all(.noticeFailed).map(\.reason) == [
                    "ping to https://ping.example/…: its run ended too long ago; before: exit status 22"
                ]
            )
            #expect(await late.scheduler.measures().counters.notices.givenUp == 1)
            try await late.close()
        }
    }

    @Test("Pings that are too old are all given up, however many they are, and a new one goes")
    func manyOldAtStart() async throws {
        try await TestScheduler.with { test in
            try await test.add(ScheduleWords(in: "2h"), command: ["true"]) { $0.ping = Self.url }
            try await Self.addSucceeded(test, jobs: 129)
            let after = try await test.crashedAndDown(for: .seconds(7300))
            #expect(after.sink.all(.noticeFailed).count == 129)
            try await after.advance(by: .seconds(10))
            #expect(try await NoticeSupport.waiting(after).isEmpty)
            #expect(after.sink.all(.noticeFailed).count == 129)
            #expect(NoticeSupport.told(after).count == 1)
            try await after.close()
        }
    }

    @Test(
        "A success that is heard of late pings for the rest of the hour after it",
        arguments: [(ago: TimeSpan.seconds(600), told: 1), (ago: .seconds(7000), told: 0)]
    )
    func heardLate(ago: TimeSpan, told: Int) async throws {
        try await TestScheduler.with { test in
            test.runner.isHolding = true
            try await test.add(ScheduleWords(in: "1s"), command: ["true"]) { $0.ping = Self.url }
            try await test.advance(by: .seconds(2))
            var known = KnownRuns(epoch: test.runner.known.epoch)
            known.runs[1] = KnownRun(phase: .running, pid: 77, startedAtMicroseconds: 0)
            let after = try await test.crashedAndDown(for: .seconds(7200), known: known)
            try await after.settle()
            after.runner.endedBefore = ago
            after.runner.end()
            #expect(try await NoticeSupport.waiting(after).isEmpty)
            #expect(NoticeSupport.told(after).count == told)
            #expect(after.sink.all(.noticeFailed).count == 1 - told)
            try await after.close()
            test.runner.end()
        }
    }
}
