// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

/// How many fires of one user may wait for their commands to begin.
@Suite("A bound of what waits", .timeLimit(.minutes(1))) struct WaitingBoundTests {
    private static let accounts = Accounts(find: { uid throws(StartRefusal) in
        Account(uid: uid, gid: uid, groups: [uid], name: "\(uid)", home: "/", shell: "/bin/sh")
    })

    /// A daemon with one place, which a run of root's has, and three fires that may wait of a user.
    private static func with(_ body: (TestScheduler) async throws -> Void) async throws {
        var keeping = TestScheduler.Keeping(maxRuns: 1)
        keeping.maxWaiting = 3
        try await TestScheduler.with(keeping: keeping, accounts: accounts) { test in
            test.runner.isHolding = true
            try await test.add(ScheduleWords(in: "1s"), command: ["first"])
            try await test.advance(by: .seconds(2))
            #expect(test.runner.requests.count == 1)
            try await body(test)
        }
    }

    private static func add(
        _ test: TestScheduler,
        _ every: String,
        of uid: UInt32 = 1001
    ) async throws -> JobID {
        var definition = JobDefinition(schedule: ScheduleWords(every: every))
        (definition.command, definition.overlap) = (["x"], .allow)
        let answer = try await test.handler().handle(.addJobs(AddJobs(definition)), from: uid)
            .get()
        return try #require((answer as? JobReply)?.job.id)
    }

    private static func waiting(_ test: TestScheduler, _ job: JobID) async throws -> Int {
        try await test.history(job).count { $0.state == .waiting }
    }

    @Test("Beyond it a date is left out, and says why; one of each job waits, and any of root's")
    func scheduled() async throws {
        try await Self.with { test in
            let often = try await Self.add(test, "2s")
            let roots = try await Self.add(test, "2s", of: 0)
            try await test.advance(by: .seconds(5))
            let other = try await Self.add(test, "9s")
            try await test.advance(by: .seconds(16))
            #expect(try await Self.waiting(test, often) == 3)
            #expect(try await Self.waiting(test, other) == 1)
            #expect(try await Self.waiting(test, roots) == 10)
            let skipped = try await test.history(often).filter { $0.state == .skipped }
            #expect(skipped.map(\.dates).reduce(0) { $0 + ($1 ?? 1) } == 7)
            #expect(Set(skipped.map(\.reason)) == [.overload])
            // What waits begins, and nothing more is left out.
            test.runner.isHolding = false
            test.runner.end()
            try await test.advance(by: .seconds(4))
            #expect(try await Self.waiting(test, often) == 0)
            let fires = try await test.history(often)
            #expect(fires.count { $0.state == .done } == 5)
            #expect(fires.filter { $0.state == .skipped }.count == skipped.count)
        }
    }

    @Test("Beyond it a fire by hand is refused, but the first one of a job")
    func byHand() async throws {
        try await Self.with { test in
            let (job, other) = (try await Self.add(test, "1d"), try await Self.add(test, "1d"))
            let fire = { (job: JobID, uid: UInt32) in
                await test.handler().handle(.fireJob(.id(job)), from: uid)
            }
            for _ in 1...3 { _ = try await fire(job, 1001).get() }
            for uid: UInt32 in [1001, 0] {
                let error = await #expect(throws: ControlError.self) {
                    try await fire(job, uid).get()
                }
                #expect(error?.reason == .limitReached)
                #expect(error?.message.hasPrefix("3 fires of uid 1001 wait for") == true)
            }
            _ = try await fire(other, 1001).get()
            await #expect(throws: ControlError.self) { try await fire(other, 1001).get() }
            // The claim of its next date, a minute ahead, neither waits nor runs.
            _ = try await fire(try await Self.add(test, "1min"), 1001).get()
            let roots = try await Self.add(test, "1d", of: 0)
            for _ in 1...5 { _ = try await fire(roots, 0).get() }
            test.runner.isHolding = false
            test.runner.end()
            try await test.settle()
            _ = try await fire(job, 1001).get()
        }
    }

    @Test("Many fires that wait are dropped in pieces as their job is invalidated, and none begins")
    func pieces() async throws {
        try await Self.with { test in
            let job = try await Self.add(test, "1d", of: 0)
            for _ in 1...200 {
                _ = try await test.handler().handle(.fireJob(.id(job)), from: 0).get()
            }
            #expect(try await Self.waiting(test, job) == 200)
            try await test.change(job, .invalidate)
            test.runner.isHolding = false
            test.runner.end()
            try await test.settle()
            #expect(test.runner.requests.count == 1)
            #expect(try await Self.waiting(test, job) == 0)
            #expect(test.sink.all(.fireSkipped).count { $0.job == job } == 200)
            let measures = await test.scheduler.measures()
            #expect(measures.waitingForPlace == 0)
        }
    }
}
