// SPDX-License-Identifier: Apache-2.0

import Foundation
import Schedules
import Testing
import TimerControl

@testable import timerctl

@Suite("Exported files") struct ExportTests {
    private static let hostile = [
        "", " ", "no", "NULL", "~", "5", "-", "- a", "a: b", "a #b", "'", "\"", "\\", "%", "@a",
        "*a", "&a", "!a", "|", ">", "{", "[", "1e3", "0x1f", ".inf", "2026-12-01", "=", "<<", "?",
        "\n", "a\nb\n", "\t", "\u{0}", "\u{7f}", "\u{85}", "\u{a0}", "\u{2028}", "a\u{feff}",
        "\u{fffe}", "\u{1f600}", "é", "\r\n", "\u{1b}[31m", "  a  ", "y", "off", "1:30", "0o7",
    ]

    @Test("What is exported reads back as the same, whatever stands in it")
    func hostileText() throws {
        for text in Self.hostile {
            let exported = job(schedule: ScheduleWords(every: "5s")) {
                $0.definition.name =
                    "x"
                    + text.filter { !$0.isNewline && $0 != "\u{0}" }
                    .unicodeScalars.filter { $0.properties.generalCategory != .control }
                    .map(String.init).joined()
                $0.definition.command = ["printf", text.replacing("\u{0}", with: "")]
                $0.definition.env = ["A": text.replacing("\u{0}", with: "")]
                $0.definition.userInfo = JSONText(
                    .object([text: .array([.string(text), .integer(-5)])])
                )
            }
            try expectSame(exported)
        }
    }

