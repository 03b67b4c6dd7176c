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
}
