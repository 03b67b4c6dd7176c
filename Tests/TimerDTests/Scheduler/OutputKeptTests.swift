// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

/// How much of what a run writes is kept, by its job and by the settings.
@Suite("How much output is kept") struct OutputKeptTests {
    @Test(
        "A job says how much of its runs' output is kept; where it says nothing, the settings do",
        arguments: [
            (nil, nil, 65_536, true), ("1K", nil, 1024, true), ("0", nil, 0, false),
            (nil, .drop, 0, false), ("1K", .drop, 0, false), ("2K", .journal, 2048, true),
            // What is only passed on has some room as well.
            ("0", .journal, 65_536, false),
        ] as [(String?, JobDefinition.Output?, Int, Bool)]
    )
    func byJob(kept: String?, output: JobDefinition.Output?, room: Int, isStored: Bool) async throws
    {
        try await TestScheduler.with { test in
            test.runner.output = CapturedOutput(stdout: Array("hello\n".utf8))
            let job = try await test.add(ScheduleWords(in: "1s"), command: ["true"]) {
                $0.outputKept = kept
                $0.output = output
            }
            try await test.advance(by: .seconds(2))
            try await test.settle()
            #expect(test.runner.requests.last?.output.limit == room)
            let run = try #require(try await test.history(job.id).last?.id)
            let reading = try await test.store.reader.read { try Queries($0).output(of: run) }
            #expect(reading.stdout.bytes == 6)
            #expect(reading.stdout.dropped == (isStored ? 0 : 6))
            #expect(reading.pieces.map(\.bytes) == (isStored ? [Array("hello\n".utf8)] : []))
        }
    }

    @Test(
        "Runs that keep much have room of their own; beyond it they keep what the settings say, and wait for nobody"
    )
    func bounded() async throws {
        let accounts = Accounts(find: { uid throws(StartRefusal) in
            Account(
                uid: uid,
                gid: uid,
                groups: [uid],
                name: "user\(uid)",
                home: "/",
                shell: "/bin/sh"
            )
        })
        try await TestScheduler.with(accounts: accounts) { test in
            test.runner.isHolding = true
            for uid: UInt32 in [1001, 1002] {
                for _ in 0..<5 {
                    var definition = JobDefinition(schedule: ScheduleWords(in: "1s"))
                    definition.command = ["true"]
                    definition.outputKept = "16M"
                    let owner = Owner(uid: uid, name: "user\(uid)")
                    let job = try NewJob(definition, owner: owner, at: test.clock.now(), zone: .utc)
                    _ = try await test.scheduler.add(
                        [job],
                        replace: false,
                        caller: Caller(owner, daemon: 0)
                    )
                }
            }
            try await test.advance(by: .seconds(2))
            try await test.settle()
            let limits = test.runner.requests.map(\.output.limit)
            #expect(limits.count == 10)
            // Four of each user have 32 MiB, and no fifth has.
            #expect(limits.count { $0 == 16 << 20 } == 8)
            #expect(limits.count { $0 == 65_536 } == 2)
            test.runner.end()
        }
    }

    @Test("A reload of the size leaves runs in progress as they are, and their output is kept")
    func reload() async throws {
        try await TestScheduler.with { test in
            test.runner.isHolding = true
            test.runner.output = CapturedOutput(stdout: Array("hello\n".utf8))
            let job = try await test.add(ScheduleWords(in: "1s"), command: ["true"])
            try await test.advance(by: .seconds(2))
            var settings = await test.scheduler.settings
            settings.outputKept = 0
            await test.scheduler.reload(settings)
            test.runner.end()
            let run = try #require(try await test.history(job.id).last?.id)
            let reading = try await test.store.reader.read { try Queries($0).output(of: run) }
            #expect(reading.pieces.map(\.bytes) == [Array("hello\n".utf8)])
        }
    }

    @Test(
        "Much output alone is stored in many commits before the run's end, and nothing stays of what a daemon before has stored of it",
        arguments: [(10, 1...11), (3 << 20, 13...1000)]
    )
    func inParts(count: Int, commits: ClosedRange<Int>) async throws {
        try await TestScheduler.with { test in
            test.runner.isHolding = true
            let written = (0..<count).map { UInt8(truncatingIfNeeded: $0 / 1000) }
            test.runner.output = CapturedOutput(stdout: written)
            let job = try await test.add(ScheduleWords(in: "1s"), command: ["true"]) {
                $0.outputKept = "16M"
            }
            try await test.advance(by: .seconds(2))
            try await test.settle()
            let run = RunID(rawValue: try #require(test.runner.requests.last?.run))
            // A daemon that was killed as it had stored some of it.
            let before = CapturedOutput(stdout: Array(repeating: 0, count: 400_000))
            try await test.store.writer.write { database in
                let parts = OutputPart.parts(of: before, orAt: 0)
                try RunStore(database).insertOutput(parts, from: 0, of: run, owner: job.ownerID)
            }
            let stored = test.store.writer.statistics.commits
            test.runner.end()
            #expect(try await test.history(job.id).last?.outcome == .exited)
            let reading = try await test.store.reader.read { try Queries($0).output(of: run) }
            let isWhole = reading.pieces.flatMap(\.bytes) == written
            #expect(isWhole)
            #expect(reading.stdout == OutputReply.Total(bytes: Int64(count), dropped: 0))
            // Whatever others have asked for lies between them.
            let made = test.store.writer.statistics.commits - stored
            #expect(commits.contains(Int(made)), "\(made) commits")
        }
    }

    @Test("The settings' size is that of the daemon's configuration")
    func bySettings() {
        var configuration = Configuration(database: "/x", socket: "/y")
        configuration.outputKept = 10
        let account = Account(uid: 0, gid: 0, groups: [], name: "root", home: "/", shell: "/bin/sh")
        let settings = SchedulerSettings(configuration, account: account)
        var policy = RunPolicy()
        #expect(settings.outputKept(of: policy) == 10)
        policy.outputKept = 3
        #expect(settings.outputKept(of: policy) == 3)
        policy.output = .drop
        #expect(settings.outputKept(of: policy) == 0)
        #expect(settings.outputRoom(of: policy) == 0)
    }

    @Test(
        "Of a run that was begun before, what the runner keeps says whether it is stored, unless the job only passes it on",
        arguments: [
            (.keep, 3, 1024, true), (.keep, 3, 0, false), (.drop, nil, 1024, true),
            (.journal, nil, 1024, true), (.journal, 0, 65_536, false), (.keep, 0, 1024, true),
        ] as [(JobDefinition.Output, Int?, Int, Bool)]
    )
    func begunBefore(output: JobDefinition.Output, kept: Int?, begun: Int, isStored: Bool) {
        let account = Account(uid: 0, gid: 0, groups: [], name: "root", home: "/", shell: "/bin/sh")
        let settings = SchedulerSettings(socket: "/y", account: account)
        var policy = RunPolicy()
        (policy.output, policy.outputKept) = (output, kept)
        #expect(settings.keepsOutput(of: policy, begun: begun) == isStored)
    }
}
