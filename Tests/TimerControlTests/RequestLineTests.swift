// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@Suite("RequestLine") struct RequestLineTests {
    static let everyRequest: [Request] = {
        var list = ListJobs()
        list.all = true
        list.state = .paused
        list.name = "a"
        list.search = "rsync -a \"x\""
        list.held = true
        list.tag = "b"
        list.limit = 1000
        list.cursor = .id(JobID(rawValue: 5))
        var nextFire = ListJobs()
        nextFire.order = .nextFire
        nextFire.last = true
        nextFire.cursor = .fire(Timestamp(microseconds: 5), JobID(rawValue: 6))
        var idle = nextFire
        idle.cursor = .idle(JobID(rawValue: 7))
        var runs = ListRuns()
        runs.job = JobID(rawValue: 3)
        runs.limit = 1
        runs.cursor = RunCursor(
            date: Timestamp(microseconds: 5),
            fire: FireID(rawValue: 9),
            run: RunID(rawValue: 8)
        )
        var openRuns = ListRuns()
        openRuns.open = true
        var runningRuns = ListRuns()
        (runningRuns.running, runningRuns.owner, runningRuns.limit) = (true, "alice", 51)
        var fireRuns = ListRuns()
        fireRuns.fire = FireID(rawValue: 9)
        var subscribe = Subscribe()
        subscribe.since = 0
        subscribe.types = [.fireFired, .runFinished]
        subscribe.jobs = [JobID(rawValue: 1), JobID(rawValue: 2)]
        var preview = PreviewSchedule(schedule: ScheduleWords(cron: "*/5 * * * *", tz: "UTC"))
        preview.count = 3
        preview.after = "2026-12-01T00:00:00Z"
        let plain = JobDefinition(schedule: ScheduleWords(at: "tomorrow 09:00"))
        let run = RunReference(id: RunID(rawValue: 8))
        var output = ReadOutput(id: run.id)
        output.after = OutputPosition(stdout: 65_536, stderr: 1)
        output.wait = true
        return [
            .addJobs(AddJobs(Samples.fullDefinition, replace: true)),
            .addJobs(AddJobs(plain)),
            .addJobs(AddJobs([plain, Samples.fullDefinition], replace: true)),
            .addJobs(AddJobs([plain])),
            .applyJobs(ApplyJobs(add: [plain])),
            .applyJobs(
                ApplyJobs(
                    invalidate: [JobID(rawValue: 1), JobID(rawValue: 2)],
                    ifRevisions: [JobID(rawValue: 2): 3],
                    change: [
                        JobRevision(id: JobID(rawValue: 3), definition: Samples.fullDefinition)
                    ],
                    add: [plain, Samples.fullDefinition],
                    dryRun: true
                )
            ),
            .applyJobs(
                ApplyJobs(
                    add: [plain],
                    ifNoNewer: NewestTagged(tag: "a", id: JobID(rawValue: 7))
                )
            ),
            .applyJobs(ApplyJobs(ifNoNewer: NewestTagged(tag: "a", id: nil), upload: "big")),
            .applyJobs(ApplyJobs(upload: "big")),
            .applyJobs(ApplyJobs(dryRun: true, upload: "big")),
            .putPart(
                PutPart(
                    upload: "big",
                    part: 999,
                    jobs: ApplyJobs(invalidate: [JobID(rawValue: 1)], add: [plain])
                )
            ),
            .listUploads, .dropUpload("big"), .beginMaintenance(nil), .endMaintenance("ann"),
            .getJob(.id(JobID(rawValue: 1))), .getJob(.name("a")),
            .listJobs(list), .listJobs(ListJobs()),
            .invalidateJobs(InvalidateJobs(.ids([JobID(rawValue: 1), JobID(rawValue: 2)]))),
            .invalidateJobs(InvalidateJobs(.name("a"), kill: true)),
            .invalidateJobs(InvalidateJobs(.tag("b"))), .killRun(KillRun(run.id)),
            .killRun(KillRun(run.id, killAfter: "0s")),
            .setFireDate(SetFireDate(job: .id(JobID(rawValue: 1)), fireDate: "+10m")),
            .setFireDate(SetFireDate(job: .name("a"), fireDate: "09:00")),
            .skipJobs(SkipJobs(jobs: .ids([JobID(rawValue: 4)]))),
            .skipJobs(SkipJobs(jobs: .name("a"), count: 3)),
            .skipJobs(
                SkipJobs(jobs: .name("a"), from: Timestamp(rfc3339: "2026-12-01T09:00:00Z"))
            ),
            .fireJob(.name("a")), .pauseJobs(.tag("b")), .resumeJobs(.ids([JobID(rawValue: 4)])),
            .restoreJobs(nil), .restoreJobs(.name("a")),
            .listRuns(runs), .listRuns(ListRuns()), .listRuns(openRuns), .listRuns(fireRuns),
            .listRuns(runningRuns),
            .listJobs(nextFire), .listJobs(idle), .getRun(run), .listNotices(ListNotices()),
            .listNotices(ListNotices(limit: 3, cursor: NoticeID(rawValue: 7))),
            .readOutput(ReadOutput(id: run.id)), .readOutput(output),
            .subscribe(subscribe), .subscribe(Subscribe()), .previewSchedule(preview), .status,
            .backUp(BackUp(file: "/tmp/b.db")), .backUp(BackUp(file: "/b", replace: true)),
            .checkDatabase, .metrics, .listNodes, .drainNode(DrainNode(name: "alpha")),
            .drainNode(DrainNode(name: "alpha", drains: false)),
        ] + TaskRequestTests.everyRequest + calendars
    }()

    private static let calendars: [Request] = {
        let (from, before) = (Timestamp(microseconds: 0), Timestamp(microseconds: 86_400_000_000))
        var calendar = ReadCalendar(from: from, before: before, bucket: .hour)
        var dates = ReadDates(from: from, before: before)
        let plain: [Request] = [.jobCalendar(calendar), .runCalendar(calendar), .jobDates(dates)]
        (calendar.bucket, calendar.tz, calendar.tag, calendar.owner) = (.day, "UTC", "a", "ann")
        var later = calendar
        calendar.cursor = .job(JobID(rawValue: 7))
        later.cursor = .fire(RunCursor(date: from, fire: FireID(rawValue: 9), run: nil))
        (dates.tag, dates.owner, dates.each, dates.limit) = ("a", "ann", 3, 4)
        dates.cursor = JobID(rawValue: 7)
        var ranges = later
        ranges.cursor = .range(RunCursor(date: from, fire: FireID(rawValue: 9), run: nil))
        return plain + [
            .runCalendar(ranges), .jobCalendar(calendar), .runCalendar(later), .jobDates(dates),
        ]
    }()

    @Test("Every request is read as it was written", arguments: everyRequest)
    func roundTrip(request: Request) throws {
        let line = try RequestLine(parsing: try request.line(id: .integer(7)))
        #expect(line == .single(RequestEnvelope(id: .integer(7), request: .success(request))))
    }

    @Test("The requests above are of every method")
    func completeness() {
        #expect(Set(Self.everyRequest.map(\.method)) == Set(Request.Method.allCases))
    }

    @Test(
        "Parameters may be left out, empty or null where none is needed",
        arguments: ["", #","params":{}"#, #","params":null"#]
    )
    func noParameters(parameters: String) throws {
        let text = #"{"jsonrpc":"2.0","id":1,"method":"job.list""# + parameters + "}"
        let line = try RequestLine(parsing: Array(text.utf8))
        let request = Request.listJobs(ListJobs())
        #expect(line == .single(RequestEnvelope(id: .integer(1), request: .success(request))))
    }

    @Test(
        "An id may be a string, an integer or null; without one it is a notification",
        arguments: [
            (#""id":"a","#, .string("a")), (#""id":-5,"#, .integer(-5)), (#""id":null,"#, .null),
            ("", nil),
        ] as [(String, JSONValue?)]
    )
    func ids(field: String, id: JSONValue?) throws {
        let text = "{" + field + #""jsonrpc":"2.0","method":"daemon.status"}"#
        let line = try RequestLine(parsing: Array(text.utf8))
        #expect(line == .single(RequestEnvelope(id: id, request: .success(.status))))
    }

    @Test("A batch keeps the order, and each element has its own error")
    func batch() throws {
        let text = #"""
            [{"jsonrpc":"2.0","id":1,"method":"daemon.status"}, 7,
             {"jsonrpc":"2.0","method":"job.add","params":{}},
             {"jsonrpc":"2.0","id":2,"method":"job.got"}]
            """#
        guard case .batch(let envelopes) = try RequestLine(parsing: Array(text.utf8)) else {
            Issue.record("an array is a batch")
            return
        }
        #expect(envelopes.map(\.id) == [.integer(1), .null, nil, .integer(2)])
        let reasons = envelopes.map { envelope -> ControlError.Reason? in
            if case .failure(let error) = envelope.request { error.reason } else { nil }
        }
        #expect(reasons == [nil, .invalidRequest, .invalidParams, .unknownMethod])
    }

    @Test(
        "A line that is no request is refused as a whole",
        arguments: [
            ("nonsense", .parseError, "the line is not JSON: expected a value at byte 0"),
            (
                #"{"jsonrpc":"2.0","id":1"#, .parseError,
                "the line is not JSON: expected ',' or '}' at byte 23"
            ),
            (
                #"{"id":1,"id":2}"#, .parseError,
                "the line is not JSON: expected a key other than 'id', again at byte 8"
            ),
            ("[]", .invalidRequest, "a batch is empty, expected one request or more"),
        ] as [(String, ControlError.Reason, String)]
    )
    func refusesLine(text: String, reason: ControlError.Reason, message: String) {
        let error = #expect(throws: ControlError.self) {
            try RequestLine(parsing: Array(text.utf8))
        }
        #expect(error?.reason == reason)
        #expect(error?.message == message)
    }

    @Test("A batch of 10,000 is read, one more is refused before any of it is")
    func batchLimit() throws {
        let one = #"{"jsonrpc":"2.0","method":"daemon.status"}"#
        func text(_ count: Int) -> [UInt8] {
            Array("[\(Array(repeating: one, count: count).joined(separator: ","))]".utf8)
        }
        guard case .batch(let envelopes) = try RequestLine(parsing: text(10_000)) else {
            Issue.record("an array is a batch")
            return
        }
        #expect(envelopes.count == 10_000)
        let error = #expect(throws: ControlError.self) { try RequestLine(parsing: text(10_001)) }
        #expect(error?.reason == .limitReached)
        #expect(error?.message == "a batch has 10001 requests; at most 10000 are accepted")
    }

    @Test("An id has 1,024 bytes at most: a request that waits keeps it", arguments: [1024, 1025])
    func longID(bytes: Int) throws {
        let id = String(repeating: "x", count: bytes)
        let line = #"{"jsonrpc":"2.0","id":"\#(id)","method":"daemon.status"}"#
        let envelope =
            bytes > 1024
            ? RequestEnvelope(
                id: .null,
                request: .failure(
                    ControlError(
                        .invalidRequest,
                        "'id' has 1025 bytes; at most 1024 are accepted"
                    )
                )
            ) : RequestEnvelope(id: .string(id), request: .success(.status))
        #expect(try RequestLine(parsing: Array(line.utf8)) == .single(envelope))
    }
}
