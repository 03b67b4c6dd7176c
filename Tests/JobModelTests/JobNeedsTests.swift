// SPDX-License-Identifier: Apache-2.0

import JobModel
import Schedules
import Testing

@Suite("What options need") struct JobNeedsTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var option: JobOption
        var accepted: String
        /// States it.
        var state: @Sendable (inout JobDefinition) -> Void
        /// States what it needs.
        var meet: @Sendable (inout JobDefinition) -> Void

        var testDescription: String { "\(option)" }

        init(
            _ option: JobOption,
            _ accepted: String,
            _ state: @escaping @Sendable (inout JobDefinition) -> Void,
            _ meet: @escaping @Sendable (inout JobDefinition) -> Void
        ) {
            (self.option, self.accepted, self.state, self.meet) = (option, accepted, state, meet)
        }
    }

    private static let ofRuns = "none without 'command', for whose runs it is"
    private static let ofEither = "none without 'command' or 'queue', for whose runs or tasks it is"
    private static let ofKeptOutput =
        "none without 'command', for whose runs it is, or with 'output' 'none'"
    private static let ofNotices = "none with 'notify' 'none', which tells nobody"
    private static let ofLateNotices =
        "none where 'notify' is 'none' or 'notifyOn' leaves 'late' out"
    @Sendable private static func command(_ job: inout JobDefinition) { job.command = ["true"] }
    @Sendable private static func queue(_ job: inout JobDefinition) { job.queue = "mails" }

    static let cases = [
        Case(.cwd, ofRuns, { $0.cwd = "/" }, command),
        Case(.env, ofRuns, { $0.env = ["A": "b"] }, command),
        Case(.envFile, ofRuns, { $0.envFile = ["/a"] }, command),
        Case(.credentials, ofRuns, { $0.credentials = ["a"] }, command),
        Case(.timeout, ofRuns, { $0.timeout = "5s" }, command),
        Case(.killAfter, ofRuns, { $0.killAfter = "9s" }, command),
        Case(.successCodes, ofRuns, { $0.successCodes = [3] }, command),
        Case(.onFailure, ofRuns, { $0.onFailure = ["alert"] }, command),
        Case(.onSuccess, ofRuns, { $0.onSuccess = ["tell"] }, command),
        Case(.rerunInterrupted, ofRuns, { $0.rerunInterrupted = true }, command),
        Case(.on, ofRuns, { $0.on = "gpu" }, command),
        Case(.output, ofRuns, { $0.output = .journal }, command),
        Case(.nice, ofRuns, { $0.nice = 5 }, command),
        Case(.memoryMax, ofRuns, { $0.memoryMax = "1G" }, command),
        Case(.memoryHigh, ofRuns, { $0.memoryHigh = "1G" }, command),
        Case(.cpuWeight, ofRuns, { $0.cpuWeight = 50 }, command),
        Case(.cpuQuota, ofRuns, { $0.cpuQuota = "50%" }, command),
        Case(.tasksMax, ofRuns, { $0.tasksMax = 50 }, command),
        Case(.ioWeight, ofRuns, { $0.ioWeight = 50 }, command),
        Case(.cpuTime, ofRuns, { $0.cpuTime = "5s" }, command),
        Case(.umask, ofRuns, { $0.umask = "077" }, command),
        Case(.overlap, ofEither, { $0.overlap = .allow }, command),
        Case(.overlap, ofEither, { $0.overlap = .allow }, queue),
        Case(.retries, ofEither, { $0.retries = 3 }, queue),
        Case(.backoff, ofEither, { $0.backoff = "5s" }, queue),
        Case(.ping, ofEither, { $0.ping = "http://localhost/" }, command),
        Case(
            .priority,
            "none without 'queue', whose tasks it orders",
            { $0.priority = 3 },
            queue
        ),
        Case(.keyKept, "none without 'key'", { $0.keyKept = "1h" }, { $0.key = "a" }),
        Case(
            .misfireLimit,
            "none without 'misfire' 'all'",
            { $0.misfireLimit = 3 },
            { $0.misfire = .all }
        ),
        Case(
            .misfireWindow,
            "none with 'misfire' 'skip', which makes up for nothing",
            { ($0.misfire, $0.misfireWindow) = (.skip, "1h") },
            { $0.misfire = .once }
        ),
        Case(.outputKept, ofKeptOutput, { $0.outputKept = "1M" }, command),
        Case(
            .outputKept,
            ofKeptOutput,
            { ($0.command, $0.output, $0.outputKept) = (["true"], .drop, "1M") },
            { $0.output = .journal }
        ),
        Case(
            .notifyOn,
            ofNotices,
            { ($0.notify, $0.notifyOn) = (["none"], ["failed"]) },
            { $0.notify = nil }
        ),
        Case(
            .notifyEvery,
            ofNotices,
            { ($0.notify, $0.notifyEvery) = (["none"], "2h") },
            { $0.notify = ["mail"] }
        ),
        Case(
            .notifyLate,
            ofLateNotices,
            { ($0.notify, $0.notifyLate) = (["none"], "5s") },
            { $0.notify = ["mail"] }
        ),
        Case(
            .notifyLate,
            ofLateNotices,
            { ($0.notifyOn, $0.notifyLate) = (["failed"], "5s") },
            { $0.notifyOn = ["failed", "late"] }
        ),
    ]

    @Test("What has no effect is refused, and accepted with what it needs", arguments: cases)
    func needs(case: Case) throws {
        var job = JobDefinition(schedule: ScheduleWords(every: "10s"))
        `case`.state(&job)
        let refusal = try #require(throws: OptionRefusal.self) { try job.checkNeeds() }
        #expect("\(refusal)" == "'\(`case`.option)' is stated, expected \(`case`.accepted)")
        // What is stored so stays what it is.
        _ = try JobPolicy(job, now: Timestamp.start(0), zone: .utc)

        `case`.meet(&job)
        try job.checkNeeds()
        _ = try JobPolicy(job, now: Timestamp.start(0), zone: .utc)
    }

    @Test("What says what is so anyway is accepted")
    func standards() throws {
        var job = JobDefinition(schedule: ScheduleWords(every: "10s"))
        (job.retries, job.overlap, job.misfireLimit, job.priority) = (0, .skip, 100, 0)
        (job.rerunInterrupted, job.output, job.killAfter) = (false, .keep, "5s")
        try job.checkNeeds()
    }

    @Test("What a job had with its command goes with that, but for what is stated")
    func leftOut() throws {
        var job = JobDefinition(schedule: ScheduleWords(every: "10s", from: "2027-01-01T00:00:00Z"))
        (job.name, job.userInfo) = ("a", JSONText(stored: "[1.0]"))
        (job.timeout, job.env, job.retries) = ("5s", ["A": "b"], 3)
        job.overlap = .queue
        var task = job
        task.queue = "mails"
        #expect(task.leaveOutUnused(but: ["timeout"]) == ["env", "overlap"], "not of tasks")
        job.overlap = nil
        let all = job
        #expect(job.leaveOutUnused(but: ["timeout"]) == ["env", "retries"])
        var kept = all
        (kept.env, kept.retries) = (nil, nil)
        #expect(job == kept)
        #expect(job.leaveOutUnused(but: ["timeout"]) == [])
    }

    @Test("Each option that needs something is in the table")
    func all() {
        #expect(
            Set(Self.cases.map(\.option)) == Set(JobOption.allCases.filter { $0.need != nil })
        )
    }
}
