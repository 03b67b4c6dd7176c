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
        let command = try Change.parse(["backup"] + words)
        return try ChangedDefinition(
            of: old,
            command.schedule,
            command.job,
            unset: command.unset,
            command: command.command,
            now: testNow,
            local: berlin
        ).definition
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
        #expect(try changed(["--event", "--unset", "user-info"]) == expected)
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

    @Test("What does not go together, and nothing at all, is refused")
    func refusals() throws {
        expectUsageError("--every and --cron exclude each other") {
            try Change.parse(["1", "--every", "1h", "--cron", "@daily"])
        }
        expectUsageError("--replace belongs to 'add'") {
            try Change.parse(["1", "--name", "a", "--replace"])
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
