// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Schedules
import Testing
import TimerControl

@testable import timerctl

@Suite("Change") struct ChangeTests {
    private static var old: JobDefinition {
        var old = JobDefinition(schedule: ScheduleWords(cron: "0 9 * * *", tz: "Asia/Tokyo"))
        (old.name, old.command) = ("backup", ["sync", "--all"])
        (old.timeout, old.retries, old.tags, old.env) = ("10min", 3, ["net"], ["A": "1"])
        old.userInfo = JSONText(.integer(7))
        return old
    }

    private func changed(_ words: [String], of old: JobDefinition = Self.old) throws
        -> JobDefinition
    {
        try change(words, of: old).definition
    }

    private func change(_ words: [String], of old: JobDefinition = Self.old) throws
        -> ChangedDefinition
    {
        let command = try Change.parse(["backup"] + words)
        return try ChangedDefinition(
            of: old,
            command.schedule,
            command.job,
            unset: command.unset,
            command: command.command,
            now: testNow,
            local: berlin
        )
    }

    @Test("It is said where a change has a job's dates begin anew")
    func anew() {
        func old(_ change: (inout Job) -> Void = { _ in }) -> Job {
            job {
                $0.definition.command = ["sync"]
                change(&$0)
            }
        }
        func isTold(of new: Job) -> Bool {
            new.nextFireSentence(in: berlin, after: old())
                .hasSuffix("; its dates and 'fires' begin anew")
        }
        #expect(!isTold(of: old { $0.definition.timeout = "5s" }))
        #expect(!isTold(of: old { $0.definition.schedule = ScheduleWords(every: "5000ms") }))
        #expect(isTold(of: old { $0.definition.schedule = ScheduleWords(every: "6s") }))
        #expect(isTold(of: old { $0.definition.command = nil }), "an event")
        #expect(isTold(of: old { ($0.definition.command, $0.definition.queue) = (nil, "mails") }))
        #expect(!isTold(of: old { ($0.state, $0.definition.command) = (.finished, nil) }))
    }

    @Test("What is as it was is no change, and what was not there to be taken away is told")
    func noChange() throws {
        let missing = try change(["--unset", "timeout", "--unset", "nice", "--unset", "on"])
        #expect(missing.isAnother)
        let notes = ["nice", "on"].map { "--unset \($0): the job has none of its own" }
        #expect(missing.notes == notes)
        #expect(try !change(["--unset", "nice"]).isAnother)
        #expect(try !change(["--retries", "3", "--", "sync", "--all"]).isAnother)
        #expect(try change(["--retries", "4"]).isAnother)
        var accented = Self.old
        accented.env = ["A": "\u{e9}"]
        #expect(try !change(["--env", "A=\u{e9}"], of: accented).isAnother)
        #expect(try change(["--env", "A=e\u{301}"], of: accented).isAnother, "other bytes")
    }

    @Test("What is stated is so, all else stays as it was")
    func stated() throws {
        var expected = Self.old
        expected.timeout = "2h"
        #expect(try changed(["--timeout", "2h"]) == expected)
        (expected.timeout, expected.retries) = ("10min", nil)
        expected.command = ["other", "-x"]
        #expect(try changed(["--unset", "retries", "--", "other", "-x"]) == expected)
        expected = Self.old
        (expected.tags, expected.env) = (["a", "b"], ["B": "2"])
        #expect(try changed(["--tag", "a", "--tag", "b", "--env", "B=2"]) == expected)
        expected = Self.old
        (expected.command, expected.userInfo) = (nil, nil)
        // What is of a command's runs goes with it.
        (expected.timeout, expected.retries, expected.env) = (nil, nil, nil)
        #expect(try changed(["--event", "--unset", "user-info"]) == expected)
        (expected.queue, expected.retries) = ("mails", 3)
        let queue = ["--queue", "mails", "--unset", "user-info"]
        #expect(try changed(queue) == expected)
        expected.timeout = "7s"
        #expect(try changed(queue + ["--timeout", "7s"]) == expected, "the daemon refuses it")
    }

