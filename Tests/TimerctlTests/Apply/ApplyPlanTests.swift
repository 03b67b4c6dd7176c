// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import timerctl

@Suite("A plan") struct ApplyPlanTests {
    /// A live job with the label "web".
    private func live(
        _ id: Int64,
        _ name: String,
        _ schedule: ScheduleWords = ScheduleWords(every: "5s"),
        _ change: (inout Job) throws -> Void = { _ in }
    ) rethrows -> Job {
        var job = job(id, schedule: schedule) {
            $0.definition.name = name
            $0.definition.tags = ["applied:web"]
        }
        try change(&job)
        return job
    }

    private func plan(
        _ text: String,
        _ labelled: [Job],
        named: [Job] = [],
        adopts: Bool = false
    ) throws -> ApplyPlan {
        ApplyPlan(
            try JobFiles([jobFile("jobs: {\(text)}")], label: "web"),
            labelled: labelled,
            named: Dictionary(
                uniqueKeysWithValues: named.map { (ByteText($0.definition.name ?? ""), $0) }
            ),
            adopts: adopts,
            now: testNow,
            zone: berlin
        )
    }

    @Test("Jobs whose names are two Unicode forms of one are two, as for the daemon")
    func unicodeNames() throws {
        let (one, two) = ("caf\u{e9}", "cafe\u{301}")
        let file = "\(two): {every: 5s}"
        let changes = try plan(file, [live(1, one), live(2, two)])
        #expect(changes.unchanged == 1)
        #expect(changes.removals.map(\.id.rawValue) == [1])
        // A job of the other form has another name.
        let stranger = live(3, one) { $0.definition.tags = nil }
        #expect(try plan(file, [], named: [stranger]).additions.count == 1)
    }

    @Test("userInfo is compared by what it means, however it was written")
    func userInfo() throws {
        let job = try live(1, "a") {
            $0.definition.userInfo = try JSONText(parsing: #"{ "b":1.0e2,"a":[1,  2]}"#)
        }
        let same = try plan("a: {every: 5s, userInfo: {a: [1, 2], b: 100.0}}", [job])
        #expect(same.isEmpty && same.unchanged == 1)
        #expect(
            try plan("a: {every: 5s, userInfo: {a: [2, 1], b: 100.0}}", [job]).changes.count == 1
        )
    }

    @Test(
        "userInfo that another number stands in has changed, by however little; else its text stays",
        arguments: [
            ("12345678901234567890", "12345678901234567891", false),
            ("12345678901234567890", "12345678901234567890", true),
            ("19.90", "19.9", true), ("-0", "0", false), ("1", "1.0", false),
            ("0.1", "0.1000000000000000055511151231257827", false), ("1e2", "100.0", true),
            ("1e400", "10e399", true), ("1e400", "2e400", false),
        ]
    )
    func numbers(old: String, new: String, isSame: Bool) throws {
        let text = try JSONText(parsing: #"{ "z":\#(old),"a":[] }"#)
        let job = live(1, "a") { $0.definition.userInfo = text }
        let plan = try plan("a: {every: 5s, keepRuns: 1, userInfo: {a: [], z: \(new)}}", [job])
        let change = try #require(plan.changes.first)
        #expect(change.fields.map(\.name) == (isSame ? ["keepRuns"] : ["userInfo", "keepRuns"]))
        let sent = change.declared.definition.userInfo?.text
        #expect(sent == (isSame ? text.text : #"{"a":[],"z":\#(new)}"#))
        let edited = try EditedJob(job, now: testNow, zone: berlin)
        let read = try edited.declared(in: "name: a\nevery: 6s\nuserInfo: {a: [], z: \(new)}\n")
        #expect(read.definition.userInfo?.text == sent)
    }

    @Test("A plan shows no URL whole")
    func masked() throws {
        let job = live(1, "a") {
            $0.definition.notify = ["https://hooks.example/…#3f9a"]
            $0.definition.command = ["true"]
        }
        let url = "https://u:PW@hooks.example/SECRET"
        let text =
            "a: {every: 5s, command: [\"true\"], notify: ['\(url)', desktop], ping: '\(url)'}"
        let plan = PlanText.text(of: try plan(text, [job]), for: .plain)
        let shown = JobDefinition.reference(url)
        #expect(plan.contains("ping: (none) -> \(shown)\n"), "\(plan)")
        #expect(
            plan.contains(#"notify: ["https://hooks.example/…#3f9a"] -> ["\#(shown)","desktop"]"#)
        )
        #expect(!plan.contains("PW") && !plan.contains("SECRET"))
        let edited = try EditedJob(job, now: testNow, zone: berlin)
        let new = try edited.declared(
            in: "name: a\nevery: 5s\ncommand: [\"true\"]\nping: '\(url)'\n"
        )
        #expect(edited.changes(to: new.definition).contains("ping: (none) -> \(shown)"))
    }

    @Test("What is not added because a job has its key is no more to do, and counted as unchanged")
    func kept() throws {
        var plan = try plan("a: {every: 5s, key: K}, b: {every: 5s}", [])
        plan.leaveOut(0, for: job(3) { $0.state = .finished })
        #expect(plan.additions.map(\.name) == ["b"] && plan.kept.map(\.declared.name) == ["a"])
        #expect(
            PlanText.summary(of: plan, isDone: true)
                == "web: 1 added, 0 changed, 0 removed, 1 unchanged"
        )
    }

