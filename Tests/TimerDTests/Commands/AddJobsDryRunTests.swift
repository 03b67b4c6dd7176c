// SPDX-License-Identifier: Apache-2.0

import Glibc
import Schedules
import Testing
import TimerControl

@testable import TimerD

@Suite("Dry runs of job.add", .timeLimit(.minutes(1))) struct AddJobsDryRunTests {
    private typealias Story = @Sendable (TestScheduler, JobID) async throws -> Void

    private static func definition(
        _ words: ScheduleWords = ScheduleWords(cron: "*/10 * * * *"),
        _ change: (inout JobDefinition) -> Void = { _ in }
    ) -> JobDefinition {
        var definition = JobDefinition(schedule: words)
        (definition.name, definition.command) = ("a", ["new"])
        change(&definition)
        return definition
    }

    private func ask(_ test: TestScheduler, _ request: Request) async -> String {
        switch await test.handler().handle(request, from: 0) {
        case .success(let answer):
            guard let reply = answer as? JobReply else { return "\(answer)" }
            let job = reply.job
            let dates = [job.fireDate, job.movedFrom].map { $0?.rfc3339 ?? "-" }
            return "\(job.id) \(job.state) \(dates) \(job.fires) \(reply.existing ?? false)"
                + " \(job.definition)"
        case .failure(let error): return "\(error)"
        }
    }

    /// What is done with the job before, and what is asked for then.
    private static let cases: [(String, Story, AddJobs)] = [
        ("as it is", { _, _ in }, AddJobs(definition(), replace: true)),
        (
            "paused by hand", { try await $0.change($1, .pause) },
            AddJobs(definition(), replace: true)
        ),
        (
            "moved",
            { try await $0.change($1, .setFireDate(TestScheduler.start + .seconds(300 * 86_400))) },
            AddJobs(definition(), replace: true)
        ),
        (
            "it has fired", { test, _ in try await test.advance(by: .seconds(700)) },
            AddJobs(definition { $0.count = 1 }, replace: true)
        ),
        ("another schedule", { _, _ in }, AddJobs(definition(.init(in: "1h")), replace: true)),
        ("its own key", { _, _ in }, AddJobs(definition { $0.key = "k" }, replace: true)),
        (
            "another's key", { _, _ in }, AddJobs(definition { $0.key = "other" }, replace: true)
        ),
        (
            "the key of one that was ended", { try await $0.change($1, .invalidate) },
            AddJobs(definition { ($0.name, $0.key) = ("b", "k") })
        ),
        (
            "the name of one that was ended", { try await $0.change($1, .invalidate) },
            AddJobs(definition(), replace: true)
        ),
        ("its name is taken", { _, _ in }, AddJobs(definition())),
        (
            "tied now", { _, _ in }, AddJobs(definition { $0.whilePid = getpid() }, replace: true)
        ),
        ("several", { _, _ in }, AddJobs([definition(), definition { $0.name = "b" }])),
    ]

    @Test("It says what the real one comes to, refusals among it", arguments: cases.indices)
    func answer(_ index: Int) async throws {
        let (what, before, add) = Self.cases[index]
        try await TestScheduler.with { test in
            for (name, key) in [("a", "k"), ("x", "other")] {
                let old = Self.definition { ($0.name, $0.key, $0.command) = (name, key, ["old"]) }
                _ = try await test.handler().handle(.addJobs(AddJobs(old)), from: 0).get()
            }
            let job = JobID(rawValue: 1)
            try await before(test, job)
            try await test.settle()
            var trial = add
            trial.dryRun = true
            // On a copy: each begins where the other did.
            let copy = try await test.crashed()
            try await copy.settle()
            let stored = try await "\(copy.job(job))"
            let timers = copy.loop.timersMade
            let tried = await ask(copy, .addJobs(trial))
            #expect(copy.loop.timersMade == timers, "no timer is taken out for it")
            #expect(try await "\(copy.job(job))" == stored)
            #expect(tried == (await ask(copy, .addJobs(add))), "\(what)")
            try await copy.close()
        }
    }
}
