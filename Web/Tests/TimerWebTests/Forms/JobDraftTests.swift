// SPDX-License-Identifier: Apache-2.0

import HTML
import Schedules
import Testing
import TimerControl
import TimerWords

@testable import TimerWeb

@Suite struct JobDraftTests {
    private let dates = LocalDate(now: Timestamp(microseconds: 1_800_000_000_000_000), zone: .utc)

    /// What a browser sends of a form that shows the draft.
    private func sent(_ draft: JobDraft, _ changes: [JobDraft.Field: String] = [:]) -> [Link.Field]
    {
        JobDraft.Field.allCases.compactMap { field in
            let value = changes[field] ?? draft[field]
            // A box that is not ticked is not sent.
            if field == .shell, value.isEmpty { return nil }
            return Link.Field(
                field.rawValue,
                value.split(separator: "\n", omittingEmptySubsequences: false).joined(
                    separator: "\r\n"
                )
            )
        }
    }

    private var rich: JobDefinition {
        var job = JobDefinition(
            schedule: ScheduleWords(every: "5min", from: "2026-12-01T08:00:00Z")
        )
        job.name = "x"
        job.command = ["printf", "%s\n", "a b", "it's", "\u{1b}[31m"]
        job.env = ["LINES": "one\ntwo", "A": "="]
        job.notify = ["command:echo a, b", "mail"]
        job.tags = ["with, comma"]
        job.userInfo = try? JSONText(parsing: #"{"k": 1.50}"#)
        job.misfireWindow = "2h"
        job.overlap = .queue
        job.onSuccess = ["true"]
        return job
    }

    @Test("A form that is sent as it was shown changes nothing")
    func unchanged() {
        let draft = JobDraft(sent(JobDraft(rich, zone: .utc)), zone: .utc)
        let (definition, errors) = draft.definition(changing: rich, dates)
        #expect(definition == rich)
        #expect(errors.isEmpty)
    }

    @Test("One field that is changed changes that alone")
    func oneField() {
        let draft = JobDraft(sent(JobDraft(rich, zone: .utc), [.timeout: "2h"]), zone: .utc)
        var expected = rich
        expected.timeout = "2h"
        #expect(draft.definition(changing: rich, dates).definition == expected)
    }

    @Test("An empty field takes an option away")
    func emptied() {
        let draft = JobDraft(
            sent(JobDraft(rich, zone: .utc), [.env: "", .notify: " "]),
            zone: .utc
        )
        var expected = rich
        (expected.env, expected.notify) = (nil, nil)
        #expect(draft.definition(changing: rich, dates).definition == expected)
    }

    @Test(
        "The kind says what the words of a schedule are; a length of time has no zone",
        arguments: [
            (JobDraft.Kind.every, ScheduleWords(every: "5min")),
            (.in, ScheduleWords(in: "5min")),
            (.cron, ScheduleWords(cron: "5min", tz: "Europe/Berlin")),
            (.calendar, ScheduleWords(calendar: "5min", tz: "Europe/Berlin")),
            (.at, ScheduleWords(at: "5min", tz: "Europe/Berlin")),
        ]
    )
    func kinds(_ kind: JobDraft.Kind, _ words: ScheduleWords) {
        var draft = JobDraft(nil, zone: .utc)
        (draft[.kind], draft[.schedule], draft[.tz]) = (kind.rawValue, " 5min ", "Europe/Berlin")
        #expect(draft.definition(changing: nil, dates).definition.schedule == words)
    }

    @Test(
        "What is wrong is told at its field",
        arguments: [
            (JobDraft.Field.command, "'open"), (.retries, "many"), (.timeout, "2 parsecs"),
            (.env, "novalue"), (.priority, "high"),
        ]
    )
    func mistakes(_ field: JobDraft.Field, _ text: String) {
        var draft = JobDraft(nil, zone: .utc)
        (draft[.schedule], draft[field]) = ("* * * * *", text)
        #expect(draft.definition(changing: nil, dates).errors[field] != nil)
    }

    @Test(
        "An error of the daemon is told at the field that it names",
        arguments: [
            (ControlError(.nameTaken, "the name 'a' …"), JobDraft.Field.name),
            (ControlError(.invalidParams, "parameter 'backoff' is …"), .backoff),
            (ControlError(.badSchedule, "parameter 'change[0].timeout': …"), .timeout),
            (ControlError(.badSchedule, "duration '0s' is too short"), .schedule),
            (ControlError(.invalidParams, "parameter 'schedule.tz' is …"), .tz),
            (ControlError(.conflict, "it has another revision"), nil),
        ] as [(ControlError, JobDraft.Field?)]
    )
    func daemonErrors(_ error: ControlError, _ field: JobDraft.Field?) {
        var errors = FormErrors()
        errors.add(error)
        #expect(errors.all.first?.field == field)
    }

    @Test(
        "Runs that take longer than the interval are a conflict, by what the job says of overlaps"
    )
    func conflict() {
        func run(_ seconds: Int64) -> Run {
            var run = Run(
                job: JobID(rawValue: 1),
                fire: FireID(rawValue: 1),
                state: .done,
                fireDate: dates.now
            )
            run.startedAt = dates.now
            run.endedAt = dates.now + .seconds(seconds)
            return run
        }
        let times = RunTimes([run(2000), run(2800)])
        var job = JobDefinition(schedule: ScheduleWords(every: "5min"))
        let coming = (1...5).map { dates.now + .seconds($0 * 300) }
        #expect(
            times.conflict(job, coming)
                == "Its runs take 40 min on average, longer than its interval of 5 min: while one is in progress, "
                + "dates are skipped."
        )
        job.overlap = .replace
        #expect(times.conflict(job, coming)?.hasSuffix("the next date ends it.") == true)
        #expect(RunTimes([run(10)]).conflict(job, coming) == nil)
    }
}
