// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import timerctl

@Suite("Copy") struct CopyTests {
    @Test("A copy is what the other is, without what is that one's alone")
    func copied() throws {
        let other = job(7) {
            $0.definition.name = "a"
            $0.definition.tags = ["net", "applied:web", "crontab:-"]
            ($0.definition.key, $0.definition.whileConnected) = ("K", true)
            // Added paused, and resumed since.
            $0.definition.paused = true
        }
        let (copy, notes) = try CopiedDefinition.of(other, testDates)
        #expect(copy.tags == ["net"] && copy.key == nil && copy.paused == nil)
        #expect(copy.whileConnected == nil && copy.schedule == other.definition.schedule)
        #expect(
            notes == [
                "it goes without the key 'K', which stands for one job",
                "it goes without the tag 'applied:web', by which job 7 (a) is found again",
                "it goes without the tag 'crontab:-', by which job 7 (a) is found again",
                "it does not end with a connection, as job 7 (a) does",
            ]
        )
        let paused = job {
            $0.state = .paused
            $0.definition.paused = true
        }
        #expect(try CopiedDefinition.of(paused, testDates).definition.paused == true)
        let hidden = job {
            $0.definition.notify = ["desktop"]
            $0.definition.ping = JobDefinition.reference("https://hooks.example/SECRET")
        }
        let refused = #expect(throws: Failure.self) { try CopiedDefinition.of(hidden, testDates) }
        #expect(refused?.status == .refused)
        #expect(refused?.message.contains("the URLs of its ping are not shown; state them") == true)
    }

    @Test("The copy of a one-shot has the date that the job has now, and no date that has passed")
    func copiedDates() throws {
        let (passed, coming) = ("2026-12-01T07:59:59.000000Z", "2026-12-24T08:00:00.000000Z")
        func copied(
            _ words: ScheduleWords,
            _ next: String?,
            _ state: Job.State = .scheduled
        ) throws -> ScheduleWords {
            let other = job(7, schedule: words) {
                $0.state = state
                $0.fireDate = next.map { date($0) }
            }
            return try CopiedDefinition.of(other, testDates).definition.schedule
        }
        // Moved away from a date that has passed, or that is to come.
        for stated in [passed, "2026-12-02T08:00:00.000000Z"] {
            #expect(try copied(ScheduleWords(at: stated), coming) == ScheduleWords(at: coming))
        }
        #expect(
            try copied(ScheduleWords(at: coming), nil, .invalidated) == ScheduleWords(at: coming)
        )
        // Put off, it is not overtaken; else the delay begins anew.
        #expect(try copied(ScheduleWords(in: "1h"), coming) == ScheduleWords(at: coming))
        for next in ["2026-12-01T08:30:00.000000Z", nil] {
            #expect(try copied(ScheduleWords(in: "1h"), next) == ScheduleWords(in: "1h"))
        }
        for (stated, next, state) in [
            (passed, nil, .finished), (passed, passed, .paused), (coming, passed, .paused),
        ] as [(String, String?, Job.State)] {
            let refused = #expect(throws: Failure.self) {
                try copied(ScheduleWords(at: stated), next, state)
            }
            #expect(refused?.status == .refused)
            #expect(
                refused?.message
                    == "job 7 cannot be copied: its date, 2026-12-01 08:59:59 CET, has passed; "
                    + "'timerctl add' takes another one"
            )
        }
    }

    @Test("A copy has the dates of its schedule, and says where those of the other were moved")
    func copiedSchedule() throws {
        let moved = job(7, schedule: ScheduleWords(cron: "0 5 * * *")) {
            ($0.fireDate, $0.movedFrom) = (
                date("2026-12-05T06:13:00Z"), date("2026-12-02T04:00:00Z")
            )
        }
        let (copy, notes) = try CopiedDefinition.of(moved, testDates)
        #expect(copy.schedule == ScheduleWords(cron: "0 5 * * *"))
        #expect(
            notes == [
                "its next date is its schedule's; that of job 7 was moved, or dates were dropped"
            ]
        )
    }
}