    @Test("What is declared and not there is added; what is there and not declared is removed")
    func additionsAndRemovals() throws {
        let plan = try plan("a: {every: 5s}, new: {every: 5s}", [live(1, "a"), live(2, "old")])
        #expect(plan.additions.map(\.name) == ["new"])
        #expect(plan.removals.map(\.id.rawValue) == [2])
        #expect(plan.changes.isEmpty)
        #expect(plan.unchanged == 1)
        #expect(
            PlanText.text(of: plan, for: .plain) == """
                + new: every 5s  (event)
                - old (job 2)
                web: 1 to add, 0 to change, 1 to remove, 1 unchanged

                """
        )
    }

    @Test(
        "What means the same is unchanged, however it is spelled",
        arguments: [
            ("every: 5000ms", definition { $0.schedule.every = "5s" }),
            ("every: 5s, timeout: 90s", definition { $0.timeout = "1min 30s" }),
            (
                "every: 5s, overlap: skip, retries: 0, killAfter: 5, umask: 22, tags: []",
                definition { _ in }
            ),
            ("every: 5s, backoff: 10", definition { $0.backoff = "10s..1h" }),
            ("every: 5s, memoryMax: 1M", definition { $0.memoryMax = "1048576" }),
            ("every: 5s, tags: [b, a]", definition { $0.tags = ["a", "b"] }),
            (
                "every: 5s, until: '2027-01-01 00:00 UTC'",
                definition { $0.until = "2027-01-01T00:00:00Z" }
            ),
            (
                "cron: '@daily'",
                definition { $0.schedule = ScheduleWords(cron: "0 0 * * *", tz: berlin.name) }
            ),
            (
                "calendar: daily",
                definition {
                    $0.schedule = ScheduleWords(calendar: "*-*-* 00:00:00", tz: berlin.name)
                }
            ),
            (
                "at: '2026-12-24 09:00', tz: CET-1",
                definition { $0.schedule = ScheduleWords(at: "2026-12-24T08:00:00Z") }
            ),
            (
                "every: 1h, from: '2026-12-24 09:00'",
                definition {
                    $0.schedule = ScheduleWords(every: "60min", from: "2026-12-24T08:00:00Z")
                }
            ),
        ] as [(String, JobDefinition)]
    )
    func unchanged(text: String, definition: JobDefinition) throws {
        let job = live(1, "a") {
            $0.definition = definition
            $0.definition.name = "a"
            $0.definition.command = ["x"]
            $0.definition.tags = (definition.tags ?? []) + ["applied:web"]
        }
        let plan = try plan("a: {command: [x], \(text)}", [job])
        #expect(plan.changes.flatMap(\.fields) == [])
        #expect(plan.unchanged == 1)
    }

    private static func definition(_ change: (inout JobDefinition) -> Void) -> JobDefinition {
        var definition = JobDefinition(schedule: ScheduleWords(every: "5s"))
        change(&definition)
        return definition
    }

    @Test("A change tells each field, and of the environment no value")
    func changes() throws {
        let job = live(1, "a") {
            $0.definition.command = ["ls", "a b"]
            $0.definition.env = ["OLD": "x", "SAME": "x", "SECRET": "x"]
            $0.definition.timeout = "5s"
        }
        let plan = try plan(
            "a: {every: 5s, command: ls | wc, env: {NEW: x, SAME: x, SECRET: y}, nice: 5}",
            [job]
        )
        #expect(
            PlanText.text(of: plan, for: .plain) == """
                ~ a (job 1)
                    command: ls 'a b' -> /bin/sh -c 'ls | wc'
                    env: NEW added, OLD removed, SECRET changed
                    timeout: 5s -> (none)
                    nice: (none) -> 5
                web: 0 to add, 1 to change, 0 to remove, 0 unchanged

                """
        )
    }

    @Test("Text of another Unicode form is another text, in a file and in an editor")
    func unicodeForms() throws {
        let job = live(1, "a") {
            ($0.definition.command, $0.definition.env) = (["x"], ["A": "caf\u{e9}"])
        }
        let text = "a: {every: 5s, command: [x], env: {A: caf\u{e9}}}"
        #expect(try plan(text, [job]).isEmpty)
        let other = text.replacing("\u{e9}", with: "e\u{301}")
        let change = try #require(try plan(other, [job]).changes.first)
        #expect(change.fields.map(PlanText.sentence) == ["env: A changed"])
        let edited = try EditedJob(job, now: testNow, zone: berlin)
        let new = try edited.declared(in: edited.text.replacing("\u{e9}", with: "e\u{301}"))
        #expect(edited.changes(to: new.definition) == ["env: A changed"])
    }

    @Test("Another schedule, or a command where there was none, is another job")
    func replaced() throws {
        for (text, isRedated) in [
            ("every: 6s", true), ("every: 5s, command: ls", true),
            ("every: 5s, keepRuns: 1", false),
            ("cron: '* * * * *'", true),
        ] {
            let plan = try plan("a: {\(text)}", [live(1, "a")])
            #expect(plan.changes.map(\.isRedated) == [isRedated], "\(text)")
        }
    }

    @Test(
        "A pause is compared where it was said",
        arguments: [
            ("", nil, Job.State.paused, false), ("", true, .paused, true),
            ("", true, .scheduled, false), (", paused: false", nil, .paused, true),
            (", paused: true", nil, .paused, false), (", paused: true", true, .scheduled, true),
        ] as [(String, Bool?, Job.State, Bool)]
    )
    func pause(text: String, stated: Bool?, state: Job.State, isChanged: Bool) throws {
        let job = live(1, "a") {
            $0.definition.paused = stated
            $0.state = state
        }
        #expect(try plan("a: {every: 5s\(text)}", [job]).changes.isEmpty != isChanged)
    }

    @Test("A maintenance is no pause of the job's own: one that is stated in it is a change")
    func maintenance() throws {
        let job = live(1, "a") { ($0.state, $0.maintenance) = (.paused, true) }
        let change = try #require(try plan("a: {every: 5s, paused: true}", [job]).changes.first)
        #expect(change.fields.map(\.name) == ["paused"])
        #expect(try plan("a: {every: 5s, paused: false}", [job]).isEmpty)
        #expect(try plan("a: {every: 5s}", [job]).isEmpty)
    }

    @Test("A line that pauses, taken out of the text of an edited job, resumes it")
    func editedPause() throws {
        let paused = live(1, "a") { $0.state = .paused }
        let edited = try EditedJob(paused, now: testNow, zone: berlin)
        #expect(edited.text.contains("paused: true\n"))
        let new = try edited.declared(in: "name: a\nevery: 5s\n").definition
        #expect(new.paused == false)
        #expect(edited.changes(to: new) == ["paused: true -> false"])
        #expect(try edited.declared(in: edited.text).definition.paused == true)
        let other = live(1, "a") { ($0.state, $0.maintenance) = (.paused, true) }
        let kept = try EditedJob(other, now: testNow, zone: berlin)
        #expect(try kept.declared(in: kept.text).definition.paused == nil)
    }

    @Test("A job that has come to its end is not begun again, unless it is another one")
    func finished() throws {
        let once = ScheduleWords(at: "2026-11-30T08:00:00Z")
        let done = live(1, "a", once) { $0.state = .finished }
        #expect(try plan("a: {at: 2026-11-30T08:00:00Z}", [done]).unchanged == 1)
        let counted = live(1, "a") {
            $0.state = .finished
            $0.definition.count = 3
        }
        #expect(try plan("a: {every: 5s, count: 3}", [counted]).unchanged == 1)
        #expect(try plan("a: {every: 5s, count: 4}", [counted]).additions.count == 1)
        let ended = live(1, "a") { $0.state = .invalidated }
        #expect(try plan("a: {every: 5s}", [ended]).additions.count == 1)
        let passed = try plan("a: {at: 2026-11-30T08:00:00Z, misfire: once}", [])
        #expect(passed.additions.isEmpty)
        #expect(passed.passed.map(\.name) == ["a"])
    }

    @Test("A job without the label is touched by nothing, unless it is to be adopted")
    func strangers() throws {
        let stranger = job(7) { $0.definition.name = "a" }
        let refused = try plan("a: {every: 5s, keepRuns: 1}", [], named: [stranger])
        #expect(refused.strangers.map(\.job.id.rawValue) == [7])
        #expect(refused.isEmpty)
        let adopted = try plan("a: {every: 5s}", [], named: [stranger], adopts: true)
        #expect(adopted.changes.first?.fields.map(\.name) == ["label"])
        #expect(adopted.removals.isEmpty)
    }

    @Test("A plan is one request as long as it fits, and each job is found again by its place")
    func parts() throws {
        let few = try plan(
            "a: {every: 5s, keepRuns: 1}, b: {every: 6s}",
            [live(1, "a"), live(2, "c")]
        )
        let parts = try ApplyPart.parts(of: few)
        #expect(parts.count == 1)
        #expect(parts[0].request.invalidate.map(\.rawValue) == [2])
        #expect(parts[0].request.change.map(\.id.rawValue) == [1])
        #expect(parts[0].request.add.map(\.tags) == [["applied:web"]])
        #expect(
            parts[0].placed("add[0]: duration '0s' is too short")
                == "jobs.yaml:1:37: job 'b': duration '0s' is too short"
        )
        #expect(
            parts[0].placed("parameter 'change[0].keepRuns' is 0")
                == "jobs.yaml:1:8: job 'a': parameter 'keepRuns' is 0"
        )
        #expect(parts[0].placed("the disk is full") == "the disk is full")

        let many = (0..<4000).map {
            "j\($0): {every: 5s, userInfo: \(String(repeating: "x", count: 500))}"
        }
        let big = try ApplyPart.parts(of: try plan(many.joined(separator: ", "), []))
        #expect(big.count == 3)
        #expect(big.reduce(0) { $0 + $1.count } == 4000)
        for part in big {
            let line = try Request.applyJobs(part.request).line(id: .integer(1))
            #expect(line.count < Limits.line)
        }
        #expect(try ApplyPart.parts(of: try plan("", [])).isEmpty)
    }
}
