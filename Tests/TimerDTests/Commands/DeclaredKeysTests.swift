// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

/// Keys in `job.apply`, which says what jobs are to be: a job that its owner has ended keeps none from them.
@Suite("Keys of declared jobs", .timeLimit(.minutes(1))) struct DeclaredKeysTests {
    private func definition(
        _ name: String = "nightly",
        _ words: ScheduleWords = ScheduleWords(every: "1h"),
        _ change: (inout JobDefinition) -> Void = { _ in }
    ) -> JobDefinition {
        var definition = JobDefinition(schedule: words)
        (definition.name, definition.key) = (name, "K")
        change(&definition)
        return definition
    }

    private func apply(_ test: TestScheduler, _ request: ApplyJobs) async throws -> ApplyReply {
        // What is tried is answered as what is done.
        var trial = request
        trial.dryRun = true
        let tried = await outcome(test, trial)
        let done = await outcome(test, request)
        #expect(Self.text(tried) == Self.text(done))
        return try done.get()
    }

    private func outcome(
        _ test: TestScheduler,
        _ request: ApplyJobs
    ) async -> Result<ApplyReply, any Error> {
        do {
            let reply = try await test.handler().handle(.applyJobs(request), from: 0).get()
            return .success(try #require(reply as? ApplyReply))
        } catch {
            return .failure(error)
        }
    }

    private static func text(_ outcome: Result<ApplyReply, any Error>) -> String {
        switch outcome {
        case .success(let reply):
            [reply.invalidated, reply.changed, reply.added].map { jobs in
                jobs.map { "\($0.id) \($0.state) \($0.definition.key ?? "-")" }.joined(
                    separator: ", "
                )
            }.joined(separator: "; ") + " \(reply.existing ?? [])"
        case .failure(let error): "\(error)"
        }
    }

    private func live(_ test: TestScheduler) async throws -> [JobID] {
        try await test.jobs(.listJobs(ListJobs())).map(\.id)
    }

    @Test("A job that was ended and is declared again lives, whatever ended it")
    func again() async throws {
        try await TestScheduler.with { test in
            let first = try await apply(test, ApplyJobs(add: [definition()])).added[0].id
            _ = try await apply(test, ApplyJobs(invalidate: [first]))
            let second = try await apply(test, ApplyJobs(add: [definition()]))
            #expect(second.added.map(\.id) != [first] && second.existing == nil)
            #expect(try await live(test) == second.added.map(\.id))
            // In one request under another name, as a file has it whose job is renamed.
            let renamed = try await apply(
                test,
                ApplyJobs(invalidate: second.added.map(\.id), add: [definition("other")])
            )
            #expect(renamed.existing == nil)
            #expect(try await live(test) == renamed.added.map(\.id))
            // The key is that of the new job: adding it again says so, and an undo of the old one is refused.
            #expect(
                try await test.jobs(.addJobs(AddJobs(definition()))).map(\.id)
                    == (try await live(test))
            )
            let undo = await test.refusal(.restoreJobs(.ids([first])))
            #expect(undo?.message.contains("has the key 'K'") == true, "\(undo?.message ?? "-")")
        }
    }

    @Test("A plain job.add of the key of an ended job adds nothing, as before")
    func plain() async throws {
        try await TestScheduler.with { test in
            let first = try await test.jobs(.addJobs(AddJobs(definition())))[0].id
            try await test.jobs(.invalidateJobs(InvalidateJobs(.ids([first]))))
            #expect(try await test.jobs(.addJobs(AddJobs(definition()))).map(\.id) == [first])
            #expect(try await live(test) == [])
        }
    }

    @Test(
        "A job that is over with its key is answered and does not run again, until its key is free"
    )
    func over() async throws {
        try await TestScheduler.with { test in
            let once = definition("once", ScheduleWords(every: "5s")) { $0.count = 1 }
            let first = try await apply(test, ApplyJobs(add: [once])).added[0].id
            try await test.advance(by: .seconds(6))
            #expect(test.fired(first) == [5])
            let again = try await apply(
                test,
                ApplyJobs(add: [once, definition("x") { $0.key = "L" }])
            )
            #expect(again.added.map(\.id.rawValue) == [first.rawValue, 2])
            #expect(again.existing == [first] && again.added[0].state == .finished)
            try await test.advance(by: .seconds(86_400))
            let free = try await apply(test, ApplyJobs(add: [once]))
            #expect(free.existing == nil && free.added.map(\.id) != [first])
        }
    }

    @Test("A task that is not over keeps the key of its one-shot, also where that was ended since")
    func task() async throws {
        try await TestScheduler.with { test in
            let task = definition("mail", ScheduleWords(in: "1s")) { $0.queue = "q" }
            let first = try await apply(test, ApplyJobs(add: [task])).added[0].id
            try await test.advance(by: .seconds(2))
            #expect(try await apply(test, ApplyJobs(add: [task])).existing == [first])
            try await test.jobs(.invalidateJobs(InvalidateJobs(.ids([first]))))
            #expect(try await apply(test, ApplyJobs(add: [task])).existing == [first])
        }
    }

    @Test("A queue of a job that takes a key over is made, and its task is counted")
    func queue() async throws {
        try await TestScheduler.with { test in
            let first = try await apply(test, ApplyJobs(add: [definition()])).added[0].id
            _ = try await apply(test, ApplyJobs(invalidate: [first]))
            let task = definition("mail", ScheduleWords(in: "1s")) { $0.queue = "fresh" }
            #expect(try await apply(test, ApplyJobs(add: [task])).existing == nil)
            try await test.advance(by: .seconds(2))
            #expect(try await test.reserve("fresh").count == 1)
        }
    }

    @Test("A live job keeps its key; a change takes that of one that was ended")
    func live() async throws {
        try await TestScheduler.with { test in
            let first = try await apply(test, ApplyJobs(add: [definition()])).added[0].id
            #expect(try await apply(test, ApplyJobs(add: [definition("x")])).existing == [first])
            let other = definition("other") { $0.key = nil }
            let second = try await apply(test, ApplyJobs(add: [other])).added[0].id
            let change = JobRevision(id: second, definition: definition("other"))
            await #expect(throws: ControlError.self) {
                try await apply(test, ApplyJobs(change: [change]))
            }
            let both = ApplyJobs(invalidate: [first], change: [change])
            #expect(try await apply(test, both).changed[0].definition.key == "K")
            #expect(try await apply(test, ApplyJobs(add: [definition()])).existing == [second])
        }
    }

    @Test("A job that is changed, or whose end is undone, has its own key still")
    func ownKey() async throws {
        try await TestScheduler.with { test in
            let job = try await apply(test, ApplyJobs(add: [definition()])).added[0].id
            let change = JobRevision(id: job, definition: definition("other"))
            let changed = try await apply(test, ApplyJobs(change: [change])).changed
            #expect(changed.map(\.definition.key) == ["K"])
            try await test.jobs(.invalidateJobs(InvalidateJobs(.ids([job]))))
            let restored = try await test.jobs(.restoreJobs(.ids([job])))
            #expect(restored.map(\.definition.key) == ["K"])
            #expect(try await live(test) == [job])
        }
    }

    /// The live jobs' names with their keys, by their ids.
    private func keys(_ test: TestScheduler) async throws -> [String] {
        try await test.jobs(.listJobs(ListJobs())).sorted { $0.id < $1.id }.map {
            "\($0.definition.name ?? "-") \($0.definition.key ?? "-")"
        }
    }

    @Test("Jobs that are changed at once may take each other's keys, and an added one what is left")
    func swapped() async throws {
        try await TestScheduler.with { test in
            let (a, b) = (definition("a"), definition("b") { $0.key = "L" })
            let ids = try await apply(test, ApplyJobs(add: [a, b])).added.map(\.id)
            let swap = ApplyJobs(
                change: zip(ids, ["L", "K"]).map { id, key in
                    let name = id == ids[0] ? "a" : "b"
                    return JobRevision(id: id, definition: definition(name) { $0.key = key })
                }
            )
            _ = try await apply(test, swap)
            #expect(try await keys(test) == ["a L", "b K"])
            #expect(
                try await apply(test, ApplyJobs(add: [definition("x")])).existing == [ids[1]]
            )
            let given = ApplyJobs(
                change: [
                    JobRevision(id: ids[0], definition: definition("a")),
                    JobRevision(id: ids[1], definition: definition("b") { $0.key = nil }),
                ],
                add: [definition("c") { $0.key = "L" }]
            )
            #expect(try await apply(test, given).existing == nil)
            #expect(try await keys(test) == ["a K", "b -", "c L"])
        }
    }

    @Test("A key goes to no two jobs of a change, nor from one that keeps it")
    func once() async throws {
        try await TestScheduler.with { test in
            let plain = ["a", "b"].map { name in definition(name) { $0.key = nil } }
            let ids = try await apply(test, ApplyJobs(add: plain)).added.map(\.id)
            let first = JobRevision(id: ids[0], definition: definition("a"))
            let second = JobRevision(id: ids[1], definition: definition("b"))
            await #expect(throws: ControlError.self) {
                try await apply(test, ApplyJobs(change: [first, second]))
            }
            #expect(try await keys(test) == ["a -", "b -"])
            _ = try await apply(test, ApplyJobs(change: [first]))
            for change in [[second, first], [first, second]] {
                await #expect(throws: ControlError.self) {
                    try await apply(test, ApplyJobs(change: change))
                }
            }
            #expect(try await keys(test) == ["a K", "b -"])
        }
    }
}