    @Test(
        "A schedule takes the place of the one there was; a zone or a first date alone is changed alone"
    )
    func schedule() throws {
        #expect(try changed(["--every", "2h"]).schedule == ScheduleWords(every: "2h"))
        let zone = try changed(["--tz", "Europe/Paris"]).schedule
        #expect(zone == ScheduleWords(cron: "0 9 * * *", tz: "Europe/Paris"))
        var grid = Self.old
        grid.schedule = ScheduleWords(every: "1h")
        let from = try changed(["--from", "2026-12-02T09:30:00Z"], of: grid).schedule
        #expect(from == ScheduleWords(every: "1h", from: "2026-12-02T09:30:00.000000Z"))
        #expect(try changed(["--retries", "1"]).schedule == Self.old.schedule)
    }

    @Test(
        "A command takes the place of a queue, and of what is of tasks alone",
        arguments: [false, true]
    )
    func commandForQueue(isShell: Bool) throws {
        var old = JobDefinition(schedule: ScheduleWords(every: "1h"))
        (old.queue, old.priority, old.retries, old.key) = ("mails", 5, 3, "K")
        var expected = JobDefinition(schedule: ScheduleWords(every: "1h"))
        (expected.retries, expected.key) = (3, "K")
        expected.command = isShell ? ["/bin/sh", "-c", "a | b"] : ["send", "--all"]
        let words = isShell ? ["--shell", "a | b"] : ["--", "send", "--all"]
        #expect(try changed(words, of: old) == expected)
        #expect(try changed(["--unset", "queue"] + words, of: old) == expected)
    }

