// SPDX-License-Identifier: Apache-2.0

import JobModel
import Locks
import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

/// The commands of a user whom the host that leads does not know; the rules of those that stand by are in `RunHostsTests`.
@Suite("Users whom the host that leads does not know", .timeLimit(.minutes(1)))
struct StrangerTests {
    private static let ann = Owner(uid: 1001, name: "ann")

    /// Whether this host knows ann, and how often that is to be asked anew.
    private final class Users: Sendable {
        private let state = Locked((isKnown: false, now: ContinuousClock.now))

        var accounts: Accounts {
            Accounts(
                find: { [self] uid throws(StartRefusal) in
                    guard state.withLock({ $0.isKnown }) else { throw .noUser(uid) }
                    return Account(
                        uid: uid,
                        gid: uid,
                        groups: [],
                        name: "ann",
                        home: "/",
                        shell: "/bin/sh"
                    )
                },
                now: { [self] in state.withLock { $0.now } }
            )
        }

        func add() {
            state.withLock { $0 = (true, $0.now + .seconds(3600)) }
        }
    }

    /// A scheduler of node a, and a command of ann's that is due in 5 s.
    private static func withCommand(
        _ body: (TestScheduler, Users, JobID) async throws -> Void
    ) async throws {
        let (folder, users) = (try TemporaryFolder(), Users())
        let test = try await TestScheduler(
            folder: folder.path,
            accounts: users.accounts,
            node: "a"
        )
        var definition = JobDefinition(schedule: ScheduleWords(in: "5s"))
        definition.command = ["x"]
        let new = try NewJob(definition, owner: ann, at: test.clock.now(), zone: .utc)
        let job = try await test.scheduler.add(
            [new],
            replace: false,
            caller: Caller(ann, daemon: 0)
        )
        test.runner.isHolding = true
        try await body(test, users, job[0].id)
        test.runner.end()
        try await test.close()
    }

    @Test("A command that was due is not failed: it begins on a host that knows him")
    func elsewhere() async throws {
        try await Self.withCommand { test, _, job in
            await test.loop.ask { [scheduler = test.scheduler] in
                scheduler.assumeIsolated {
                    $0.nodeJoined("b", labels: [], drains: false)
                    $0.runnerChanged(.back(epoch: 77), of: "b")
                }
            }
            try await test.advance(by: .seconds(6))
            try await test.settle()
            #expect(test.runner.requests.map(\.node) == ["b"])
            #expect(try await test.history(job).map(\.state) == [.running])
        }
    }

    @Test("Where no host does it waits, and begins once he has been added here")
    func waits() async throws {
        try await Self.withCommand { test, users, job in
            try await test.advance(by: .seconds(6))
            try await test.settle()
            #expect(try await test.history(job).map(\.state) == [.waiting])
            #expect(test.runner.requests.isEmpty)
            users.add()
            try await test.advance(by: .seconds(61))
            try await test.settle()
            #expect(test.runner.requests.count == 1)
            #expect(try await test.history(job).map(\.state) == [.running])
        }
    }
}
