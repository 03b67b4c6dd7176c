// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

/// What runs have written makes room once it is more than its user may have stored.
@Suite("Output beyond maxBytesPerUser", .timeLimit(.minutes(2))) struct OutputSpaceTests {
    private static let most: Int64 = 300_000

    private static func add(_ test: TestScheduler, as owner: Owner) async throws -> JobID {
        var definition = JobDefinition(schedule: ScheduleWords(every: "100s"))
        definition.command = ["x"]
        let job = try NewJob(definition, owner: owner, at: test.clock.now(), zone: .utc)
        let caller = Caller(owner, daemon: 0)
        return try await test.scheduler.add([job], replace: false, caller: caller)[0].id
    }

    /// How many of a job's runs still have their output.
    private static func kept(_ test: TestScheduler, _ job: JobID) async throws -> [Bool] {
        let runs = try await test.history(job).compactMap(\.id)
        return try await test.store.reader.read { database in
            try runs.map { try !Queries(database).output(of: $0).pieces.isEmpty }
        }
    }

    @Test("The oldest output of its jobs goes, the newest stays, and so does that of other users")
    func oldest() async throws {
        let accounts = Accounts(find: { uid throws(StartRefusal) in
            Account(
                uid: uid,
                gid: uid,
                groups: [uid],
                name: uid == 1001 ? "ann" : "ben",
                home: "/",
                shell: "/bin/sh"
            )
        })
        let limits = RetentionLimits(maxBytesPerUser: Self.most)
        try await TestScheduler.with(
            keeping: TestScheduler.Keeping(limits: limits),
            accounts: accounts
        ) { test in
            test.runner.output = CapturedOutput(stdout: Array(repeating: 120, count: 60_000))
            let his = try await Self.add(test, as: Owner(uid: 1002, name: "ben"))
            try await test.advance(by: .seconds(250))
            try await test.change(his, .pause)
            let hers = try await Self.add(test, as: Owner(uid: 1001, name: "ann"))
            try await test.advance(by: .seconds(2050))
            let bytes = try await test.store.reader.read { database in
                try database.prepare("SELECT bytes FROM owners WHERE uid = ?1")
                    .value(1001, as: Int64.self)
            }
            #expect(try #require(bytes) <= Self.most)
            let kept = try await Self.kept(test, hers)
            #expect(kept.count == 20, "the runs themselves stay")
            // As much as there is room for beside the job: the newest ones.
            #expect(kept == Array(repeating: false, count: 16) + Array(repeating: true, count: 4))
            #expect(try await Self.kept(test, his) == [true, true])
        }
    }
}
