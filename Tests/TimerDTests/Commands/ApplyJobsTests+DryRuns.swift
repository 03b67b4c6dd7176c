// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import SQLite
@testable import TimerD

extension ApplyJobsTests {
    @Test("A dry run is answered like the real one, and keeps nothing")
    func dryRun() async throws {
        try await TestScheduler.with { test in
            let job = try await add(test, Self.definition())
            var request = revision(job, Self.definition { $0.command = ["new"] })
            request.add = [Self.definition { $0.name = "a" }]
            request.dryRun = true
            let reply = try await apply(test, request)
            #expect(reply.changed.first?.definition.command == ["new"])
            #expect(reply.added.count == 1)
            request.add = [Self.definition()]
            await #expect(throws: ControlError.self) { try await apply(test, request) }
            try await test.advance(by: .seconds(10))
            #expect(commands(test) == ["old"])
            #expect(test.fired(job.id) == [10])
            #expect(test.sink.all(.jobAdded).count == 1)
        }
    }

    @Test("What a dry run says is what the real one comes to, refusals among it")
    func dryRunAnswer() async throws {
        try await TestScheduler.with { test in
            var jobs: [Job] = []
            for (number, words) in [
                ScheduleWords(every: "10s"), ScheduleWords(every: "4s"), ScheduleWords(every: "1h"),
                ScheduleWords(cron: "*/5 * * * *"), ScheduleWords(in: "1h"),
            ].enumerated() {
                jobs.append(
                    try await add(test, Self.definition(words) { $0.name = "job-\(number)" })
                )
            }
            try await test.change(jobs[2].id, .pause)
            try await test.change(
                jobs[3].id,
                .setFireDate(TestScheduler.start + .seconds(400))
            )
            try await test.advance(by: .seconds(21))
            test.stall(.seconds(30))
            func changed(_ number: Int, _ change: (inout JobDefinition) -> Void) -> ApplyJobs {
                var definition = jobs[number].definition
                change(&definition)
                return revision(jobs[number], definition)
            }
            var requests = [
                changed(0) { $0.command = ["new"] },
                changed(1) { $0.schedule = ScheduleWords(every: "7s") },
                changed(2) { $0.paused = false },
                changed(3) { $0.tags = ["x"] },
                changed(3) { $0.until = "tomorrow 09:00" },
                changed(4) { $0.name = "other" },
                changed(0) { $0.count = 1 },
                ApplyJobs(invalidate: jobs.map(\.id)),
                ApplyJobs(invalidate: [JobID(rawValue: 99)]),
                ApplyJobs(add: [Self.definition { $0.name = "job-1" }]),
                ApplyJobs(add: (0..<3).map { _ in Self.definition() }),
            ]
            var mixed = changed(1) { $0.command = ["new"] }
            mixed.invalidate = [jobs[0].id, jobs[3].id]
            mixed.add = [
                Self.definition { $0.name = "job-0" }, Self.definition { $0.name = "new" },
            ]
            requests.append(mixed)
            for request in requests {
                // On a copy: each begins where the first did.
                let copy = try await test.crashed()
                try await copy.settle()
                let timers = copy.loop.timersMade
                let tried = await outcome(of: request, isDryRun: true, copy)
                #expect(copy.loop.timersMade == timers, "no timer is taken out for it")
                let done = await outcome(of: request, isDryRun: false, copy)
                #expect(tried == done, "\(request)")
                try await copy.close()
            }
        }
    }

    @Test("Of the history of a job that has ended a dry run copies a few rows")
    func dryRunOfEnded() async throws {
        try await TestScheduler.with { test in
            let job = try await test.add(ScheduleWords(every: "1s"))
            try await test.advance(by: .seconds(50))
            try await test.change(job.id, .invalidate)
            try await test.settle()
            let trial = DryRun(
                changes: JobChanges(invalidate: [job.id], change: [], add: []),
                caller: TestScheduler.root,
                unstarted: [],
                moment: test.clock.now(),
                horizon: .distantPast
            )
            let copy = try Database(inMemoryBeside: test.folder + "/timerd.db")
            defer { copy.close() }
            try Migrator(.released).migrate(copy)
            _ = try trial.copy(into: copy)
            let fires: Int? = try copy.prepare("SELECT count(*) FROM main.fires").value()
            #expect(fires == 4)
        }
    }

    /// What is answered, as text; what the moment decides besides the changes is left out.
    private func outcome(of request: ApplyJobs, isDryRun: Bool, _ test: TestScheduler) async
        -> String
    {
        var request = request
        request.dryRun = isDryRun
        do {
            let reply = try await apply(test, request)
            return [reply.invalidated, reply.changed, reply.added].map { jobs in
                jobs.map { job in
                    "\(job.id) \(job.state) \(job.fireDate?.rfc3339 ?? "-") \(job.fires)"
                        + " \(job.endReason ?? "-") \(job.definition)"
                }.joined(separator: "\n")
            }.joined(separator: "\n\n")
        } catch {
            return "\(error)"
        }
    }
}
