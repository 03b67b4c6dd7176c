// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import TimerD

/// A uid that was a removed user's, and is somebody else's now.
@Suite("A uid that is used again", .timeLimit(.minutes(1))) struct UsedUIDTests {
    static let ann = Owner(uid: 1001, name: "ann")
    static let bob = Owner(uid: 1001, name: "bob")

    private static func add(_ test: TestScheduler, as owner: Owner) async throws -> Job {
        var definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
        definition.name = "backup"
        definition.tags = ["net"]
        let answer = try await test.handler().handle(.addJobs(AddJobs(definition)), from: owner)
            .get()
        return try #require(answer as? JobReply).job
    }

    private static func list(
        _ test: TestScheduler,
        as owner: Owner,
        _ change: (inout ListJobs) -> Void = { _ in }
    ) async throws -> [JobID] {
        var filter = ListJobs()
        filter.all = true
        change(&filter)
        let answer = try await test.handler().handle(.listJobs(filter), from: owner).get()
        return try #require(answer as? JobsReply).jobs.map(\.id)
    }

    @Test("Its new user sees none of the old one's jobs, and may use the same names and tags")
    func apart() async throws {
        try await TestScheduler.with { test in
            let handler = test.handler()
            let old = try await Self.add(test, as: Self.ann)
            #expect(old.owner == "ann")
            for change: (inout ListJobs) -> Void in [
                { _ in }, { $0.tag = "net" }, { $0.name = "backup" },
                { $0.order = .nextFire }, { ($0.order, $0.tag) = (.nextFire, "net") },
            ] {
                #expect(try await Self.list(test, as: Self.bob, change).isEmpty)
                #expect(try await Self.list(test, as: Self.ann, change) == [old.id])
                #expect(try await Self.list(test, as: .root, change) == [old.id])
            }
            var runs = ListRuns()
            runs.job = old.id
            for request: Request in [
                .getJob(.id(old.id)), .getJob(.name("backup")), .fireJob(.id(old.id)),
                .pauseJobs(.ids([old.id])), .listRuns(runs),
            ] {
                await #expect(throws: ControlError.self) {
                    try await handler.handle(request, from: Self.bob).get()
                }
            }
            let new = try await Self.add(test, as: Self.bob)
            #expect(try await Self.list(test, as: Self.bob) { $0.tag = "net" } == [new.id])
            #expect(try await Self.list(test, as: .root) { $0.tag = "net" } == [old.id, new.id])
            _ = try await handler.handle(.pauseJobs(.tag("net")), from: Self.bob).get()
            #expect(try await test.job(old.id).state == .scheduled)
            #expect(try await test.job(new.id).state == .paused)
        }
    }

    @Test("Its new user is told of no event of the old one's jobs")
    func events() async throws {
        try await TestScheduler.with { test in
            let old = try await Self.add(test, as: Self.ann)
            let new = try await Self.add(test, as: Self.bob)
            try await test.settle()
            let source = test.store.events(after: test.scheduler)
            #expect(try await source(0, Self.ann, .init()).events.map(\.job) == [old.id])
            #expect(try await source(0, Self.bob, .init()).events.map(\.job) == [new.id])
            #expect(try await source(0, Owner(uid: 1002), .init()).events.isEmpty)
            #expect(try await source(0, nil, .init()).events.map(\.job) == [old.id, new.id])
        }
    }

    @Test("Each of both has its own number of live jobs")
    func counts() async throws {
        try await TestScheduler.with { test in
            let old = try await Self.add(test, as: Self.ann)
            _ = try await Self.add(test, as: Self.bob)
            _ = try await test.handler().handle(
                .invalidateJobs(InvalidateJobs(.ids([old.id]))),
                from: Self.ann
            ).get()
            for (owner, live) in [(Self.ann, 0), (Self.bob, 1), (.root, 0)] {
                let found = try await test.store.reader.read {
                    let owners = Owners($0)
                    return try owners.liveJobs(of: owners.id(of: owner))
                }
                #expect(found == live)
            }
        }
    }

    @Test("The user of a daemon of one's own keeps the jobs under another name")
    func renamed() async throws {
        try await TestScheduler.with { test in
            let job = try await Self.add(test, as: Self.ann)
            let new = Owner(uid: 1001, name: "anna")
            try await test.store.writer.write { try Owners($0).rename(new) }
            #expect(try await test.job(job.id).owner == new)
            try await test.store.writer.write { try Owners($0).rename(Owner(uid: 0, name: "toor")) }
            let root = try await test.store.reader.read { try Owners($0).id(of: .root) }
            #expect(root.rawValue == 0)
        }
    }
}
