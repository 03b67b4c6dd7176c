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
            // A browser has no breaks in a line, and one kind of them in several.
            let lines = value.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
            return Link.Field(
                field.rawValue,
                lines.joined(separator: field.hasLines ? "\r\n" : "")
            )
        }
    }

    private var rich: JobDefinition {
        var job = JobDefinition(
            schedule: ScheduleWords(every: "5min", from: "2026-12-01T08:00:00Z")
        )
        job.name = "x"
        job.command = ["printf", "%s\n", "a b", "it's", "\u{1b}[31m"]
        job.env = ["LINES": "one\ntwo=2\r\n\n3 ", "A": "="]
        job.notify = ["command:echo a, b\necho c", "mail:a@example.org,b@example.org"]
        job.tags = ["with, comma", "with\nbreak"]
        job.cwd = "/tmp/a\nb"
        job.userInfo = try? JSONText(parsing: #"{"k": 1.50}"#)
        job.misfireWindow = "2h"
        job.overlap = .queue
        job.onSuccess = ["true"]
        return job
    }

    @Test("A form that is sent as it was shown changes nothing")
    func unchanged() {
        let draft = JobDraft(sent(JobDraft(rich, zone: .utc)), zone: .utc)
        let (definition, leftOut, errors) = draft.definition(changing: rich, dates)
        #expect(definition == rich)
        #expect(leftOut.isEmpty)
        #expect(errors.isEmpty)
    }

    @Test("A command with carriage returns stays as it is, and another one is refused")
    func carriageReturns() {
        var job = rich
        job.command = ["printf", "a\r\n"]
        let shown = JobDraft(job, zone: .utc)
        let draft = JobDraft(sent(shown, [.timeout: "2h"]), zone: .utc)
        #expect(draft.definition(changing: job, dates).definition.command == job.command)
        let other = JobDraft(sent(shown, [.command: shown[.command] + " b"]), zone: .utc)
        let refused = other.definition(changing: job, dates)
        #expect(refused.errors[.command]?.contains("carriage returns") == true)
        #expect(refused.definition.command == job.command)
    }

    @Test("What is added beside a value that a field cannot tell from several leaves it whole")
    func kept() {
        let shown = JobDraft(rich, zone: .utc)
        func changed(_ field: JobDraft.Field, _ text: String) -> JobDefinition {
            let draft = JobDraft(sent(shown, [field: text]), zone: .utc)
            let (definition, _, errors) = draft.definition(changing: rich, dates)
            #expect(errors.isEmpty)
            return definition
        }
        let env = changed(.env, "\(shown[.env])\nB= 1").env
        #expect(env == rich.env?.merging(["B": " 1"]) { $1 })
        #expect(changed(.env, "Z=1\n\(shown[.env])").env?.count == 3)
        #expect(changed(.env, "A==").env == ["A": "="])
        #expect(changed(.tags, "new, \(shown[.tags])").tags == ["new"] + (rich.tags ?? []))
        #expect(changed(.tags, "with, comma").tags == ["with, comma"])
        let notify = changed(.notify, "\(shown[.notify])\n desktop ").notify
        #expect(notify == (rich.notify ?? []) + ["desktop"])
        #expect(changed(.notify, "mail:c@example.org,d@example.org").notify?.count == 1)
    }

    @Test(
        "A value that a field cannot tell from several is not changed in part",
        arguments: [
            (JobDraft.Field.env, "A==\nLINES=one\ntwo=3\n\n3 ", "LINES"),
            (.env, "A==\ntwo=2\n\n3 ", "LINES"), (.tags, "comma", "with, comma"),
            (.notify, "command:echo a, b", "command:echo"),
        ]
    )
    func torn(_ field: JobDraft.Field, _ text: String, _ name: String) {
        let draft = JobDraft(sent(JobDraft(rich, zone: .utc), [field: text]), zone: .utc)
        let (definition, _, errors) = draft.definition(changing: rich, dates)
        #expect(errors[field]?.hasPrefix("'\(name)") == true)
        #expect(errors[field]?.contains("'timerctl change'") == true)
        #expect(definition == rich)
    }

    @Test("Words without a zone are read in the page's, as the preview reads them")
    func zoneOfWords() throws {
        let zone = try Zone(named: "Asia/Tokyo")
        let tokyo = LocalDate(now: dates.now, zone: zone)
        func schedule(_ base: ScheduleWords, _ kind: JobDraft.Kind, _ text: String) -> ScheduleWords
        {
            let job = JobDefinition(schedule: base)
            var draft = JobDraft(job, zone: zone)
            (draft[.kind], draft[.schedule]) = (kind.rawValue, text)
            return draft.definition(changing: job, tokyo).definition.schedule
        }
        let every = ScheduleWords(every: "1h")
        #expect(
            schedule(every, .cron, "0 9 * * *") == ScheduleWords(cron: "0 9 * * *", tz: zone.name)
        )
        #expect(
            schedule(ScheduleWords(at: "tomorrow 09:00"), .at, "tomorrow 10:00")
                == ScheduleWords(at: "tomorrow 10:00", tz: zone.name)
        )
        let fixed = "2127-01-01T08:00:00Z"
        #expect(schedule(every, .at, fixed) == ScheduleWords(at: fixed))
        #expect(schedule(every, .every, "2h") == ScheduleWords(every: "2h"))
        #expect(
            schedule(ScheduleWords(every: "1h", from: fixed), .every, "2h")
                == ScheduleWords(every: "2h", from: fixed)
        )
    }

    @Test("Options that go with the command, or with what is made up for, are told")
    func leftOut() {
        let shown = JobDraft(rich, zone: .utc)
        func leftOut(_ changes: [JobDraft.Field: String]) -> [String] {
            let draft = JobDraft(sent(shown, changes), zone: .utc)
            return draft.definition(changing: rich, dates).leftOut
        }
        #expect(leftOut([.misfire: "skip"]) == ["misfireWindow"])
        #expect(Set(leftOut([.command: ""])).isSuperset(of: ["cwd", "env", "onSuccess"]))
    }

    @Test("One field that is changed changes that alone")
    func oneField() {
        let draft = JobDraft(sent(JobDraft(rich, zone: .utc), [.timeout: "2h"]), zone: .utc)
        var expected = rich
        expected.timeout = "2h"
        #expect(draft.definition(changing: rich, dates).definition == expected)
    }

    @Test("A path in another Unicode form is another one")
    func unicodeForm() {
        var job = rich
        job.command = ["cat", "/srv/caf\u{e9}"]
        let text = JobDraft(job, zone: .utc)[.command].replacing("\u{e9}", with: "e\u{301}")
        let draft = JobDraft(sent(JobDraft(job, zone: .utc), [.command: text]), zone: .utc)
        let changed = draft.definition(changing: job, dates).definition.command?.last
        #expect(changed.map { Array($0.utf8) } == Array("/srv/cafe\u{301}".utf8))
    }

    @Test(
        "A zone that does not go with the words is left out where the form had it, and refused where it was typed",
        arguments: [
            (JobDraft.Kind.every, "1h"), (.in, "5min"), (.calendar, "Mon 09:00 Europe/Berlin"),
        ]
    )
    func otherZone(_ kind: JobDraft.Kind, _ text: String) {
        func schedule(_ zone: String?) -> ScheduleWords {
            var draft = JobDraft(nil, zone: .utc)
            (draft[.kind], draft[.schedule]) = (kind.rawValue, text)
            if let zone { draft[.tz] = zone }
            return JobDraft(sent(draft), zone: .utc).definition(changing: nil, dates).definition
                .schedule
        }
        #expect(schedule(nil).tz == nil)
        let error = #expect(throws: ScheduleError.self) {
            try schedule("Asia/Tokyo").resolve(now: dates.now, zone: .utc)
        }
        #expect(error?.message.contains("'tz'") == true)
    }

    @Test(
        "A choice that there is not is told at its field, and what was there stays",
        arguments: [JobDraft.Field.overlap, .misfire]
    )
    func choices(_ field: JobDraft.Field) {
        let draft = JobDraft(sent(JobDraft(rich, zone: .utc), [field: "bogus"]), zone: .utc)
        let (definition, _, errors) = draft.definition(changing: rich, dates)
        #expect(definition == rich)
        #expect(errors[field]?.hasPrefix("'bogus' is no \(field.rawValue); it is one of ") == true)
    }

    @Test("A variable that is given twice is told at its field")
    func variables() {
        let form = sent(JobDraft(rich, zone: .utc), [.env: "A=1\nB=2\nA=3"])
        let errors = JobDraft(form, zone: .utc).definition(changing: rich, dates).errors
        #expect(errors[.env] == "'A' is given twice; each variable has one value")
    }

    @Test("The preview of other dates ends with the job's last date, and with its count")
    func preview() {
        var job = JobDefinition(schedule: ScheduleWords(every: "1h"))
        func coming() -> Int {
            SchedulePreview(job, of: nil, RunTimes([]), dates).coming.count
        }
        #expect(coming() == 5)
        job.count = 2
        #expect(coming() == 2)
        (job.count, job.until) = (nil, (dates.now + .seconds(3 * 3600)).rfc3339)
        #expect(coming() == 3)
    }

    @Test("The preview says which of its dates are without jitter")
    func jitter() {
        var definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
        func preview(_ job: Job?) -> SchedulePreview {
            SchedulePreview(definition, of: job, RunTimes([]), dates)
        }
        #expect(preview(nil).notes == [])
        definition.jitter = "5min"
        #expect(preview(nil).notes.first?.hasPrefix("these dates are without jitter") == true)
        let (next, due) = (dates.now + .seconds(60), dates.now + .seconds(90))
        var job = Job(
            id: JobID(rawValue: 1),
            owner: "ann",
            state: .scheduled,
            fireDate: next,
            fires: 0,
            addedAt: dates.now,
            endedAt: nil,
            endReason: nil,
            definition: definition
        )
        job.dueDate = due
        #expect(preview(job).coming.first == due)
        let behind = preview(job).notes.first
        #expect(behind?.hasPrefix("dates behind the first are without jitter") == true)
        // How much that is of the next date is not known either.
        definition.jitter = "10min"
        #expect(preview(job).coming.first == next)
        #expect(preview(job).notes.first?.hasSuffix("less than 10min") == true)
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
        "The kind says what the words of a schedule are, and a zone that was typed is among them",
        arguments: [
            (JobDraft.Kind.every, ScheduleWords(every: "5min", tz: "Europe/Berlin")),
            (.in, ScheduleWords(in: "5min", tz: "Europe/Berlin")),
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
            (.env, "novalue"), (.priority, "high"), (.kind, "bogus"),
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
            (ControlError(.invalidParams, "change[0]: parameter 'backoff' is …"), .backoff),
            (ControlError(.badSchedule, "duration '0s' is too short"), .schedule),
            (ControlError(.invalidParams, "parameter 'schedule.tz' is …"), .tz),
            (ControlError(.conflict, "it has another revision"), nil),
        ] as [(ControlError, JobDraft.Field?)]
    )
    func daemonErrors(_ error: ControlError, _ field: JobDraft.Field?) {
        var errors = FormErrors()
        errors.add(error)
        #expect(errors.all.first?.field == field)
        // It is the only one that is changed.
        #expect(errors.all.first?.message.contains("change[0]") == false)
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
