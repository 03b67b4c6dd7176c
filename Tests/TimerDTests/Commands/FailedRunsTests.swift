// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

@Suite("run.list, what went wrong", .timeLimit(.minutes(2))) struct FailedRunsTests {
    private static let (ann, ben): (UInt32, UInt32) = (1001, 1002)

    /// Every user is there.
    private static var accounts: Accounts {
        Accounts(find: { uid throws(StartRefusal) in
            let name = Owner(uid: uid).name
            return Account(uid: uid, gid: uid, groups: [], name: name, home: "/", shell: "/bin/sh")
        })
    }

    private func list(
        _ test: TestScheduler,
        from uid: UInt32 = 0,
        _ narrow: (inout ListRuns) -> Void
    ) async throws -> RunsReply {
        var request = ListRuns()
        request.limit = 1000
        narrow(&request)
        return try #require(
            try await test.handler().handle(.listRuns(request), from: uid).get() as? RunsReply
        )
    }

    /// One-shots that end one after another: the first with status 1.
    private func makeHistory(_ test: TestScheduler) async throws {
        let outcomes: [(RunOutcome, UInt32, String)] = [
            (.exited(1), Self.ann, "first"), (.exited(0), Self.ann, "well"),
            (.exited(3), Self.ann, "three is well"), (.signalled(9), Self.ben, "killed"),
            (.timedOut, Self.ann, "slow"), (.notStarted("no such file"), 0, "missing"),
            (.interrupted, Self.ben, "lost"), (.exited(3), 0, "three"),
        ]
        for (outcome, uid, name) in outcomes {
            test.runner.outcome = outcome
            var job = JobDefinition(schedule: ScheduleWords(in: "1s"))
            (job.command, job.name) = (["x"], name)
            if name == "three is well" { job.successCodes = [0, 3] }
            if name == "slow" || name == "killed" { job.tags = ["night"] }
            _ = try await test.handler().handle(.addJobs(AddJobs(job)), from: uid).get()
            try await test.advance(by: .seconds(60))
        }
        // An event, which can't fail.
        try await test.add(ScheduleWords(in: "1s"))
        try await test.advance(by: .seconds(60))
    }

    @Test(
        "Failures of all jobs come with their jobs' names, the last to end first; to each user his own"
    )
    func failed() async throws {
        try await TestScheduler.with(accounts: Self.accounts) { test in
            try await makeHistory(test)
            let all = ["three", "lost", "missing", "slow", "killed", "first"]
            for (uid, expected) in [
                (0, all), (Self.ann, ["slow", "first"]), (Self.ben, ["lost", "killed"]),
            ] as [(UInt32, [String])] {
                let reply = try await list(test, from: uid) { $0.failed = true }
                #expect(reply.runs.map(\.name) == expected, "of \(uid)")
                #expect(reply.runs.allSatisfy { $0.failed == true })
                #expect(reply.cursor == nil)
            }
            for size in 1...all.count {
                var (runs, cursor): ([Run], RunCursor?) = ([], nil)
                repeat {
                    let page = try await list(test) {
                        ($0.failed, $0.limit, $0.cursor) = (true, size, cursor)
                    }
                    runs += page.runs
                    cursor = page.cursor
                } while cursor != nil
                #expect(runs.map(\.name) == all, "in pages of \(size)")
            }
            let whole = try await list(test) { _ in }
            #expect(
                Set(whole.runs.filter { $0.failed == nil }.map(\.name)) == [
                    "well", "three is well", nil,
                ]
            )
        }
    }

    @Test("A run that began before the time and failed after it is among the failures since then")
    func since() async throws {
        try await TestScheduler.with { test in
            test.runner.isHolding = true
            let job = try await test.add(ScheduleWords(in: "1s"), command: ["x"])
            try await test.advance(by: .seconds(3600))
            let date = test.clock.now().wall
            test.runner.end(.exited(1))
            try await test.settle()
            let failed = try await list(test) { ($0.failed, $0.since) = (true, date) }
            #expect(failed.runs.map(\.job) == [job.id])
            #expect(try await list(test) { $0.since = date }.runs.isEmpty)
            let later = date + .seconds(1)
            #expect(try await list(test) { ($0.failed, $0.since) = (true, later) }.runs.isEmpty)
            let before = date - .seconds(3600)
            #expect(try await list(test) { $0.since = before }.runs.map(\.job) == [job.id])
            #expect(try await list(test) { ($0.job, $0.failed) = (job.id, true) }.runs.count == 1)
        }
    }

    @Test("What is listed may have one outcome, a tag, an owner")
    func narrowed() async throws {
        try await TestScheduler.with(accounts: Self.accounts) { test in
            try await makeHistory(test)
            let expected: [(RunWord, [String?])] = [
                (.success, ["three is well", "well"]), (.failure, ["three", "first"]),
                (.signalled, ["killed"]), (.timedOut, ["slow"]), (.notStarted, ["missing"]),
                (.interrupted, ["lost"]), (.skipped, []), (.fired, [nil]),
            ]
            #expect(expected.map(\.0) == RunWord.allCases)
            for (outcome, names) in expected {
                let found = try await list(test) { $0.outcome = outcome }.runs.map(\.name)
                #expect(found == names, "\(outcome)")
            }
            #expect(
                try await list(test) { $0.tag = "night" }.runs.map(\.name) == ["slow", "killed"]
            )
            let own = try await list(test, from: Self.ann) { $0.tag = "night" }
            #expect(own.runs.map(\.name) == ["slow"])
            let ofBen = try await list(test) { $0.owner = "\(Self.ben)" }
            #expect(ofBen.runs.map(\.name) == ["lost", "killed"])
            let ofRoot = try await list(test) { $0.owner = "0" }
            #expect(ofRoot.runs.map(\.name) == [nil, "three", "missing"])
            let failedOfRoot = try await list(test) { ($0.owner, $0.failed) = ("0", true) }
            #expect(failedOfRoot.runs.map(\.name) == ["three", "missing"])
            // A job that is Ben's, by each order in which one job's runs are found.
            for narrow: (inout ListRuns) -> Void in [{ _ in }, { $0.failed = true }] {
                for (uid, names) in [(Self.ben, ["killed"]), (Self.ann, [])] {
                    let ofBoth = try await list(test) {
                        ($0.job, $0.owner) = (JobID(rawValue: 4), "\(uid)")
                        narrow(&$0)
                    }
                    #expect(ofBoth.runs.map(\.name) == names)
                }
            }
            // A name is one of that user's; root has no such job.
            let named = try await list(test) { ($0.name, $0.owner) = ("killed", "\(Self.ben)") }
            #expect(named.runs.map(\.name) == ["killed"])
            let other = await #expect(throws: ControlError.self) {
                try await list(test) { ($0.name, $0.owner) = ("killed", "\(Self.ann)") }
            }
            #expect(other?.message.hasPrefix("'\(Self.ann)' has no job named 'killed'") == true)
            for narrow: (inout ListRuns) -> Void in [{ _ in }, { $0.name = "killed" }] {
                let refused = await #expect(throws: ControlError.self) {
                    try await list(test, from: Self.ann) {
                        $0.owner = "\(Self.ben)"
                        narrow(&$0)
                    }
                }
                #expect(refused?.reason == .notPermitted)
            }
        }
    }

    @Test("A page looks at so many rows at most, and goes on from there with the next")
    func bounded() async throws {
        try await TestScheduler.with { test in
            test.runner.outcome = .exited(0)
            try await test.add(ScheduleWords(in: "1s"), command: ["x"]) { $0.name = "old" }
            try await test.advance(by: .seconds(2))
            let schedules = Array(repeating: ScheduleWords(in: "1s"), count: 100)
            for _ in 0..<RunPage.mostLookedAt / 100 {
                try await test.add(schedules, of: 0)
                try await test.advance(by: .seconds(2))
            }
            let page = try await list(test) { $0.outcome = .success }
            #expect(page.runs.isEmpty)
            let cursor = try #require(page.cursor)
            let next = try await list(test) { ($0.outcome, $0.cursor) = (.success, cursor) }
            #expect(next.runs.map(\.name) == ["old"])
            #expect(next.cursor == nil)
        }
    }

    @Test("A run that was ended before it began is no failure")
    func withdrawn() {
        #expect(!RunPolicy().isFailure(.withdrawn))
        #expect(RunPolicy().isFailure(.notStarted("no such file")))
    }
}