    @Test("As an event a job has no queue any more")
    func event() throws {
        var old = JobDefinition(schedule: ScheduleWords(every: "1h"))
        old.queue = "mails"
        #expect(
            try changed(["--event"], of: old) == JobDefinition(schedule: ScheduleWords(every: "1h"))
        )
    }

    @Test("An end alone is read in the zone of the job")
    func end() throws {
        #expect(
            try changed(["--until", "2026-12-24 09:00"]).until == "2026-12-24T00:00:00.000000Z"
        )
        var interval = JobDefinition(schedule: ScheduleWords(every: "1h"))
        let words = ["--until", "2026-12-24 09:00", "--tz", "JST-9"]
        let ends = try changed(words, of: interval)
        interval.until = "2026-12-24T00:00:00.000000Z"
        #expect(ends == interval)
        interval.schedule.every = "2h"
        #expect(try changed(words + ["--every", "2h"], of: ends) == interval)
        for once in [ScheduleWords(in: "60d"), ScheduleWords(at: "2026-12-20T08:00:00.000000Z")] {
            let job = JobDefinition(schedule: once)
            let ends = try changed(words, of: job)
            #expect(ends.until == interval.until && ends.schedule == once)
            #expect(throws: ValidationError.self) { try changed(["--tz", "JST-9"], of: job) }
        }
    }

    @Test("An interval keeps its first date, which no zone changes")
    func firstDate() throws {
        var grid = Self.old
        grid.schedule = ScheduleWords(every: "1d", from: "2026-11-02T09:30:00.000000Z")
        let longer = try changed(["--every", "2d"], of: grid).schedule
        #expect(longer == ScheduleWords(every: "2d", from: "2026-11-02T09:30:00.000000Z"))
        let moved = try changed(["--from", "09:00", "--tz", "JST-9"], of: grid).schedule
        #expect(moved == ScheduleWords(every: "1d", from: "2026-12-02T00:00:00.000000Z"))
        let at = try changed(["--at", "2026-12-24T08:00:00Z"], of: grid).schedule
        #expect(at == ScheduleWords(at: "2026-12-24T08:00:00.000000Z"))
        let zone = #expect(throws: ValidationError.self) {
            try changed(["--tz", "Europe/Paris"], of: grid)
        }
        #expect(zone?.message.hasPrefix("--tz belongs to --at, --from, --until,") == true)
        let from = #expect(throws: ValidationError.self) { try changed(["--from", "09:00"]) }
        #expect(from?.message == "--from belongs to --every")
    }

    @Test("Tags that are stated leave those that say where the job came from")
    func origin() throws {
        var old = Self.old
        old.tags = ["net", "applied:web", "crontab:-"]
        #expect(try changed(["--tag", "a"], of: old).tags == ["a", "applied:web", "crontab:-"])
        #expect(try changed(["--unset", "tags"], of: old).tags == ["applied:web", "crontab:-"])
        #expect(
            try changed(["--tag", "applied:db"], of: old).tags == ["applied:db", "crontab:-"]
        )
        #expect(try changed(["--unset", "tags"]).tags == nil)
    }

    @Test("A schedule whose line in the editor is left stays as it was stated")
    func editedDelay() throws {
        let delayed = job(schedule: ScheduleWords(in: "1h")) { $0.definition.command = ["a"] }
        let edited = try EditedJob(delayed, now: testNow, zone: berlin)
        let same = try edited.declared(in: edited.text + "timeout: 5s\n").definition
        #expect(same.schedule == ScheduleWords(in: "1h"))
        #expect(edited.changes(to: same) == ["timeout: (none) -> 5s"])
        let other = try edited.declared(in: "at: 2026-12-24T08:00:00Z\ncommand: [a]\n").definition
        #expect(other.schedule == ScheduleWords(at: "2026-12-24T08:00:00.000000Z"))
    }

    @Test("A text whose editor ends its lines with CR LF is the same text")
    func editedLineEnds() throws {
        let edited = try EditedJob(
            job(schedule: ScheduleWords(in: "1h")) { $0.definition.command = ["a"] },
            now: testNow,
            zone: berlin
        )
        let saved = edited.page(edited.text).replacing("\n", with: "\r\n")
        #expect(EditedJob.text(of: saved) == edited.text)
    }

    @Test("A job that ends with a process or a connection is refused in the words of what it is")
    func tied() throws {
        try job().requireUntied()
        let process = job(7) { $0.definition.whilePid = 12 }
        let refused = #expect(throws: Failure.self) { try process.requireUntied() }
        #expect(refused?.message == "job 7 ends with a process; such a job cannot be changed")
        let connected = job(7) { $0.definition.whileConnected = true }
        let other = #expect(throws: Failure.self) { try connected.requireUntied() }
        #expect(other?.message.contains("ends with a connection") == true)
    }

    @Test("An editor's end is told by its status, or by the signal that has ended it")
    func editorsEnd() {
        #expect(Editor.end(3 << 8) == "ended with status 3")
        #expect(Editor.end(9) == "was ended by signal 9 (KILL)")
    }

    @Test("The help of change tells of no option that only a new job takes")
    func help() {
        let (added, changed) = (
            Timerctl.helpMessage(for: Add.self), Timerctl.helpMessage(for: Change.self)
        )
        for option in ["--replace", "--user <", "--while-pid", "--while-connected"] {
            #expect(added.contains(option) && !changed.contains(option), "\(option)")
        }
        #expect(changed.contains("--user-info") && changed.contains("--timeout"))
    }

    @Test("What does not go together, and nothing at all, is refused")
    func refusals() throws {
        expectUsageError("--every and --cron exclude each other") {
            try Change.parse(["1", "--every", "1h", "--cron", "@daily"])
        }
        expectUsageError("--replace belongs to 'add'") {
            try Change.parse(["1", "--name", "a", "--replace"])
        }
        expectUsageError("--user belongs to 'add' and 'copy'; a job stays its owner's") {
            try Change.parse(["1", "--timeout", "1s", "--user", "ann"])
        }
        expectUsageError("--while-pid belongs to 'add'") {
            try Change.parse(["1", "--while-pid", "1"])
        }
        expectUsageError("--while-connected belongs to 'add'") {
            try Change.parse(["1", "--while-connected"])
        }
        let nearest = #expect(throws: (any Error).self) {
            try Change.parse(["1", "--unset", "timeot"])
        }
        #expect(
            nearest.map { Timerctl.message(for: $0) }?.contains("perhaps 'timeout'") == true
        )
        let schedule = #expect(throws: (any Error).self) {
            try Change.parse(["1", "--unset", "cron"])
        }
        #expect(
            schedule.map { Timerctl.message(for: $0) }?.contains("a job has a schedule") == true
        )
        let zone = #expect(throws: (any Error).self) { try Change.parse(["1", "--unset", "tz"]) }
        #expect(
            zone.map { Timerctl.message(for: $0) }?.contains("with --at, --every or --cron") == true
        )
        for words in [[], ["--quiet"]] {
            let nothing = #expect(throws: ValidationError.self) { try changed(words) }
            #expect(nothing?.message.hasPrefix("say what is to change") == true)
        }
        let both = #expect(throws: ValidationError.self) {
            try changed(["--timeout", "1s", "--unset", "timeout"])
        }
        #expect(both?.message == "'timeout' is set and unset at once")
    }
}
