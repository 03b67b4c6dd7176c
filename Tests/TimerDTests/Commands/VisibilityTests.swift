// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

/// Whose job it is decides who may know of it: on a daemon that serves all users.
@Suite("Visibility", .timeLimit(.minutes(1))) struct VisibilityTests {
    static let ann: UInt32 = 70_001
    static let ben: UInt32 = 70_002
    /// No job has this number.
    static let nowhere: Int64 = 4711

    /// A request about a job, made for its number, which reads or changes it.
    struct Crossing: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var request: @Sendable (JobID) -> Request

        init(_ name: String, _ request: @escaping @Sendable (JobID) -> Request) {
            testDescription = name
            self.request = request
        }
    }

    static let crossings = [
        Crossing("get") { .getJob(.id($0)) },
        Crossing("invalidate") { .invalidateJobs(InvalidateJobs(.ids([$0]))) },
        Crossing("invalidate and kill") { .invalidateJobs(InvalidateJobs(.ids([$0]), kill: true)) },
        Crossing("pause") { .pauseJobs(.ids([$0])) },
        Crossing("resume") { .resumeJobs(.ids([$0])) },
        Crossing("restore") { .restoreJobs(.ids([$0])) },
        Crossing("skip") { .skipJobs(SkipJobs(jobs: .ids([$0]))) },
        Crossing("skip what cannot be") { .skipJobs(SkipJobs(jobs: .ids([$0]), count: 10_000)) },
        Crossing("end by apply") { .applyJobs(ApplyJobs(invalidate: [$0])) },
        Crossing("change") {
            let definition = JobDefinition(schedule: ScheduleWords(every: "1s"))
            return .applyJobs(ApplyJobs(change: [JobRevision(id: $0, definition: definition)]))
        },
        Crossing("move") { .setFireDate(SetFireDate(job: .id($0), fireDate: "+1h")) },
        Crossing("fire") { .fireJob(.id($0)) },
        Crossing("list runs") {
            var filter = ListRuns()
            filter.job = $0
            return .listRuns(filter)
        },
    ]

    private func definition(_ change: (inout JobDefinition) -> Void = { _ in }) -> JobDefinition {
        var definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
        definition.name = "backup"
        definition.tags = ["net"]
        definition.userInfo = JSONText(.string("secret"))
        change(&definition)
        return definition
    }

    func add(
        _ handler: CommandHandler,
        as uid: UInt32,
        _ change: (inout JobDefinition) -> Void = { _ in }
    ) async throws -> JobID {
        let request = Request.addJobs(AddJobs(definition(change)))
        return try #require(try await handler.handle(request, from: uid).get() as? JobReply).job.id
    }

    func error(
        _ handler: CommandHandler,
        _ request: Request,
        as uid: UInt32
    ) async -> ControlError? {
        switch await handler.handle(request, from: uid) {
        case .success: nil
        case .failure(let error): error
        }
    }

    @Test(
        "To a stranger a job is one that does not exist, in each state",
        arguments: crossings,
        ["scheduled", "paused", "running", "ended"]
    )
    func stranger(crossing: Crossing, state: String) async throws {
        try await TestScheduler.with { test in
            let handler = test.handler()
            let id = try await add(handler, as: Self.ann) {
                $0.paused = state == "paused" ? true : nil
                if state == "running" { $0.command = ["sleep", "1000"] }
            }
            if state == "running" {
                test.runner.isHolding = true
                #expect(await error(handler, .fireJob(.id(id)), as: Self.ann) == nil)
                try await test.settle()
            }
            if state == "ended" {
                let end = Request.invalidateJobs(InvalidateJobs(.ids([id])))
                #expect(await error(handler, end, as: Self.ann) == nil)
            }
            let before = try await test.job(id)
            let told = test.sink.all.count
            let refusal = await error(handler, crossing.request(id), as: Self.ben)
            let none = await error(
                handler,
                crossing.request(JobID(rawValue: Self.nowhere)),
                as: Self.ben
            )
            #expect(refusal?.reason == .notFound)
            #expect(none?.reason == .notFound)
            #expect(
                refusal?.message.replacing("\(id)", with: "N", maxReplacements: 1)
                    == none?.message.replacing("\(Self.nowhere)", with: "N", maxReplacements: 1)
            )
            let after = try await test.job(id)
            #expect(after.state == before.state)
            #expect(after.fireDate == before.fireDate)
            #expect(after.fires == before.fires)
            #expect(test.sink.all.count == told)
            test.runner.isHolding = false
            test.runner.end()
        }
    }

    @Test("Of several numbers one of a stranger's refuses them all")
    func several() async throws {
        try await TestScheduler.with { test in
            let handler = test.handler()
            let hers = try await add(handler, as: Self.ann)
            let his = try await add(handler, as: Self.ben)
            let pause = Request.pauseJobs(.ids([his, hers]))
            #expect(await error(handler, pause, as: Self.ben) == .noJob(hers))
            #expect(try await test.job(his).state == .scheduled)
            #expect(try await test.job(hers).state == .scheduled)
        }
    }

    @Test("Names and tags are each user's own, root's too")
    func namesAndTags() async throws {
        try await TestScheduler.with { test in
            let handler = test.handler()
            let hers = try await add(handler, as: Self.ann)
            #expect(await error(handler, .getJob(.name("backup")), as: Self.ben) != nil)
            #expect(await error(handler, .fireJob(.name("backup")), as: 0) != nil)
            let none = ControlError.noJob(tagged: "net")
            #expect(await error(handler, .pauseJobs(.tag("net")), as: Self.ben) == none)
            #expect(await error(handler, .pauseJobs(.tag("net")), as: 0) == none)
            #expect(try await test.job(hers).state == .scheduled)

            var replacement = AddJobs(definition())
            replacement.replace = true
            #expect(await error(handler, .addJobs(replacement), as: Self.ben) == nil)
            #expect(try await test.job(hers).state == .scheduled)
            let end = Request.invalidateJobs(InvalidateJobs(.name("backup")))
            #expect(await error(handler, end, as: Self.ben) == nil)
            #expect(try await test.job(hers).state == .scheduled)
            #expect(await error(handler, end, as: Self.ann) == nil)
            #expect(try await test.job(hers).state == .invalidated)
        }
    }

    @Test("Lists hold one's own, root's hold all")
    func lists() async throws {
        try await TestScheduler.with { test in
            let handler = test.handler()
            let hers = try await add(handler, as: Self.ann)
            let his = try await add(handler, as: Self.ben)
            for id in [hers, his] { #expect(await error(handler, .fireJob(.id(id)), as: 0) == nil) }
            try await test.settle()
            for (uid, ids) in [(Self.ann, [hers]), (Self.ben, [his]), (0, [hers, his]), (9, [])] {
                var filters = [ListJobs(), ListJobs(), ListJobs(), ListJobs()]
                filters[1].name = "backup"
                filters[2].tag = "net"
                filters[3].all = true
                for filter in filters {
                    let answer = try await handler.handle(.listJobs(filter), from: uid).get()
                    #expect((answer as? JobsReply)?.jobs.map(\.id) == ids)
                }
                let runs = try await handler.handle(.listRuns(ListRuns()), from: uid).get()
                #expect((runs as? RunsReply)?.runs.map(\.job) == ids.reversed())
                let jobs = try await handler.handle(.listJobs(ListJobs()), from: uid).get()
                let owners = try #require(jobs as? JobsReply).jobs.map(\.owner).reversed()
                // Whose they are is told where they may be several users'.
                let expected: [String?] = owners.map { uid == 0 ? $0 : nil }
                #expect((runs as? RunsReply)?.runs.map(\.owner) == expected)
            }
        }
    }

    @Test("A run and its output are its job's owner's")
    func runs() async throws {
        try await TestScheduler.with { test in
            let handler = test.handler()
            let id = try await add(handler, as: Self.ann) { $0.command = ["true"] }
            #expect(await error(handler, .fireJob(.id(id)), as: Self.ann) == nil)
            try await test.settle()
            let run = try #require(try await test.history(id).last?.id)
            let requests: [(RunID) -> Request] = [
                { .getRun(RunReference(id: $0)) }, { .killRun(KillRun($0)) },
                { .readOutput(ReadOutput(id: $0)) },
                {
                    var read = ReadOutput(id: $0)
                    read.wait = true
                    return .readOutput(read)
                },
            ]
            for request in requests {
                let refusal = await error(handler, request(run), as: Self.ben)
                let none = await error(
                    handler,
                    request(RunID(rawValue: Self.nowhere)),
                    as: Self.ben
                )
                #expect(refusal?.reason == .notFound)
                #expect(
                    refusal?.message.replacing("\(run)", with: "N", maxReplacements: 1)
                        == none?.message.replacing("\(Self.nowhere)", with: "N", maxReplacements: 1)
                )
            }
            let read = Request.readOutput(ReadOutput(id: run))
            #expect(await error(handler, read, as: Self.ann) == nil)
            #expect(await error(handler, read, as: 0) == nil)
        }
    }

    @Test("The rows of a fire are its job's owner's")
    func fires() async throws {
        try await TestScheduler.with { test in
            let handler = test.handler()
            let id = try await add(handler, as: Self.ann)
            #expect(await error(handler, .fireJob(.id(id)), as: Self.ann) == nil)
            try await test.settle()
            let fire = try #require(try await test.history(id).last?.fire)
            func list(_ fire: FireID) -> Request {
                var filter = ListRuns()
                filter.fire = fire
                return .listRuns(filter)
            }
            let none = FireID(rawValue: Self.nowhere)
            #expect(await error(handler, list(fire), as: Self.ben) == .noFire(fire))
            #expect(await error(handler, list(none), as: Self.ben) == .noFire(none))
            for uid in [Self.ann, 0] { #expect(await error(handler, list(fire), as: uid) == nil) }
        }
    }

    @Test("A place before others is refused to all but root when the job is added")
    func niceness() async throws {
        try await TestScheduler.with { test in
            // As without RLIMIT_NICE, which nobody grants where tests run.
            let handler = test.handler()
            for (nice, uid, isRefused) in [
                (-1, Self.ann, true), (0, Self.ann, false), (19, Self.ann, false), (-20, 0, false),
            ] {
                var wish = definition { ($0.command, $0.nice) = (["true"], nice) }
                wish.name = nil
                let refusal = await error(handler, .addJobs(AddJobs(wish)), as: uid)
                #expect(refusal?.reason == (isRefused ? .notPermitted : nil))
                guard isRefused else { continue }
                #expect(
                    refusal?.message
                        == "parameter 'nice' is '-1', accepted from uid 70001 is 0 to 19"
                )
                let list = await error(handler, .addJobs(AddJobs([wish, wish])), as: uid)
                #expect(list?.message.hasPrefix("jobs[0]: parameter 'nice'") == true)
            }
        }
    }

    @Test("Root moves and ends the jobs of others by number")
    func root() async throws {
        try await TestScheduler.with { test in
            let handler = test.handler()
            let id = try await add(handler, as: Self.ann)
            let others = ["resume", "change"]
            for crossing in Self.crossings where !others.contains(crossing.testDescription) {
                let fresh = try await add(handler, as: Self.ann) { $0.name = nil }
                #expect(await error(handler, crossing.request(fresh), as: 0) == nil)
            }
            #expect(try await test.job(id).owner.uid == Self.ann)
            let revision = JobRevision(id: id, definition: definition())
            let refusal = await error(
                handler,
                .applyJobs(ApplyJobs(change: [revision])),
                as: 0
            )
            #expect(refusal?.reason == .notPermitted, "what runs as a user is the user's to say")
        }
    }

    @Test("A stranger's request holds back no fire, whatever it names")
    func noDelay() async throws {
        try await TestScheduler.with { test in
            var fireLocks = FireLocks()
            let job = try await test.add(ScheduleWords(every: "1h"))
            let stranger = Caller(uid: Self.ben, daemon: 0)
            let selections: [JobSelection] = [.ids([job.id]), .name("x"), .tag("x")]
            for selection in selections {
                fireLocks.hold(selection, caller: stranger)
                #expect(!fireLocks.covers(job))
                fireLocks.release(selection, caller: stranger)
            }
            fireLocks.hold(.ids([job.id]), caller: TestScheduler.root)
            #expect(fireLocks.covers(job))
            fireLocks.release(.ids([job.id]), caller: TestScheduler.root)
            #expect(!fireLocks.covers(job))
        }
    }
}
