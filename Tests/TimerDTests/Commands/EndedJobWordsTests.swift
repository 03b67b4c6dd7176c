// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

@Suite("Words about ended jobs", .timeLimit(.minutes(1))) struct EndedJobWordsTests {
    private func add(_ test: TestScheduler, _ definition: JobDefinition) async throws -> Job {
        try await test.jobs(.addJobs(AddJobs(definition)), as: 0)[0]
    }

    @Test("A copy is advised where it is accepted, and not of a job whose only date has passed")
    func copies() async throws {
        try await TestScheduler.with { test in
            let date = (TestScheduler.start + .seconds(5)).rfc3339
            for (words, misfire, isAdvised, isAccepted) in [
                (ScheduleWords(in: "5s"), nil, true, true),
                (ScheduleWords(at: date), nil, false, false),
                // The daemon would take it, and have it fire at once; so 'copy' does not ask.
                (ScheduleWords(at: date), .once, false, true),
            ] as [(ScheduleWords, JobDefinition.Misfire?, Bool, Bool)] {
                var definition = JobDefinition(schedule: words)
                definition.misfire = misfire
                let job = try await add(test, definition)
                try await test.advance(by: .seconds(100))
                let undo = await test.refusal(.restoreJobs(.ids([job.id])), as: 0)
                let advice = "; 'timerctl copy \(job.id) NAME' adds one like it"
                #expect(
                    undo?.message == "job \(job.id) has finished, which cannot be undone"
                        + (isAdvised ? advice : "")
                )
                let refusal = await test.refusal(.addJobs(AddJobs(job.definition)), as: 0)
                #expect((refusal == nil) == isAccepted)
                test.clock.step(by: .seconds(-100))
            }
        }
    }

    @Test("A change of a job that has finished is refused for that, and not for its date")
    func change() async throws {
        try await TestScheduler.with { test in
            let date = (TestScheduler.start + .seconds(5)).rfc3339
            let job = try await add(test, JobDefinition(schedule: ScheduleWords(at: date)))
            try await test.advance(by: .seconds(100))
            var new = job.definition
            new.timeout = "5s"
            let revision = JobRevision(id: job.id, definition: new)
            let refusal = await test.refusal(.applyJobs(ApplyJobs(change: [revision])), as: 0)
            #expect(
                refusal?.message
                    == "job \(job.id) is finished; only a job that is scheduled or paused can change"
            )
        }
    }

    @Test("A date that has passed is refused without a hint that does not help")
    func fireDate() async throws {
        try await TestScheduler.with { test in
            var definition = JobDefinition(schedule: ScheduleWords(in: "1h"))
            definition.misfire = .once
            let job = try await add(test, definition)
            let request = SetFireDate(job: .id(job.id), fireDate: "2020-01-01")
            let refusal = await test.refusal(.setFireDate(request), as: 0)
            #expect(refusal?.message.contains("misfire") == false)
            #expect(
                refusal?.message.hasSuffix(
                    "; accepted is a date that is to come; 'timerctl fire' fires a job now"
                ) == true
            )
        }
    }
}
