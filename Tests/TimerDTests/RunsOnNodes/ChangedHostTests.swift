// SPDX-License-Identifier: Apache-2.0

import JobModel
import LinuxSystem
import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

/// What becomes of commands that wait as a job is given another host; those that begin there are in `SchedulerNodesTests`.
@Suite("Jobs that are given another host", .timeLimit(.minutes(3))) struct ChangedHostTests {
    private static let ann = Owner(uid: 1001, name: "ann")

    /// Every user is ann.
    private static var accounts: Accounts {
        Accounts(find: { uid throws(StartRefusal) in
            Account(uid: uid, gid: uid, groups: [], name: "ann", home: "/", shell: "/bin/sh")
        })
    }

    /// A scheduler of node a, with node b at its side; one command at once on each.
    private static func withTwo(_ body: (TestScheduler) async throws -> Void) async throws {
        let folder = try TemporaryFolder()
        let test = try await TestScheduler(
            folder: folder.path,
            keeping: TestScheduler.Keeping(maxRuns: 1),
            accounts: accounts,
            node: "a"
        )
        await test.loop.ask { [scheduler = test.scheduler] in
            scheduler.assumeIsolated {
                $0.nodeJoined("b", labels: [], drains: false)
                $0.runnerChanged(.back(epoch: 77), of: "b")
            }
        }
        test.runner.isHolding = true
        try await body(test)
        test.runner.end()
        try await test.close()
    }

    private static func job(on host: String, _ owner: Owner, _ test: TestScheduler) throws -> NewJob
    {
        var definition = JobDefinition(schedule: ScheduleWords(every: "1h"))
        (definition.command, definition.on) = (["x"], host)
        return try NewJob(definition, owner: owner, at: test.clock.now(), zone: .utc)
    }

    /// Adds a job, and fires it by hand.
    private static func fire(on host: String, _ owner: Owner, _ test: TestScheduler) async throws
        -> JobID
    {
        let new = try job(on: host, owner, test)
        let job = try await test.scheduler.add(
            [new],
            replace: false,
            caller: Caller(owner, daemon: 0)
        )
        _ = try await test.scheduler.fire(.id(job[0].id), caller: TestScheduler.root)
        try await test.settle()
        return job[0].id
    }

    private static func change(_ job: JobID, to host: String, _ owner: Owner, _ test: TestScheduler)
        async throws
    {
        let change = JobChanges.Change(id: job, to: try Self.job(on: host, owner, test))
        let changes = JobChanges(invalidate: [], change: [change], add: [])
        _ = try await test.scheduler.apply(changes, caller: Caller(owner, daemon: 0))
        try await test.settle()
    }

    @Test("One that waited for a host, and is given another, keeps none from the former")
    func leaves() async throws {
        try await Self.withTwo { test in
            let root = Owner(uid: 0, name: "root")
            _ = try await Self.fire(on: "b", root, test)
            let second = try await Self.fire(on: "b", root, test)
            let third = try await Self.fire(on: "b", root, test)
            try await Self.change(second, to: "c", root, test)
            #expect(test.runner.requests.count == 1)
            test.runner.end()
            try await test.settle()
            #expect(test.runner.requests.count == 2)
            #expect(try await test.history(third).map(\.state) == [.running])
        }
    }

    @Test("One that is given a host that is there waits for a place then, and for no host")
    func waitsForPlace() async throws {
        try await Self.withTwo { test in
            // One of both places is root's.
            _ = try await Self.fire(on: "a", Self.ann, test)
            let second = try await Self.fire(on: "c", Self.ann, test)
            #expect(await test.scheduler.runnerStanding(named: true).absentHosts != nil)
            try await Self.change(second, to: "b", Self.ann, test)
            #expect(test.runner.requests.count == 1)
            #expect(await test.scheduler.runnerStanding(named: true).absentHosts == nil)
            test.runner.end()
            try await test.settle()
            #expect(test.runner.requests.count == 2)
        }
    }
}