    @Test(
        "userInfo is exported as it was written, where YAML reads that as JSON does",
        arguments: [
            (#"{"b":18446744073709551616,"a":1e2}"#, #"{"b":18446744073709551616,"a":1e2}"#),
            (#"[1.10,  "é"]"#, #"[1.10,  "é"]"#),
            // More than any double is.
            (#"{"a":[1e400,-2.5E+999]}"#, #"{"a":[1e400,-2.5E+999]}"#),
            // A pair of escapes for one character.
            (#"{"b":"\ud83d\ude00","a":1.50}"#, #"{"b":"😀","a":1.50}"#),
            // What a terminal would obey.
            ("{\"a\u{202e}\":\"\u{9b}31m\u{200f}\"}", #"{"a\u202e":"\u009b31m\u200f"}"#),
            (
                "{\"z\":\t18446744073709551616, \"\\u0061\\\"\\n\":[-0,\"\"]}",
                #"{"z": 18446744073709551616, "a\"\n":[-0,""]}"#
            ),
        ]
    )
    func userInfo(text: String, exported: String) throws {
        let info = try JSONText(parsing: text)
        let job = job(schedule: ScheduleWords(every: "5s")) {
            $0.definition.name = "a"
            $0.definition.userInfo = info
        }
        let file = ExportedFile([job], label: nil)
        #expect(
            file.text(schema: nil).contains("userInfo: \(exported)\n"),
            "\(file.text(schema: nil))"
        )
        let read = try #require(jobFile(file.text(schema: nil)).jobs.first?.definition.userInfo)
        #expect(try read.meaning() == info.meaning())
        let json = try #require(jobFile(YAMLText.json(file.json)).jobs.first?.definition.userInfo)
        #expect(try json.meaning() == info.meaning())
    }

    @Test("A name in userInfo may be longer than YAML lets a key be that stands alone")
    func longNames() throws {
        let name = String(repeating: "é\"", count: 800)
        let plain = String(repeating: "k", count: 2000)
        let texts: [JSONText] = [
            JSONText(.object([name: .integer(1)])),
            JSONText(.object(["a": .array([.object([name: .object([name: .string(name)])])])])),
            // As somebody else writes it.
            try JSONText(parsing: "{ \"\(plain)\" : 1.50, \"b\":{\"\(plain)\":\"\(plain)\"}}"),
        ]
        for info in texts {
            let exported = job {
                $0.definition.name = "a"
                $0.definition.userInfo = info
            }
            let file = jobFile(ExportedFile([exported], label: nil).text(schema: nil))
            #expect(file.mistakes == [])
            let read = try #require(file.jobs.first?.definition.userInfo)
            #expect(try read.meaning() == info.meaning())
        }
    }

    @Test("Every field of a job reads back as the same")
    func everyField() throws {
        try expectSame(Self.full)
        let stated = Set(Self.full.definition.fields.keys)
        #expect(
            stated.union(["at", "cron", "calendar", "tz"])
                == Set(JobOption.inFiles.map(\.rawValue)),
            "this job has every field there is"
        )
        for schedule in [
            ScheduleWords(at: "2026-12-24T08:00:00.000000Z"), ScheduleWords(cron: "@reboot"),
            ScheduleWords(cron: "*/5 0-7,9 L * mon#2", tz: "CET-1"),
            ScheduleWords(calendar: "Mon..Fri *-*-* 09:00:00.5", tz: berlin.name),
            ScheduleWords(every: "1h 30min"),
        ] {
            try expectSame(job(schedule: schedule) { $0.definition.name = "a" })
        }
    }

    static var full: Job {
        job(schedule: ScheduleWords(every: "1h", from: "2026-12-01T07:30:00.000000Z")) {
            $0.state = .paused
            $0.definition.name = "full"
            $0.definition.command = ["/bin/sh", "-c", "a | b"]
            $0.definition.cwd = "/tmp/a b"
            $0.definition.env = ["A": "1", "B": ""]
            $0.definition.userInfo = JSONText(.array([.null, .bool(false), .number(1.5)]))
            $0.definition.tags = ["db", "applied:web"]
            $0.definition.paused = true
            $0.definition.count = 8
            $0.definition.until = "2027-01-01T00:00:00.000000Z"
            $0.definition.tolerance = "500ms"
            $0.definition.jitter = "5min"
            $0.definition.misfire = .all
            $0.definition.misfireLimit = 7
            $0.definition.misfireAfter = "2min"
            $0.definition.misfireWindow = "1d"
            $0.definition.timeout = "1h 30min"
            $0.definition.killAfter = "10s"
            $0.definition.overlap = .queue
            $0.definition.retries = 3
            $0.definition.backoff = "10s..5min"
            $0.definition.successCodes = [0, 3]
            $0.definition.onFailure = ["mail", "root"]
            $0.definition.onSuccess = ["next"]
            $0.definition.envFile = ["/etc/a.env", "-/etc/b.env"]
            $0.definition.keepRuns = 50
            $0.definition.on = "on"
            $0.definition.queue = "mails"
            $0.definition.priority = 5
            $0.definition.key = "order-7"
            $0.definition.keyKept = "2h"
            $0.definition.credentials = ["token", "key:/srv/key"]
            $0.definition.notify = ["desktop", "mail:root"]
            $0.definition.notifyOn = ["failed", "late"]
            $0.definition.notifyLate = "5min"
            $0.definition.notifyEvery = "2h"
            $0.definition.ping = "https://ping.example/…#0a1b"
            $0.definition.rerunInterrupted = true
            $0.definition.output = .journal
            $0.definition.outputKept = "1M"
            $0.definition.nice = -5
            $0.definition.memoryMax = "512M"
            $0.definition.memoryHigh = "256M"
            $0.definition.cpuWeight = 50
            $0.definition.cpuQuota = "150%"
            $0.definition.tasksMax = 9
            $0.definition.ioWeight = 200
            $0.definition.cpuTime = "10s"
            $0.definition.umask = "077"
        }
    }

    /// Expects that the job, exported and read again, is to be changed in nothing.
    private func expectSame(_ exported: Job) throws {
        var exported = exported
        exported.definition.tags = (exported.definition.tags ?? []).filter { $0 != "applied:web" }
        exported.definition.tags?.append("applied:web")
        let file = ExportedFile([exported], label: "web")
        for text in [file.text(schema: "/schema.json"), YAMLText.json(file.json)] {
            let read = jobFile(text)
            #expect(read.mistakes == [], "\(text)")
            let plan = ApplyPlan(
                try JobFiles([read], label: nil),
                labelled: [exported],
                named: [:],
                adopts: false,
                now: testNow,
                zone: berlin
            )
            #expect(plan.changes.flatMap(\.fields) == [], "\(text)")
            #expect(plan.unchanged == 1, "\(text)")
            #expect(
                read.jobs.first?.definition.command == exported.definition.command,
                "\(text)"
            )
        }
    }

    @Test("Of two names that differ in their Unicode form alone a file has one; the other is told")
    func unicodeForms() {
        let file = ExportedFile(
            [
                job(1) { $0.definition.name = "caf\u{e9}" },
                job(2) { $0.definition.name = "cafe\u{301}" },
            ],
            label: nil
        )
        #expect(file.jobs.count == 1 && file.leftOut.map(\.job.id.rawValue) == [2])
        #expect(
            file.leftOut.map(\.reason) == ["its name is that of job 1 but for its Unicode form"]
        )
    }

    @Test("What no file can say is left out, with the reason; a delay becomes its date")
    func leftOut() {
        let file = ExportedFile(
            [
                job(1),
                job(2) {
                    $0.definition.name = "tied"
                    $0.definition.whilePid = 1
                },
                job(3, schedule: ScheduleWords(in: "30m")) { $0.definition.name = "later" },
            ],
            label: nil
        )
        #expect(file.leftOut.map(\.job.id.rawValue) == [1, 2])
        #expect(
            file.text(schema: nil) == """
                jobs:
                  later:
                    at: "2026-12-01T08:00:05.000000Z"

                """
        )
        #expect(ExportedFile([], label: "a b").text(schema: nil) == "label: \"a b\"\njobs: {}\n")
    }
}

