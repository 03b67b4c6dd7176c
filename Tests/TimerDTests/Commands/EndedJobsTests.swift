// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

/// What is said of jobs that have ended: that they are to end, or to live again.
@Suite("Ended jobs", .timeLimit(.minutes(1))) struct EndedJobsTests {
    private func add(
        _ test: TestScheduler,
        _ words: ScheduleWords,
        _ change: (inout JobDefinition) -> Void = { _ in }
    ) async throws -> JobID {
        var definition = JobDefinition(schedule: words)
        change(&definition)
        return try await test.jobs(.addJobs(AddJobs(definition)))[0].id
    }

    private func end(_ test: TestScheduler, _ jobs: JobSelection, kill: Bool = false) async throws
        -> [JobID]
    {
        try await test.jobs(.invalidateJobs(InvalidateJobs(jobs, kill: kill))).map(\.id)
    }

    // MARK: - Said twice

    @Test(
        "Who ends jobs that have ended changes nothing; with 'kill' what of them is in progress ends",
        arguments: [JobSelection.name("n"), .tag("n")],
        [true, false]
    )
    func twice(selection: JobSelection, isOneShot: Bool) async throws {
        try await TestScheduler.with { test in
            let words = isOneShot ? ScheduleWords(in: "5s") : ScheduleWords(every: "5s")
            let task = try await add(test, words) {
                ($0.name, $0.tags, $0.queue) = ("n", ["n"], "q")
            }
            try await test.advance(by: .seconds(6))
            let given = try #require(try await test.reserve("q").first)
            #expect(try await end(test, selection) == [task])
            // A name means a job that something is to end of.
            func endAgain(kill: Bool) async throws {
                guard case .name = selection else {
                    return #expect(try await end(test, selection, kill: kill) == [])
                }
                let request = Request.invalidateJobs(InvalidateJobs(selection, kill: kill))
                #expect(await test.refusal(request)?.reason == .notFound)
            }
            try await endAgain(kill: false)
            #expect(try await test.history(task).map(\.state) == [.reserved], "its worker goes on")
            #expect(try await end(test, selection, kill: true) == [task])
            #expect(try await test.history(task).map(\.outcome) == [.lost])
            await #expect(throws: ControlError.self) { try await test.finish(given) }
            try await endAgain(kill: true)
        }
    }

    @Test("A name or a tag that no job has is refused, however often")
    func unknown() async throws {
        try await TestScheduler.with { test in
            for selection in [JobSelection.name("n"), .tag("n")] {
                let request = Request.invalidateJobs(InvalidateJobs(selection, kill: true))
                #expect(await test.refusal(request)?.reason == .notFound)
            }
        }
    }

    @Test("With 'kill' nothing of a user goes on: no run, no retry that waits, no task")
    func owner() async throws {
        try await TestScheduler.with { test in
            test.runner.isHolding = true
            let run = try await add(test, ScheduleWords(in: "1s")) { $0.command = ["sleep"] }
            let task = try await add(test, ScheduleWords(in: "1s")) { $0.queue = "q" }
            let waiting = try await add(test, ScheduleWords(in: "1s")) { $0.queue = "other" }
            let live = try await add(test, ScheduleWords(every: "1h"))
            try await test.advance(by: .seconds(2))
            _ = try #require(try await test.reserve("q").first)
            let own = try await test.jobs(.getJob(.id(live)))[0].owner
            #expect(try await end(test, .owner(own)) == [live], "without it, those that live")
            #expect(try await test.history(task).map(\.state) == [.reserved])
            let ended = try await end(test, .owner(own), kill: true)
            #expect(Set(ended) == [run, task, waiting])
            #expect(try await test.history(task).map(\.outcome) == [.lost])
            #expect(try await test.history(waiting).map(\.reason) == [.invalidated])
            #expect(try await test.reserve("other").isEmpty)
            test.runner.end()
            try await test.settle()
        }
    }

    // MARK: - Keys

    private func keyed(_ test: TestScheduler, _ kept: String? = nil) async throws -> JobID {
        try await add(test, ScheduleWords(every: "1h")) { ($0.key, $0.keyKept) = ("K", kept) }
    }

    @Test("A change gives no job the key that another has still")
    func changedKey() async throws {
        try await TestScheduler.with { test in
            let first = try await keyed(test)
            let other = try await add(test, ScheduleWords(every: "1h"))
            func request(_ job: JobID, _ key: String?) -> Request {
                var definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
                definition.key = key
                return .applyJobs(ApplyJobs(change: [JobRevision(id: job, definition: definition)]))
            }
            let refused = await test.refusal(request(other, "K"))
            #expect(refused?.reason == .conflict)
            #expect(refused?.message.contains("job \(first) has the key 'K'") == true)
            #expect(try await keyed(test) == first)
            // Its own it may keep, and what it gives away another may have.
            #expect(await test.refusal(request(first, "K")) == nil)
            #expect(await test.refusal(request(first, nil)) == nil)
            #expect(await test.refusal(request(other, "K")) == nil)
            #expect(try await keyed(test) == other)
        }
    }

    @Test(
        "A job does not live again with a key that another has, and has its own again if none has"
    )
    func restoredKey() async throws {
        try await TestScheduler.with { test in
            let first = try await keyed(test, "0s")
            _ = try await end(test, .ids([first]))
            try await test.advance(by: .seconds(1))
            let second = try await keyed(test, "0s")
            #expect(second != first)
            let restore = Request.restoreJobs(.ids([first]))
            let refused = await test.refusal(restore)
            #expect(refused?.reason == .conflict)
            #expect(refused?.message.contains("job \(second) has the key 'K'") == true)
            _ = try await end(test, .ids([second]))
            try await test.advance(by: .seconds(1))
            #expect(await test.refusal(restore) == nil)
            #expect(try await keyed(test) == first)
        }
    }

    // MARK: - Dates that passed in a pause

    @Test(
        "What passed in the pause before the end is missed, as if there had been no end",
        arguments: [true, false]
    )
    func paused(isMaintenance: Bool) async throws {
        try await TestScheduler.with { test in
            if isMaintenance { try await test.jobs(.beginMaintenance(nil)) }
            let once = try await add(test, ScheduleWords(in: "5s")) {
                $0.paused = isMaintenance ? nil : true
            }
            let grid = try await add(test, ScheduleWords(every: "10s")) {
                $0.paused = isMaintenance ? nil : true
            }
            try await test.advance(by: .seconds(35))
            _ = try await end(test, .ids([once, grid]))
            #expect(try await test.history(once).map(\.reason) == [.paused])
            try await test.advance(by: .seconds(10))
            let again = try await test.jobs(.restoreJobs(nil))
            #expect(again.map(\.state) == [.paused, .paused])
            #expect(try await test.history(once).isEmpty)
            #expect(try await test.history(grid).isEmpty)
            if isMaintenance {
                try await test.jobs(.endMaintenance(nil))
            } else {
                try await test.jobs(.resumeJobs(.ids([once, grid])))
            }
            try await test.advance(by: .seconds(1))
            #expect(try await test.history(once).map(\.state) == [.fired])
            let rows = try await test.history(grid)
            #expect(
                rows.contains { $0.state == .fired },
                "its misfire rule makes up for one of them"
            )
            #expect(rows.reduce(0) { $0 + ($1.dates ?? 1) } == 4)
        }
    }
}
