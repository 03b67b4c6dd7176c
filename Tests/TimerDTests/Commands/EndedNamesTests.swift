// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

@Suite("Names of ended jobs", .timeLimit(.minutes(1)))
struct EndedNamesTests {
    private func add(_ test: TestScheduler) async throws -> JobID {
        var definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
        definition.name = "tea"
        let reply = try await test.handler().handle(.addJobs(AddJobs(definition)), from: 0).get()
        return try #require(reply as? JobReply).job.id
    }

    /// The job of the name, nil where there is none.
    private func named(_ test: TestScheduler, from uid: UInt32 = 0) async throws -> JobID? {
        let reply = await test.handler().handle(.getJob(.name("tea")), from: uid)
        if case .failure(let error) = reply {
            #expect(error == .noKeptJob(named: "tea", Caller(uid: uid, daemon: 0)))
            return nil
        }
        return try #require(try reply.get() as? JobReply).job.id
    }

    private func names(_ test: TestScheduler) async throws -> Int {
        try await test.settle()
        return try await test.store.reader.read {
            try $0.prepare("SELECT count(*) FROM job_names").value()
        } ?? 0
    }

    @Test("A name is the live job's, else the newest one's that had it, until that is removed")
    func newest() async throws {
        try await TestScheduler.with { test in
            #expect(try await named(test) == nil)
            let first = try await add(test)
            try await test.change(first, .invalidate)
            #expect(try await named(test) == first)
            let second = try await add(test)
            #expect(try await named(test) == second)
            try await test.change(second, .invalidate)
            #expect(try await named(test) == second)
            #expect(try await named(test, from: 1001) == nil, "it is another user's")
            try await test.advance(by: .seconds(29 * 86_400))
            #expect(try await named(test) == second)
            let third = try await add(test)
            try await test.advance(by: .seconds(2 * 86_400))
            #expect(try await named(test) == third, "the removal of those before it takes no name")
            try await test.change(third, .invalidate)
            try await test.advance(by: .seconds(31 * 86_400))
            #expect(try await named(test) == nil)
            #expect(try await names(test) == 0)
        }
    }

    @Test("A name in another Unicode form is another one: refused where a live job has it")
    func unicodeForms() async throws {
        try await TestScheduler.with { test in
            let forms = ["caf\u{e9}", "cafe\u{301}"]
            var jobs: [JobID] = []
            for form in forms {
                let job = try await test.add(ScheduleWords(every: "1h")) { $0.name = form }
                jobs.append(job.id)
            }
            var definition = try await test.job(jobs[0]).definition
            definition.name = forms[1]
            let revision = JobRevision(id: jobs[0], definition: definition)
            let request = Request.applyJobs(ApplyJobs(change: [revision]))
            #expect(await test.refusal(request)?.reason == .nameTaken)
            try await test.change(jobs[1], .invalidate)
            #expect(await test.refusal(request) == nil)
            #expect(try await test.jobs(.getJob(.name(forms[1]))).map(\.id) == [jobs[0]])
            try await test.change(jobs[0], .invalidate)
            for form in forms {
                let job = try await test.add(ScheduleWords(every: "1h")) { $0.name = form }
                #expect(job.id > jobs[1])
            }
        }
    }

    @Test("Root, whose list has other users' jobs as well, is told that these go by their ids")
    func others() {
        let (root, ann) = (Caller(uid: 0, daemon: 0), Caller(uid: 1001, daemon: 0))
        let ids = "shows them, and other users' jobs, which go by their ids"
        #expect(ControlError.noKeptJob(named: "tea", root).message.hasSuffix(ids))
        #expect(ControlError.noLiveJob(named: "tea", root).message.hasSuffix(ids))
        #expect(ControlError.noKeptJob(named: "tea", ann).message.hasSuffix("shows them"))
        #expect(ControlError.noLiveJob(named: "tea", ann).message.hasSuffix("shows them"))
        // Whose it is was said.
        let meant = ControlError.noKeptJob(named: "tea", of: "ann", root)
        #expect(meant.message.hasSuffix("shows them"))
    }

    @Test("What changes a job takes a live one's name alone, and says what became of the last")
    func changes() async throws {
        try await TestScheduler.with { test in
            let job = try await add(test)
            try await test.change(job, .invalidate)
            let none = ControlError(
                .notFound,
                "you have no live job named 'tea': job \(job), which had it last, is invalidated; "
                    + "'timerctl show \(job)' tells of it"
            )
            for request in [
                Request.fireJob(.name("tea")), .pauseJobs(.name("tea")), .resumeJobs(.name("tea")),
                .skipJobs(SkipJobs(jobs: .name("tea"))),
                .invalidateJobs(InvalidateJobs(.name("tea"))),
            ] {
                let reply = await test.handler().handle(request, from: 0)
                guard case .failure(let error) = reply else {
                    Issue.record("\(request) was accepted")
                    continue
                }
                #expect(error == none)
            }
        }
    }
}
