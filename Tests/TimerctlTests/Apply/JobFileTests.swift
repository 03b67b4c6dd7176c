// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import timerctl

/// A file as it is read on a Tuesday, 09:00 in Berlin.
func jobFile(_ text: String, _ name: String = "jobs.yaml") -> JobFile {
    JobFile(text, file: name, now: testNow, zone: berlin)
}

@Suite("Files of jobs") struct JobFileTests {
    @Test("A job is read in the words of the command line")
    func job() throws {
        let file = jobFile(
            """
            label: web
            jobs:
              heartbeat:
                every: 5s
                from: 2026-12-01 10:00
                command: [curl, -m, 4, no]
                env: {LEVEL: 7, DEBUG: yes, NOTHING: ""}
                userInfo: {text: no, list: [1, -2.5, 0x10, null, ~, true, "true"]}
                umask: 022
                on: on
                memoryMax: 1048576
                successCodes: [0, 3]
                paused: true
              dump:
                cron: "0 3 * * *"
                tz: CET-1
                command: pg_dump shop | gzip
              reminder:
                at: 2026-12-24 09:00
                until: 2027-01-01T00:00:00Z
            """
        )
        #expect(file.mistakes == [])
        #expect(file.label == "web")
        #expect(file.jobs.map(\.name) == ["heartbeat", "dump", "reminder"])
        let heartbeat = file.jobs[0].definition
        #expect(
            heartbeat.schedule == ScheduleWords(every: "5s", from: "2026-12-01T09:00:00.000000Z")
        )
        #expect(heartbeat.command == ["curl", "-m", "4", "no"], "words are taken as written")
        #expect(heartbeat.env == ["LEVEL": "7", "DEBUG": "yes", "NOTHING": ""])
        #expect(
            try heartbeat.userInfo?.parsed()
                == .object([
                    "text": .string("no"),
                    "list": .array([
                        .integer(1), .number(-2.5), .integer(16), .null, .null, .bool(true),
                        .string("true"),
                    ]),
                ])
        )
        #expect(heartbeat.umask == "022")
        #expect(heartbeat.on == "on", "neither the name nor the word is true, as in older YAML")
        #expect(heartbeat.memoryMax == "1048576")
        #expect(heartbeat.successCodes == [0, 3])
        #expect(heartbeat.paused == true)
        #expect(file.jobs[1].definition.command == ["/bin/sh", "-c", "pg_dump shop | gzip"])
        #expect(file.jobs[1].definition.schedule.tz == "CET-1")
        #expect(file.jobs[2].definition.schedule.at == "2026-12-24T08:00:00.000000Z")
        #expect(file.jobs[2].place == Place(file: "jobs.yaml", line: 18, column: 3))
    }

    @Test("JSON is read as well, with its places")
    func json() {
        let file = jobFile(
            #"{"label": "web", "jobs": {"a": {"every": "5s", "command": ["a\u00e9\n"], "nice": 99}}}"#
        )
        #expect(
            file.mistakes.map(\.description) == [
                "jobs.yaml:1:82: 'nice' is 99, accepted is a number from -20 to 19"
            ]
        )
    }

    @Test("A character that JSON writes as two escapes is one, and no place is another by it")
    func surrogates() {
        let file = jobFile(
            #"{"jobs": {"a\ud83d\ude00": {"every": "5s", "command": ["\uD83D\uDE00", "\\ud83d"]}}}"#
        )
        #expect(file.mistakes == [] && file.jobs.map(\.name) == ["a\u{1f600}"])
        #expect(file.jobs.map(\.definition.command) == [["\u{1f600}", #"\ud83d"#]])
        let wrong = jobFile(
            #"{"jobs": {"a\ud83d\ude00": {"every": "5s", "command": ["\ud83d\ude00", "\\ud83d"], "nice": 99}}}"#
        )
        #expect(wrong.mistakes.map(\.place) == [Place(file: "jobs.yaml", line: 1, column: 92)])
    }

    @Test("A date that daylight saving moves is noted with its place")
    func movedDate() {
        let file = jobFile("jobs: {a: {at: 2027-03-28 02:30}, b: {at: 2027-03-29 02:30}}")
        #expect(file.mistakes == [] && file.jobs.map(\.notes.count) == [1, 0])
        let note = file.jobs.first?.notes.first
        #expect(note?.place == Place(file: "jobs.yaml", line: 1, column: 16))
        #expect(note?.text.hasPrefix("'at': 2027-03-28 02:30") == true, "\(note?.text ?? "none")")
    }

    @Test("All that is wrong is told at once, each with its place, its value and what is accepted")
    func mistakes() {
        let file = jobFile(
            """
            lable: x
            jobs:
              a: {evry: 5s, timeout: soon, command: []}
              b: {in: 5m, tags: [applied:x], cwd: here}
              c: {cron: "99 * * * *"}
              d: {at: tomorrow 09:00}
              e: {calendar: "*-02-30"}
              f: {every: 5s, from: 2026-01-01, tz: Mars/Olympus}
              g: {every: 5s, cron: "* * * * *"}
              h: 5
              i: {every: 5s, env: {A: }, paused: yes, overlap: maybe, retries: 1.5}
              j: {every: [1], shell: ls, whilePid: 1, schedule: {}, name: x}
              k: {at: Dec 24 10:00}
              l: {at: 10am Feb 29}
            """
        )
        let told = file.mistakes.map { "\($0.place.line):\($0.place.column) \($0.message)" }
        for expected in [
            "1:1 'lable' is unknown here, accepted are 'label', 'defaults' and 'jobs'",
            "3:7 'evry' is unknown, perhaps 'every'; a job has every, from, at, cron",
            "3:26 'timeout': 'soon' is not a duration, such as '5s'",
            "3:41 'command' is empty, accepted is a list [program, argument, ...], or a line for /bin/sh",
            "3:3 job 'a' has none, accepted is exactly one of 'every', 'at', 'cron', 'calendar'",
            "4:7 'in' counts from when it is said",
            "4:22 the tag 'applied:x' is a label",
            "4:39 'cwd' is 'here', accepted is an absolute path",
            "5:13 job 'c': cron '99 * * * *': minute '99' is not accepted",
            "6:11 'at' is 'tomorrow 09:00', another date each time it is read",
            "13:11 'at' is 'Dec 24 10:00', another date each time it is read",
            "14:11 'at' is '10am Feb 29', another date each time it is read",
            "7:17 job 'e': calendar '*-02-30' never fires",
            "8:40 job 'f': ",
            "9:3 job 'g' has 'every' and 'cron', accepted is exactly one of",
            "10:6 job 'h' is '5', accepted is a map of its fields",
            "11:27 variable 'A' is empty, accepted is text",
            "11:38 'paused' is 'yes', accepted is true or false",
            "11:52 'overlap' is 'maybe', accepted is 'skip', 'queue', 'allow' or 'replace'",
            "11:68 'retries' is '1.5', accepted is a number from 0 to 1000",
            "12:14 'every' is a list, accepted is a duration",
            "12:19 'shell' is unknown; a 'command' that is text is a line for /bin/sh -c",
            "12:30 'whilePid' has no place in a file",
            "12:43 'schedule' has no place in a file",
            "12:57 'name' has no place in a job",
        ] {
            #expect(told.contains { $0.hasPrefix(expected) }, "\(expected) in \(told)")
        }
        #expect(told.count == 25)
    }

    @Test(
        "What is no such file is refused with the place",
        arguments: [
            ("", "jobs.yaml:1:1: the file is empty, accepted are 'label', 'defaults' and 'jobs'"),
            (
                "5",
                "jobs.yaml:1:1: the file is '5', accepted is a map with 'label', 'defaults' and 'jobs'"
            ),
            ("label: a", "jobs.yaml:1:1: 'jobs' is missing"),
            (
                "label: [a]\njobs: {}",
                "jobs.yaml:1:8: 'label' is a list, accepted is a name of 1 to"
            ),
            (
                "defaults: 5\njobs: {}",
                "jobs.yaml:1:11: 'defaults' is '5', accepted is a map of options of jobs"
            ),
            (
                "defaults: {every: 5s}\njobs: {}",
                "jobs.yaml:1:12: 'every' has no place in 'defaults': each job has a schedule"
            ),
            ("defaults: {name: x}\njobs: {}", "jobs.yaml:1:12: 'name' has no place in a job"),
            (
                "jobs: {}\ndefaults: {timeout: soon}",
                "jobs.yaml:2:21: 'timeout': 'soon' is not a duration, such as '5s'"
            ),
            (
                "defaults: {retrys: 1}\njobs: {}",
                "jobs.yaml:1:12: 'retrys' is unknown, perhaps 'retries'"
            ),
            ("jobs: [a]", "jobs.yaml:1:7: 'jobs' is a list, accepted is a map of names to jobs"),
            ("jobs:\n  a: {every: 5s}\n  a: {every: 6s}", "jobs.yaml:3:3: 'a' is given twice"),
            ("jobs:\n  a: [", "jobs.yaml:3:1: not YAML: while parsing a flow node (line 3)"),
            ("jobs: *a", "jobs.yaml:1:7: not YAML: found undefined alias"),
            (
                "jobs: {}\n---\njobs: {}",
                "jobs.yaml:2:1: not YAML: expected a single document in the stream (line 1): "
                    + "but found another document"
            ),
            ("jobs: {}\n# é \u{1}", "jobs.yaml:2:5: not YAML: control characters are not allowed"),
            (
                "jobs:\n\ta: {}",
                "jobs.yaml:2:1: not YAML: while scanning for the next token (line 2)"
            ),
            ("jobs: {b: 1, a: 1, 'b': 2, a: 3}", "jobs.yaml:1:20: 'b' is given twice"),
            (
                "jobs: {a: {every: 1s, command: !include x.sh}}",
                "jobs.yaml:1:32: the tag '!include' is not accepted"
            ),
            ("jobs: {a: !!set {every: 1s}}", "jobs.yaml:1:11: the tag '!!set' is not accepted"),
            ("jobs: {a: {every: 1s, userInfo: .inf}}", "jobs.yaml:1:33: '.inf' is no number"),
            ("jobs: {a: {every: 1s, nice: 1e999}}", "jobs.yaml:1:29: '1e999' is no number"),
            (
                "jobs: {a: {every: 1s, notify: 'https://u:PW@hooks.example/x'}}",
                "jobs.yaml:1:31: 'notify' is the text 'https://hooks.example/…#"
            ),
            (
                "jobs: {a: {every: 1s, notify: 'https://u:PW@hooks.exämple/x'}}",
                "jobs.yaml:1:31: 'notify' is the text 'https://…', accepted is mail:"
            ),
            (
                "jobs: {a: {every: 1s, ping: 'https://u:PW@hooks.exämple/x'}}",
                "jobs.yaml:1:29: 'ping' is \"https://…\", whose character 22 stands in no URL, accepted"
            ),
            ("jobs: {a: {every: 1s, userInfo: {[a]: 1}}}", "jobs.yaml:1:34: a key is a list"),
        ]
    )
    func refused(text: String, message: String) throws {
        let mistake = try #require(jobFile(text).mistakes.first)
        #expect(mistake.description.hasPrefix(message), "\(mistake)")
    }

    @Test("Defaults count where they have an effect; what a job says without one is a mistake")
    func defaultsOfCommands() {
        let defaults = "defaults: {timeout: 1h, retries: 3, misfireLimit: 7, notify: [mail]}\n"
        let file = jobFile(
            defaults
                + """
                jobs:
                  command: {every: 5s, misfire: all, command: [x]}
                  task: {every: 5s, queue: mails}
                  event: {every: 5s}
                """
        )
        #expect(file.mistakes == [])
        let jobs = file.jobs.map(\.definition)
        #expect(jobs.map(\.timeout) == ["1h", nil, nil])
        #expect(jobs.map(\.retries) == [3, 3, nil])
        #expect(jobs.map(\.misfireLimit) == [7, nil, nil])
        #expect(jobs.map(\.notify) == [["mail"], ["mail"], ["mail"]])

        let wrong = jobFile(defaults + "jobs:\n  event: {every: 5s, umask: 077}")
        #expect(
            wrong.mistakes.map(\.description) == [
                "jobs.yaml:3:29: job 'event': 'umask' is stated, expected none without 'command', for whose runs it is"
            ]
        )
    }

    @Test("Aliases repeat what they stand for, but not without end")
    func aliases() {
        let file = jobFile("jobs: {a: &a {every: 5s, command: [ls]}, b: *a}")
        #expect(file.jobs.map(\.definition.command) == [["ls"], ["ls"]])
        var bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
        for level in 1...8 {
            let aliases = Array(repeating: "*a\(level - 1)", count: 10).joined(separator: ", ")
            bomb += "a\(level): &a\(level) [\(aliases)]\n"
        }
        #expect(
            jobFile(bomb).mistakes.map(\.message) == ["with all its aliases the file is too large"]
        )
    }

    @Test("What is nested too deep is refused, also by aliases of what is nested")
    func depth() {
        func file(_ depth: Int, of value: String) -> String {
            String(repeating: "[", count: depth) + value + String(repeating: "]", count: depth)
        }
        let refused = ["more than 1000 lists and maps are inside each other"]
        #expect(jobFile(file(1000, of: "")).mistakes.map(\.message) != refused)
        #expect(jobFile(file(1001, of: "")).mistakes.map(\.message) == refused)
        #expect(jobFile(file(100_000, of: "")).mistakes.map(\.message) == refused)
        let aliased = "a: &a \(file(600, of: "x"))\nb: \(file(399, of: "*a"))\n"
        #expect(jobFile(aliased).mistakes.map(\.message) != refused)
        #expect(jobFile(aliased + "c: \(file(400, of: "*a"))").mistakes.map(\.message) == refused)
    }

    @Test(
        "A plain scalar is a number where the core schema of YAML 1.2 says so",
        arguments: [
            ("1", "1"), ("-7", "-7"), ("0x10", "16"), ("0o17", "15"), ("1.5", "1.5"), (".5", "0.5"),
            ("5.", "5.0"), ("+1e3", "1000.0"), ("-1.5E-1", "-0.15"), (".", "\".\""),
            ("e5", "\"e5\""), ("0x-5", "\"0x-5\""), ("0x+1f", "\"0x+1f\""), ("0o-7", "\"0o-7\""),
            ("1e", "\"1e\""), ("1e+", "\"1e+\""), ("1.5.2", "\"1.5.2\""), ("- 1", "[1]"),
            ("--1", "\"--1\""), ("1_000", "\"1_000\""), ("! 5", "5"), ("!!str 5", "\"5\""),
            ("'5'", "\"5\""), ("+.infinity", "\"+.infinity\""),
        ]
    )
    func numbers(text: String, json: String) throws {
        let value = try #require(try YAMLReader.value(of: text, file: "a"))
        #expect(try value.json.jsonText == json)
    }

    @Test(
        "userInfo has numbers and the order of keys as they are written, in what JSON has for them"
    )
    func userInfoText() throws {
        let text =
            "{z: 12345678901234567890, a: [1.0, -0, 19.90, 1E400, 1e-9], q: ['1', x, ~, true],"
            + " 5: [+5, 007, .50, 5., -00.10e+2, 0x10, 123456789012345678901234567890]}"
        let value = try #require(try YAMLReader.value(of: text, file: "a"))
        #expect(
            try value.jsonText.text == #"{"z":12345678901234567890,"a":[1.0,-0,19.90,1E400,1e-9],"#
                + #""q":["1","x",null,true],"#
                + #""5":[5,7,0.50,5,-0.10e+2,16,123456789012345678901234567890]}"#
        )
        for text in [".inf", "-.INF", "[.nan]"] {
            #expect(throws: Mistake.self) { try YAMLReader.value(of: text, file: "a")?.jsonText }
        }
    }

    @Test("Files of a folder agree on the label, and each name is one's alone")
    func together() throws {
        let one = jobFile("label: web\njobs: {a: {every: 5s}}", "1.yaml")
        let two = jobFile("jobs: {b: {every: 5s}}", "2.yaml")
        let both = try JobFiles([one, two], label: nil)
        #expect(both.label == "web")
        #expect(both.jobs.map(\.name) == ["a", "b"])
        let other = jobFile("label: db\njobs: {a: {every: 5s}}", "3.yaml")
        let mistakes = #expect(throws: Mistakes.self) { try JobFiles([one, other], label: nil) }
        #expect(
            mistakes?.all.map(\.description) == [
                "3.yaml:1:8: the label is 'db', expected 'web'",
                "3.yaml:2:8: job 'a' is at 1.yaml:2:8, too",
            ]
        )
        let keyed = jobFile("label: web\njobs: {x: {every: 5s, key: K}, y: {every: 5s, key: K}}")
        let shared = #expect(throws: Mistakes.self) { try JobFiles([one, keyed], label: nil) }
        #expect(
            shared?.all.map(\.description) == [
                "jobs.yaml:2:32: job 'y' has the key 'K', which job 'x' at jobs.yaml:2:8 has; "
                    + "a key stands for one job"
            ]
        )
        let failure = #expect(throws: Failure.self) { try JobFiles([two], label: nil) }
        #expect(failure?.status == .badData)
        #expect(try JobFiles([two], label: "x").label == "x")
    }
}
