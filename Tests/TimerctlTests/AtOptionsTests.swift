// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl
import TimerWords

@testable import timerctl

@Suite("at(1)'s options") struct AtOptionsTests {
    @Test(
        "A date of touch(1) has the year, the century, both or neither, and perhaps seconds",
        arguments: [
            ("12241000", "2026-12-24 10:00"), ("2712241000", "2027-12-24 10:00"),
            ("6812241000", "2068-12-24 10:00"), ("7012241000", "1970-12-24 10:00"),
            ("202712241000", "2027-12-24 10:00"), ("202712241000.59", "2027-12-24 10:00:59"),
            ("12241000.05", "2026-12-24 10:00:05"),
        ]
    )
    func touch(text: String, words: String) throws {
        #expect(TouchDate.words(text, year: 2026) == words)
        // The words are ones that are read.
        _ = try DateExpression.parse(words, now: testNow, zone: berlin)
    }

    @Test(
        "What is no date of touch(1) is refused",
        arguments: [
            "", "1224100", "122410000", "12241000.5", "12241000.", "1224-1000", "2027122410000",
            "noon",
        ]
    )
    func refused(text: String) throws {
        #expect(TouchDate.words(text, year: 2026) == nil)
        #expect(throws: (any Error).self) { try At.parse(["-t", text]).schedule }
    }

    @Test("-t and a date exclude each other, and one of them there is")
    func date() throws {
        #expect(throws: (any Error).self) { try At.parse(["-t", "202712241000", "noon"]) }
        #expect(throws: (any Error).self) { try At.parse([]) }
        let schedule = try At.parse(["-t", "202712241000", "--tz", "UTC"]).schedule
        let words = try schedule.words(now: testNow, local: berlin).words
        #expect(words.at == "2027-12-24T10:00:00.000000Z")
    }

    /// The definition that the options make.
    private func definition(_ arguments: String...) throws -> JobDefinition {
        let at = try At.parse(["noon"] + arguments + ["--", "true"])
        var script = at.script
        try at.queue.apply(to: &script)
        return try definition(of: script, at: at.schedule)
    }

    private func definition(of script: AtScript, at schedule: ScheduleOptions) throws
        -> JobDefinition
    {
        let request = try script.job.request(
            schedule,
            command: script.words.command,
            now: testNow,
            local: berlin
        ).request
        guard case .addJobs(let jobs) = request else { throw ValidationMistake() }
        return try #require(jobs.definitions.first)
    }

    private struct ValidationMistake: Error {}

    @Test("A queue is a tag and a niceness, which --nice overrides")
    func queue() throws {
        let plain = try definition()
        #expect(plain.tags == nil && plain.nice == nil && plain.notify == nil)
        let first = try definition("-q", "a")
        #expect(first.tags == ["queue:a"] && first.nice == nil)
        let later = try definition("-q", "c", "--tag", "x")
        #expect(later.tags == ["x", "queue:c"] && later.nice == 4)
        #expect(try definition("-q", "Z").nice == 19)
        #expect(try definition("-q", "c", "--nice", "1").nice == 1)
        for wrong in ["", "ab", "1", "ä", "a\u{301}", "="] {
            #expect(throws: (any Error).self) { try At.parse(["noon", "-q", wrong]) }
        }
    }

    @Test(
        "Only what is run gives way: a task and an event of at and batch have no niceness",
        arguments: [["--queue", "q"], ["--event"], ["--user-info", "-"]]
    )
    func notRun(words: [String]) throws {
        #expect(try Batch.parse(words).niceScript().job.runs.nice == nil)
        var script = try At.parse(["noon", "-q", "c"] + words).script
        try AtOptions.parse(["-q", "c"]).apply(to: &script)
        #expect(script.job.runs.nice == nil && script.job.general.tags.count == 1)
    }

    @Test("batch has its script give way by 19, or as its queue or --nice says")
    func batch() throws {
        func nice(_ words: String...) throws -> StatedOption? {
            try Batch.parse(words).niceScript().job.runs.nice
        }
        let standard = try StatedOption(.nice, "19")
        #expect(try nice() == standard)
        #expect(try nice("--", "true") == standard)
        #expect(try nice("--shell", "true") == standard)
        #expect(try nice("-f", "script.sh") == standard)
        let stated = try StatedOption(.nice, "4")
        #expect(try nice("-q", "c") == stated)
        #expect(try nice("-q", "z", "--nice", "4") == stated)
    }

    @Test("-m is a mail at each end, -M is none, and what is stated of notices counts more")
    func mail() throws {
        let mail = try definition("-m")
        #expect(mail.notify == ["mail"] && mail.notifyOn == ["failed", "succeeded"])
        #expect(mail.notifyEvery == "0s")
        let stated = try definition("-m", "--notify", "desktop", "--notify-on", "failed")
        #expect(stated.notify == ["desktop"] && stated.notifyOn == ["failed"])
        #expect(try definition("-M", "-v").notify == ["none"])
        #expect(try definition("-M", "--notify", "desktop").notify == ["desktop"])
        #expect(throws: (any Error).self) { try definition("-m", "-M") }
    }
}
