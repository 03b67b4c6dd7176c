// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

/// What a change may say of the jobs that it was made of.
extension ApplyJobsTests {
    /// `job.add` with `replace`.
    private func replace(_ test: TestScheduler, _ name: String, keepRuns: Int) async throws -> Job {
        let definition = Self.definition { ($0.name, $0.keepRuns) = (name, keepRuns) }
        let request = AddJobs(definition, replace: true)
        let reply = try await test.handler().handle(.addJobs(request), from: 0).get()
        return try #require(reply as? JobReply).job
    }

    @Test(
        "A job with more runs kept than are allowed by now is changed, or replaced, as before; more that it had not are refused"
    )
    func loweredHistory() async throws {
        try await TestScheduler.with { test in
            var settings = await test.scheduler.settings
            settings.maxRunsKept = 500
            await test.scheduler.reload(settings)
            let job = try await add(test, Self.definition { $0.keepRuns = 300 })
            let other = try await add(test, Self.definition { $0.name = "other" })
            settings.maxRunsKept = 200
            await test.scheduler.reload(settings)
            let new = Self.definition { ($0.name, $0.keepRuns) = ("renamed", 300) }
            let changed = try await apply(test, revision(job, new)).changed.first
            #expect(changed?.definition.name == "renamed")
            #expect(changed?.definition.keepRuns == 300)
            let refused = { (place: String, number: Int) in
                ControlError(
                    .invalidParams,
                    "\(place)parameter 'keepRuns' is \(number), accepted here is 1 to 200 (the setting maxRunsKept)"
                )
            }
            let more = Self.definition { ($0.name, $0.keepRuns) = ("renamed", 301) }
            await #expect(throws: refused("change[0]: ", 301)) {
                try await apply(test, revision(job, more))
            }
            let late = Self.definition { ($0.name, $0.keepRuns) = ("other", 300) }
            await #expect(throws: refused("change[0]: ", 300)) {
                try await apply(test, revision(other, late))
            }
            await #expect(throws: refused("", 300)) {
                try await add(test, Self.definition { ($0.name, $0.keepRuns) = ("new", 300) })
            }
            #expect(try await replace(test, "renamed", keepRuns: 300).id == job.id)
            await #expect(throws: refused("", 301)) {
                try await replace(test, "renamed", keepRuns: 301)
            }
            await #expect(throws: refused("", 300)) {
                try await replace(test, "other", keepRuns: 300)
            }
        }
    }

    @Test("What stands for a URL that its job does not have is refused with the job's place")
    func maskedInList() async throws {
        try await TestScheduler.with { test in
            let url = "https://ping.example/…#6487"
            let first = Self.definition { $0.name = "first" }
            let masked = Self.definition { ($0.name, $0.ping) = ("masked", url) }
            let refused = { (place: String) in
                ControlError(
                    .invalidParams,
                    "\(place)parameter 'ping' is '\(url)', which stands for a URL that this job does "
                        + "not have, expected the whole URL"
                )
            }
            await #expect(throws: refused("add[1]: ")) {
                try await apply(test, ApplyJobs(add: [first, masked]))
            }
            let list = Request.addJobs(AddJobs([first, masked]))
            await #expect(throws: refused("jobs[1]: ")) {
                try await test.handler().handle(list, from: 0).get()
            }
            await #expect(throws: refused("")) { try await add(test, masked) }
            let job = try await add(test, first)
            await #expect(throws: refused("change[0]: ")) {
                try await apply(test, revision(job, masked))
            }
        }
    }

    @Test(
        "A job that somebody has changed since it was read is not ended, nor is anything else done",
        arguments: [false, true]
    )
    func endOfChanged(isUpload: Bool) async throws {
        try await TestScheduler.with { test in
            let read = try await add(test, Self.definition())
            let other = try await add(test, Self.definition { $0.name = "other" })
            let new = Self.definition { $0.command = ["new"] }
            let changed = try #require(try await apply(test, revision(read, new)).changed.first)
            let late = ApplyJobs(ending: [other, read])
            let conflict = ControlError.changedMeanwhile(try await test.job(read.id), since: 1)
            await #expect(throws: conflict) {
                try await send(test, late, isUpload: isUpload)
            }
            #expect(try await test.job(read.id).state == .scheduled)
            #expect(try await test.job(other.id).state == .scheduled)
            try await send(test, ApplyJobs(ending: [other, changed]), isUpload: isUpload)
            #expect(try await test.job(read.id).state == .invalidated)
            #expect(try await test.job(other.id).state == .invalidated)
            // Who wanted it ended has it ended.
            try await send(test, late, isUpload: isUpload)
        }
    }

    /// Sends it as it is, or as the one part of an upload.
    private func send(_ test: TestScheduler, _ request: ApplyJobs, isUpload: Bool) async throws {
        guard isUpload else {
            try await apply(test, request)
            return
        }
        let part = Request.putPart(PutPart(upload: "big", part: 0, jobs: request))
        _ = try await test.handler().handle(part, from: 0).get()
        let whole = Request.applyJobs(ApplyJobs(upload: "big"))
        _ = try await test.handler().handle(whole, from: 0).get()
    }

    @Test("What was made of the newest job with a tag is refused where another has got it since")
    func newerTagged() async throws {
        try await TestScheduler.with { test in
            func tagged(_ name: String) -> JobDefinition {
                Self.definition { ($0.name, $0.tags) = (name, ["mine"]) }
            }
            func request(_ name: String, _ newest: JobID?) -> ApplyJobs {
                ApplyJobs(add: [tagged(name)], ifNoNewer: NewestTagged(tag: "mine", id: newest))
            }
            _ = try await add(test, Self.definition { $0.name = "of no tag" })
            let first = try #require(try await apply(test, request("a", nil)).added.first)
            let conflict = ControlError(
                .conflict,
                "job \(first.id) with the tag 'mine' was added by another request; nothing was done, "
                    + "so look at the jobs again and repeat"
            )
            await #expect(throws: conflict) { try await apply(test, request("b", nil)) }
            var trial = request("b", nil)
            trial.dryRun = true
            await #expect(throws: conflict) { try await apply(test, trial) }
            let part = Request.putPart(
                PutPart(upload: "big", part: 0, jobs: ApplyJobs(add: [tagged("b")]))
            )
            _ = try await test.handler().handle(part, from: 0).get()
            let newest = NewestTagged(tag: "mine", id: nil)
            let upload = Request.applyJobs(ApplyJobs(ifNoNewer: newest, upload: "big"))
            await #expect(throws: conflict) {
                try await test.handler().handle(upload, from: 0).get()
            }
            // Another user's are none of these, and one that has ended is none either.
            try await apply(test, request("a", nil), as: 70_001)
            let second = try #require(try await apply(test, request("b", first.id)).added.first)
            try await apply(test, ApplyJobs(ending: [second]))
            try await apply(test, request("b", first.id))
        }
    }

    @Test("What is to end is an id, or an object of an id and a revision, and nothing else")
    func endsOnTheWire() throws {
        func read(_ elements: String) throws -> ApplyJobs? {
            let text =
                #"{"jsonrpc":"2.0","id":1,"method":"job.apply","params":{"invalidate":[\#(elements)]}}"#
            guard case .single(let line) = try RequestLine(parsing: Array(text.utf8)),
                case .applyJobs(let request) = try line.request.get()
            else { return nil }
            return request
        }
        let both = try read(#"7,{"id":8,"ifRevision":3},{"id":9}"#)
        #expect(both?.invalidate.map(\.rawValue) == [7, 8, 9])
        #expect(both?.ifRevisions == [JobID(rawValue: 8): 3])
        for wrong in [#"{"id":8},"a""#, #"{"id":8,"name":"a"}"#] {
            let error = #expect(throws: ControlError.self) { try read(wrong) }
            #expect(error?.message.contains("invalidate[") == true, "\(wrong)")
        }
    }
}
