// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

@Suite("Notes in answers", .timeLimit(.minutes(1)))
struct AnswerNotesTests {
    private static func isRead(_ notes: [String]?) -> Bool {
        notes?.count == 1 && notes?.first?.hasPrefix("'tomorrow' has no time; it is ") == true
    }

    @Test("How 'until' was understood is told with the job")
    func until() async throws {
        try await TestScheduler.with { test in
            var definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
            definition.until = "tomorrow"
            let reply = try await test.handler().handle(.addJobs(AddJobs(definition)), from: 0)
                .get()
            let notes = try #require(reply as? JobReply).notes
            #expect(Self.isRead(notes), "\(notes ?? [])")
        }
    }

    @Test("How 'after' was understood is told with the dates")
    func after() async throws {
        try await TestScheduler.with { test in
            var request = PreviewSchedule(schedule: ScheduleWords(every: "1h"))
            request.after = "tomorrow"
            let reply = try await test.handler().handle(.previewSchedule(request), from: 0).get()
            let notes = try #require(reply as? PreviewReply).notes
            #expect(Self.isRead(notes), "\(notes ?? [])")
        }
    }

    @Test("A date that has passed is told as such in place of dates")
    func passed() async throws {
        try await TestScheduler.with { test in
            let date = "2020-12-01T09:00:00Z"
            let request = PreviewSchedule(schedule: ScheduleWords(at: date))
            let reply = try await test.handler().handle(.previewSchedule(request), from: 0).get()
            let preview = try #require(reply as? PreviewReply)
            #expect(preview.fireDates.isEmpty)
            #expect(preview.notes?.count == 1)
            #expect(preview.notes?.first?.contains("has passed") == true)
        }
    }
}
