// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

@Suite("Whom runs are for", .timeLimit(.minutes(1)))
struct RunOwnerTests {
    /// Adds a job of `owner`'s to root's daemon and lets it fire.
    private func fire(
        _ test: TestScheduler,
        owner: UInt32,
        _ change: (inout JobDefinition) -> Void = { _ in }
    ) async throws -> StoredJob {
        var definition = JobDefinition(schedule: ScheduleWords(in: "5s"))
        definition.command = ["backup"]
        change(&definition)
        // try?: who has no entry goes by the number.
        let whose = Owner(uid: owner, name: (try? Account.find(uid: owner))?.name)
        let new = try NewJob(definition, owner: whose, at: test.clock.now(), zone: .utc)
        let job = try await test.scheduler.add(
            [new],
            replace: false,
            caller: Caller(whose, isAdministrator: owner == 0)
        )[0]
        try await test.advance(by: .seconds(6))
        return job
    }

    @Test("A command runs as its job's owner, with the job's limits")
    func owner() async throws {
        try await TestScheduler.with(accounts: Accounts()) { test in
            let nobody = try Account.find(uid: 65_534)
            _ = try await fire(test, owner: 65_534) {
                $0.timeout = "1min"
                $0.killAfter = "2s"
                $0.umask = "077"
                $0.nice = 5
            }
            let request = try #require(test.runner.requests.first)
            #expect(request.credentials?.uid == 65_534)
            #expect(request.credentials?.gid == nobody.gid)
            #expect(request.environment["USER"] == nobody.name)
            #expect(request.workingDirectory == nobody.home)
            #expect(request.timeout == .seconds(60))
            #expect(request.teardown == .terminate(killAfter: .seconds(2)))
            #expect(request.limits == ProcessLimits(nice: 5, umask: 0o077))
        }
    }

    @Test("A daemon of root opens a PAM session around what it runs as anybody but root")
    func sessions() {
        let other = RunEnvironmentTests.owner
        var root = Account.own(uid: 0)
        var settings = SchedulerSettings(socket: "", account: root)
        #expect(settings.session(of: other) == nil)
        settings.pamSessions = true
        #expect(settings.session(of: other)?.user == other.name)
        // With groups that the daemon has not got, it has credentials.
        root.groups = [4711]
        #expect(settings.session(of: root) == nil)
        settings.account = other
        #expect(settings.session(of: other) == nil)
    }

    @Test("A user who was removed has no more runs, and the reason is written")
    func removedUser() async throws {
        try await TestScheduler.with { test in
            let job = try await fire(test, owner: nobodysUID)
            #expect(test.runner.requests.isEmpty)
            let run = try #require(try await test.history(job.id).first)
            #expect(run.outcome == .notStarted)
            #expect(run.error == "user 4294900001 does not exist (any more)")
            #expect(run.startedAt == nil)
        }
    }
}
