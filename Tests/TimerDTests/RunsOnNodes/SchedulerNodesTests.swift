// SPDX-License-Identifier: Apache-2.0

import JobModel
import Schedules
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

/// Which node the scheduler asks for a run, and what becomes of the runs of others.
@Suite("Scheduler, runs on several nodes", .timeLimit(.minutes(2)))
struct SchedulerNodesTests {
    /// A scheduler of node a, with node b at its side, which is called gpu.
    private static func withTwo(_ body: (TestScheduler) async throws -> Void) async throws {
        let folder = try TemporaryFolder()
        let test = try await TestScheduler(folder: folder.path, node: "a")
        try await Self.join("b", test)
        try await body(test)
        try await test.close()
    }

    private static func join(_ node: String, _ test: TestScheduler) async throws {
        await test.loop.ask { [scheduler = test.scheduler] in
            scheduler.assumeIsolated {
                $0.nodeJoined(node, labels: ["gpu"], drains: false)
                $0.runnerChanged(.back(epoch: 77), of: node)
            }
        }
        try await test.settle()
    }

    /// The nodes that were asked for runs, in order; an empty word for this one.
    private static func nodes(_ test: TestScheduler) -> [String] {
        test.runner.requests.map { $0.node ?? "" }
    }

    @Test(
        "Commands that are in progress at once are spread; each row says which node was asked, and of which runner"
    )
    func spread() async throws {
        try await Self.withTwo { test in
            test.runner.isHolding = true
            for _ in 0..<4 { try await test.add(ScheduleWords(in: "5s"), command: ["x"]) }
            try await test.advance(by: .seconds(6))
            #expect(Self.nodes(test).sorted() == ["", "", "b", "b"])
            let offer = try #require(test.runner.requests.first { $0.node == "b" }?.offer)
            #expect(try RunOffer(offer).command == ["x"])
            let rows = try await test.store.reader.read {
                try $0.prepare("SELECT node, runner FROM runs ORDER BY node, id").all {
                    RunPlace(node: try $0.get(0), runner: try $0.get(1))
                }
            }
            let own = RunPlace(node: "a", runner: test.runner.known.epoch)
            #expect(
                rows == [own, own] + Array(repeating: RunPlace(node: "b", runner: 77), count: 2)
            )
            test.runner.end()
        }
    }

    /// PostgreSQL was set back to an earlier moment: docs/cluster.md.
    @Test("A run gets no number that the runner of another node knows of its own past")
    func numbersOfRunners() async throws {
        try await Self.withTwo { test in
            await test.loop.ask { [scheduler = test.scheduler] in
                scheduler.assumeIsolated {
                    $0.runnerChanged(.back(epoch: 77, lastRun: 41), of: "b")
                    // What is behind by now changes nothing.
                    $0.runnerChanged(.back(epoch: 77, lastRun: 7), of: "b")
                }
            }
            try await test.add(ScheduleWords(in: "5s"), command: ["x"])
            try await test.advance(by: .seconds(6))
            #expect(test.runner.requests.map(\.run) == [42])
        }
    }

    @Test(
        "A job that asks for a host that is not there waits, delays no other, and begins once one comes"
    )
    func waits() async throws {
        try await Self.withTwo { test in
            let job = try await test.add(ScheduleWords(in: "5s"), command: ["tpu"]) {
                $0.on = "tpu"
            }
            try await test.add(ScheduleWords(in: "5s"), command: ["gpu"]) { $0.on = "gpu" }
            try await test.advance(by: .seconds(6))
            #expect(test.runner.requests.map(\.argv) == [["gpu"]])
            #expect(Self.nodes(test) == ["b"])
            let waits = await test.scheduler.runnerStanding(named: true).absentHosts
            #expect(waits?.hasPrefix("1 command waits for 'tpu'") == true)
            let others = await test.scheduler.runnerStanding(named: false).absentHosts
            #expect(others == "1 command waits for nodes that are not there, or take none")
            #expect(try await test.history(job.id).map(\.waitsFor) == [.place])
            try await Self.join("tpu", test)
            #expect(test.runner.requests.map(\.argv) == [["gpu"], ["tpu"]])
            #expect(await test.scheduler.runnerStanding(named: true).absentHosts == nil)
        }
    }

    @Test(
        "A command that waits for a host that does not come begins on the one that its job is given"
    )
    func waitsForAnother() async throws {
        try await Self.withTwo { test in
            let job = try await test.add(ScheduleWords(every: "5s"), command: ["x"]) {
                $0.on = "tpu"
            }
            try await test.advance(by: .seconds(6))
            #expect(test.runner.requests.isEmpty)
            try await NoticeSupport.change(test, job) { $0.on = "npu" }
            try await test.settle()
            let waits = await test.scheduler.runnerStanding(named: true).absentHosts
            #expect(waits?.hasPrefix("1 command waits for 'npu'") == true, "\(waits ?? "")")
            try await NoticeSupport.change(test, job) { $0.on = "gpu" }
            try await test.settle()
            #expect(Self.nodes(test) == ["b"])
            #expect(await test.scheduler.runnerStanding(named: true).absentHosts == nil)
        }
    }

    /// What a command of a job waits for while that is changed.
    enum Wait: CaseIterable {
        case attempt, run, room
    }

    @Test(
        "Whatever a command waits for as its job is given another host, it begins there",
        arguments: Wait.allCases
    )
    func beginsElsewhere(wait: Wait) async throws {
        try await Self.withTwo { test in
            test.runner.isHolding = wait != .attempt
            test.runner.outcome = .exited(wait == .attempt ? 1 : 0)
            if wait == .room {
                await test.loop.ask { [scheduler = test.scheduler] in
                    scheduler.assumeIsolated { $0.runnerChanged(.limit(1), of: "b") }
                }
                try await test.add(ScheduleWords(in: "5s"), command: ["y"]) { $0.on = "b" }
                try await test.advance(by: .seconds(6))
            }
            let job = try await test.add(ScheduleWords(every: "5s"), command: ["x"]) {
                ($0.on, $0.overlap) = ("b", .queue)
                // With a delay from zero to that.
                ($0.retries, $0.backoff) = (1, "10min..10min")
            }
            try await test.advance(by: .seconds(wait == .run ? 11 : 6))
            #expect(Self.nodes(test) == ["b"], "one runs, or has run")
            try await NoticeSupport.change(test, job) { $0.on = "a" }
            test.runner.isHolding = false
            if wait == .run { test.runner.end() }
            try await test.advance(by: .seconds(wait == .attempt ? 601 : 9))
            #expect(Self.nodes(test).dropFirst().first?.isEmpty == true, "\(Self.nodes(test))")
            #expect(Set(Self.nodes(test).dropFirst()) == [""])
            test.runner.end()
        }
    }

    @Test("A node that does not know the user is not asked again; another runs the command, once")
    func stranger() async throws {
        try await Self.withTwo { test in
            test.runner.strangerNodes = ["b"]
            let job = try await test.add(ScheduleWords(in: "5s"), command: ["x"]) { $0.on = "gpu" }
            try await test.advance(by: .seconds(6))
            #expect(test.runner.requests.isEmpty)
            try await Self.join("c", test)
            #expect(Self.nodes(test) == ["c"])
            #expect(try await test.history(job.id).map(\.outcome) == [.exited])
        }
    }

    @Test("A node that drains gets no command; once it does not any more it does")
    func drains() async throws {
        try await Self.withTwo { test in
            test.runner.isHolding = true
            for drains in [true, false] {
                await test.loop.ask { [scheduler = test.scheduler] in
                    scheduler.assumeIsolated { $0.drainNode("b", drains) }
                }
                for _ in 0..<2 { try await test.add(ScheduleWords(in: "5s"), command: ["x"]) }
                try await test.advance(by: .seconds(6))
            }
            #expect(Self.nodes(test) == ["", "", "b", "b"])
            test.runner.end()
        }
    }

    @Test("So with the node that leads; one whose others are full or lost has its commands wait")
    func drainsHere() async throws {
        try await Self.withTwo { test in
            func drain(_ drains: Bool) async {
                await test.loop.ask { [scheduler = test.scheduler] in
                    scheduler.assumeIsolated { $0.drainHere(drains) }
                }
            }
            test.runner.isHolding = true
            await drain(true)
            #expect(await test.scheduler.runnerStanding(named: true).drains == true)
            #expect(await test.scheduler.measures().readyHosts == ["b"])
            for _ in 0..<2 { try await test.add(ScheduleWords(in: "5s"), command: ["x"]) }
            try await test.advance(by: .seconds(6))
            #expect(Self.nodes(test) == ["b", "b"])
            await test.loop.ask { [scheduler = test.scheduler] in
                scheduler.assumeIsolated { $0.runnerChanged(.away("lost"), of: "b") }
            }
            let job = try await test.add(ScheduleWords(in: "5s"), command: ["x"])
            try await test.advance(by: .seconds(6))
            #expect(Self.nodes(test) == ["b", "b"])
            #expect(try await test.history(job.id).map(\.waitsFor) == [.place])
            await drain(false)
            try await test.settle()
            #expect(Self.nodes(test) == ["b", "b", ""])
            #expect(await test.scheduler.runnerStanding(named: true).drains == nil)
            test.runner.end()
        }
    }

    @Test("The node that leads drains as that is answered, and drains no more unless it hands over")
    func drainsItself() async throws {
        try await Self.withTwo { test in
            func drain(_ drains: Bool) async -> Bool? {
                await test.loop.ask { [scheduler = test.scheduler] in
                    scheduler.assumeIsolated { $0.drainNode("a", drains) }
                }
                return await test.scheduler.runnerStanding(named: true).drains
            }
            #expect(await drain(true) == true)
            #expect(await drain(false) == nil)
            await test.scheduler.drainRuns()
            #expect(await drain(false) == true)
        }
    }

    @Test("A node that is lost is told as that, and one whose runner hangs with its runner, once")
    func lostNode() async throws {
        let log = RecordedLog()
        let folder = try TemporaryFolder()
        let test = try await TestScheduler(folder: folder.path, log: log.logger, node: "a")
        try await Self.join("b", test)
        await test.loop.ask { [scheduler = test.scheduler] in
            scheduler.assumeIsolated {
                $0.runnerChanged(.away("why"), of: "b")
                // Its agent comes again and again.
                for _ in 0..<2 { $0.runnerChanged(.silent("it hangs"), of: "b") }
            }
        }
        let lines = log.all.filter { $0.hasSuffix(" node=b") }
        #expect(
            lines == [
                "a node that runs commands is connected node=b",
                "nothing is heard of a node; no command begins there error=why node=b",
                "timerd-runner of a node does not answer; no command begins there error=it hangs node=b",
            ]
        )
        #expect(await test.scheduler.silentHosts == ["b"])
        #expect(await test.scheduler.measures().readyHosts == ["a"])
        // Its own is no reason for commands to wait where others take them.
        await test.loop.ask { [scheduler = test.scheduler] in
            scheduler.assumeIsolated { $0.runnerChanged(.away("why")) }
        }
        let own = "timerd-runner does not answer; no command begins on this node error=why node=a"
        #expect(log.all.contains(own), "\(log.all)")
        try await test.close()
    }

    /// A standby server was promoted that lacked them: docs/cluster.md.
    @Test("Runs that are ended as the database does not have them are told of")
    func unknown() async throws {
        let folder = try TemporaryFolder()
        let log = RecordedLog()
        let test = try await TestScheduler(folder: folder.path, log: log.logger, node: "a")
        try await Self.join("b", test)
        try await test.add(ScheduleWords(in: "5s"), command: ["x"])
        try await test.advance(by: .seconds(6))
        let stored = try #require(test.runner.requests.first?.run)
        await test.loop.ask { [scheduler = test.scheduler] in
            scheduler.assumeIsolated { $0.runnerChanged(.unexpected([-1, stored, 41]), of: "b") }
        }
        try await test.settle()
        let words = "a run is ended that the database does not have, as after a failover"
        func told(_ log: RecordedLog) -> [String] { log.all.filter { $0.hasPrefix(words) } }
        #expect(told(log).map { $0.hasSuffix(" node=b run=41") } == [true], "\(told(log))")
        let process = KnownRun(phase: .running, pid: 1, startedAtMicroseconds: 1)
        let known = KnownRuns(
            epoch: test.runner.known.epoch,
            node: "a",
            runs: [-1: process, stored: process, 500: process]
        )
        let next = RecordedLog()
        let after = try await test.crashedAndDown(for: .zero, known: known, log: next.logger)
        #expect(told(next).map { $0.hasSuffix(" node=a run=500") } == [true], "\(told(next))")
        #expect(Set(after.runner.stored) == [-1, stored, 500])
        try await after.close()
        try await test.close()
    }

    @Test("Limits that have no effect here are told of runs here, not of those on another node")
    func limitsWithoutEffect() async throws {
        let (folder, log) = (try TemporaryFolder(), RecordedLog())
        let test = try await TestScheduler(folder: folder.path, log: log.logger, node: "a")
        try await Self.join("b", test)
        let groups = ControlGroups(areThere: true, controllers: .cpu, lack: "no pids")
        test.runner.controlGroups = groups
        for (node, count) in [("b", 0), ("a", 1)] {
            try await test.add(ScheduleWords(in: "5s"), command: ["x"]) {
                ($0.on, $0.tasksMax) = (node, 10)
            }
            try await test.advance(by: .seconds(6))
            try await test.settle()
            let told = log.all.filter { $0.contains("limits of runs have no effect here") }
            #expect(told.count == count, "\(node): \(log.all)")
        }
        try await test.close()
    }

    @Test(
        "The next to lead expects the runs of other nodes, which keep their jobs busy, and takes up its own"
    )
    func takeOver() async throws {
        let folder = try TemporaryFolder()
        let test = try await TestScheduler(folder: folder.path, node: "a")
        try await Self.join("b", test)
        test.runner.isHolding = true
        let job = try await test.add(ScheduleWords(every: "5s"), command: ["x"]) { $0.on = "b" }
        let own = try await test.add(ScheduleWords(every: "5s"), command: ["y"]) { $0.on = "a" }
        try await test.advance(by: .seconds(6))
        let run = try #require(test.runner.requests.first { $0.node == "b" }?.run)
        let known = KnownRuns(epoch: test.runner.known.epoch, node: "a")
        let after = try await test.crashedAndDown(for: .seconds(1), known: known)
        #expect(after.runner.expected == [run: RunPlace(node: "b", runner: 77)])
        #expect(after.runner.takenUp == [run], "nothing of it is interrupted")
        // Its own was never asked for, by the runner that is there: it begins.
        #expect(after.runner.requests.map(\.argv) == [["y"]])
        try await after.advance(by: .seconds(5))
        let busy = try await after.history(job.id).map(\.reason)
        #expect(busy.contains(.overlap), "\(busy)")
        #expect(try await after.history(own.id).count >= 1)
        after.runner.end()
        test.runner.end()
        try await after.close()
    }
}