extension ExportTests {
    private func plan(_ text: String, _ labelled: [Job]) throws -> ApplyPlan {
        ApplyPlan(
            try JobFiles([jobFile(text)], label: nil),
            labelled: labelled,
            named: [:],
            adopts: false,
            now: testNow,
            zone: berlin
        )
    }

    @Test("A delay has the date of its end, which changes nothing where it came from")
    func delay() throws {
        let delayed = job(schedule: ScheduleWords(in: "1h")) {
            $0.definition.name = "a"
            $0.definition.tags = ["applied:web"]
            $0.fireDate = date("2026-12-24T17:00:00Z")
        }
        let text = ExportedFile([delayed], label: "web").text(schema: nil)
        #expect(text.contains("    at: \"2026-12-24T17:00:00.000000Z\"\n"))
        #expect(try plan(text, [delayed]).unchanged == 1)
        // Both clocks have gone a little apart since.
        #expect(try plan(text.replacing("00.000000", with: "00.020000"), [delayed]).unchanged == 1)
        let other = try plan(text.replacing("24T17", with: "24T18"), [delayed])
        #expect(other.changes.first?.isRedated == true)
    }

    @Test("A one-shot has the date that it was moved to, which changes nothing where it came from")
    func movedOneShot() throws {
        let moved = job(schedule: ScheduleWords(at: "2026-11-30T08:00:00.000000Z")) {
            $0.definition.name = "a"
            $0.definition.tags = ["applied:web"]
            $0.fireDate = date("2026-12-24T17:00:00Z")
        }
        let text = ExportedFile([moved], label: "web").text(schema: nil)
        #expect(text.contains("    at: \"2026-12-24T17:00:00.000000Z\"\n"))
        let same = try plan(text, [moved])
        #expect(same.isEmpty && same.unchanged == 1)
        // As it is stated it is the same, too: who moves a job need not edit the file.
        #expect(try plan(text.replacing("12-24T17", with: "11-30T08"), [moved]).unchanged == 1)
        let other = try plan(text.replacing("24T17", with: "24T18"), [moved])
        #expect(other.changes.first?.isRedated == true)
        let limited = try plan(text + "    keepRuns: 5\n", [moved])
        #expect(limited.changes.flatMap(\.fields).map(\.name) == ["keepRuns"])
        #expect(limited.changes.first?.isRedated == false)
        // Elsewhere it is to fire at that date.
        #expect(try plan(text, []).additions.count == 1)
    }

    @Test("The schema is of all jobs' files: a label or a tag beside it is refused")
    func schemaAlone() {
        for option in [["--label", "web"], ["--tag", "night"]] {
            expectUsageError("--schema and \(option[0]) exclude each other") {
                try Export.parse(["--schema"] + option)
            }
        }
    }
}

@Suite("Options in files") struct FileOptionTests {
    @Test("What is the standard of an option is accepted in a file, and means nothing there")
    func standards() throws {
        let bare = jobFile("jobs: {a: {every: 5s}}")
        for option in JobOption.inFiles {
            guard let standard = option.standardInFile else { continue }
            let text = YAMLText.inline(JSONValue(standard))
            let file = jobFile("jobs: {a: {every: 5s, \(option): \(text)}}")
            #expect(file.mistakes == [], "\(option)")
            #expect(file.jobs.first?.definition[option] == standard, "\(option)")
            let meanings = try [file, bare].map { file in
                JobMeaning(
                    try #require(file.jobs.first).definition,
                    now: testNow,
                    zone: berlin
                )
            }
            #expect(meanings[0] == meanings[1], "\(option)")
        }
    }

    @Test(
        "docs/jobs.schema.json is what the table makes of it; 'timerctl export --schema' writes it"
    )
    func schema() throws {
        let docs = URL(filePath: #filePath).appending(path: "../../../../docs").standardized
        let kept = try String(contentsOf: docs.appending(path: "jobs.schema.json"), encoding: .utf8)
        #expect(kept == JobsSchema.text)
        let read = try JSONValue(parsing: kept)
        guard case .object(let fields)? = read["$defs"]?["job"]?["properties"] else {
            Issue.record("no fields")
            return
        }
        #expect(Set(fields.keys) == Set(JobOption.inFiles.map(\.rawValue)))
    }
}
