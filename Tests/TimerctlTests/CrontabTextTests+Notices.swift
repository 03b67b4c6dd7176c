// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import timerctl

extension CrontabTextTests {
    private static let line = "30 2 * * * save --all\n"

    /// A job as `text` has it added, a crontab of one line.
    private static func added(by text: String) throws -> Job {
        var job = Self.job(7, "30 2 * * *", nil)
        job.definition = try #require(changes(text, [], isEdited: false).additions.first).definition
        job.definition.name = "save"
        return job
    }

    /// What the crontab makes of the job, and what is said of it; nil where it stays as it is.
    private static func change(
        by text: String,
        of job: Job
    ) -> (definition: JobDefinition, remark: String?)? {
        changes(text, [job], isEdited: false).changes.first.map { ($0.definition, $0.remark) }
    }

    @Test("A zone and a MAILTO that a crontab says no more are gone; a place of the user's stays")
    func variablesTakenBack() throws {
        var job = try Self.added(by: "CRON_TZ=JST-9\nMAILTO=ops\n" + Self.line)
        #expect(job.definition.schedule.tz == "JST-9")
        #expect(job.definition.notify == ["mail:ops"])
        let changes = Self.changes(Self.line, [job], isEdited: false)
        let change = try #require(changes.changes.first)
        #expect(change.definition.schedule.tz == "UTC")
        #expect(change.definition.notify == nil && change.definition.notifyOn == nil)
        #expect(Set(change.also) == [.tz, .env, .notify, .notifyOn])
        #expect(
            changes.lines(for: .plain) == [
                "~ job 7 (save): with another tz, env; its notices to mail:ops end"
            ]
        )
        job.definition = change.definition
        #expect(Self.change(by: Self.line, of: job) == nil)
        job.definition.notify = ["desktop"]
        #expect(Self.change(by: Self.line, of: job) == nil)
    }

    @Test(
        "What 'change' has said of a job's notices stays, whether its crontab has a MAILTO or none",
        arguments: ["", "MAILTO=root\n", "MAILTO=ops\n", "MAILTO=\n", "MAILTO=a <a@example.org>\n"]
    )
    func stated(mailTo: String) throws {
        let text = mailTo + Self.line
        var job = try Self.added(by: text)
        // As the import advises for a line without a MAILTO, in the words of one for root.
        (job.definition.notify, job.definition.notifyOn) = (["mail:root"], ["failed"])
        #expect(Self.change(by: text, of: job) == nil)
        // As it advises for one with a MAILTO.
        job.definition.notifyOn = ["failed", "succeeded"]
        job.definition.notifyEvery = "0s"
        #expect(Self.change(by: text, of: job) == nil)
        job.definition.notify = ["desktop"]
        #expect(Self.change(by: text, of: job) == nil)
    }

    @Test("Another MAILTO has the mail go elsewhere, of what 'change' has said")
    func anotherAddress() throws {
        var job = try Self.added(by: "MAILTO=ops\n" + Self.line)
        let moved = try #require(Self.change(by: "MAILTO=ann\n" + Self.line, of: job))
        #expect(moved.definition.notify == ["mail:ann"])
        #expect(moved.definition.notifyOn == ["failed"])
        #expect(moved.remark == "with another env, notify")
        job.definition.notifyOn = ["failed", "succeeded"]
        job.definition.notifyEvery = "0s"
        let kept = try #require(Self.change(by: "MAILTO=ann\n" + Self.line, of: job)).definition
        #expect(kept.notify == ["mail:ann"] && kept.notifyEvery == "0s")
        #expect(kept.notifyOn == ["failed", "succeeded"])
    }

    @Test("An empty MAILTO ends the notices of the one before, with all that was said of them")
    func emptyAddress() throws {
        var job = try Self.added(by: "MAILTO=ops\n" + Self.line)
        (job.definition.notifyOn, job.definition.notifyEvery) = (["failed", "succeeded"], "0s")
        let ended = try #require(Self.change(by: "MAILTO=\n" + Self.line, of: job))
        #expect(ended.definition.notify == ["none"])
        #expect(ended.definition.notifyOn == nil && ended.definition.notifyEvery == nil)
        #expect(ended.remark == "with another env; its notices to mail:ops end")
        job.definition = ended.definition
        let none = try #require(Self.change(by: Self.line, of: job))
        #expect(none.definition.notify == nil && none.remark == "with another env, notify")
    }

    @Test("Without its MAILTO a job keeps a place that is the user's, and loses the variable alone")
    func ownPlace() throws {
        var job = try Self.added(by: "MAILTO=ops\n" + Self.line)
        job.definition.notify = ["mail:ops", "desktop"]
        let kept = try #require(Self.change(by: Self.line, of: job))
        #expect(kept.definition.notify == ["mail:ops", "desktop"])
        #expect(kept.definition.notifyOn == ["failed"] && kept.remark == "with another env")
        #expect(kept.definition.env == ["PATH": "/usr/bin:/bin"])
    }
}
