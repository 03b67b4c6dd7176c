// SPDX-License-Identifier: Apache-2.0

import Cluster
import JobModel
import Locks
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

/// What the node that leads makes of what the agent of another node says: the agent is a test.
@Suite("Runs on another node", .timeLimit(.minutes(3)))
struct NodeRunnerTests {
    let script = ScriptedRunner()
    let fence = Fence()

    init() { fence.extend(to: .max) }

    func request(_ run: Int64, epoch: Int64? = 1) -> RunRequest {
        var request = TestRunner.script("exit 3")
        (request.run, request.epoch, request.node, request.offer) = (run, epoch, "b", [1, 2, 3])
        return request
    }

    private func runner(isThere: (@Sendable () async -> Bool)? = nil) -> ProgramRunner {
        var terms = RemoteTerms(node: "b", absence: .seconds(5))
        terms.isThere = isThere
        return ProgramRunner(on: script, remote: terms, fence: fence) { 5_000_000 }
    }

    /// One whose node has come, and knows those runs.
    func attached(
        knowing known: [Int64: KnownRun] = [:],
        isThere: (@Sendable () async -> Bool)? = nil
    ) async throws -> (ProgramRunner, ScriptedLink) {
        let runner = runner(isThere: isThere)
        runner.come { _ in }
        let link = try await script.connection(0)
        await link.greet(epoch: 1, knowing: known)
        return (runner, link)
    }

    /// How a run went, in words.
    private func outcome(
        _ run: @Sendable () async throws(RunBreak) -> RunResult
    ) async -> String {
        do throws(RunBreak) {
            return "\(try await run().outcome)"
        } catch {
            return "\(error)"
        }
    }

    func begin(_ runner: ProgramRunner, _ request: RunRequest) -> Task<String, Never> {
        Task { await outcome { () throws(RunBreak) in try await runner.run(request) { _ in } } }
    }

    @Test("It is offered; once the node is ready it is told to begin; its end is the run's")
    func begins() async throws {
        let (runner, link) = try await attached()
        let run = begin(runner, request(7))
        try await eventually("it is offered") { link.offered == [7] }
        #expect(link.told == [])
        await link.say(.ready(run: 7))
        await script.flush()
        #expect(link.told == [7] && link.started.isEmpty)
        await link.say(.started(run: 7, .scripted()), .scriptedEnd(of: 7, status: 3))
        #expect(await run.value == "\(RunOutcome.exited(3))")
        await runner.detach()
    }

    @Test(
        "One that has left takes no connection any more: what runs there is the next leader's, and is not ended"
    )
    func left() async throws {
        let (runner, link) = try await attached()
        let run = begin(runner, request(7))
        try await eventually("it is offered") { link.offered == [7] }
        await link.say(.ready(run: 7))
        await link.say(.started(run: 7, .scripted()))
        await runner.detach()
        _ = await run.value
        runner.come { _ in }
        await script.flush()
        #expect(script.connections == 1)
        #expect(link.ended.isEmpty)
    }

    @Test("It was withdrawn before the node was ready: it is not told to begin")
    func withdrawn() async throws {
        let (runner, link) = try await attached()
        let request = request(7)
        let run = begin(runner, request)
        try await eventually("it is offered") { link.offered == [7] }
        #expect(request.start.withdraw())
        await link.say(.ready(run: 7))
        #expect(await run.value == "\(RunOutcome.notStarted(StartRefusal.withdrawn.message))")
        #expect(link.told.isEmpty && link.withdrawn == [7])
        await runner.detach()
    }

    @Test("This node leads no more as the other is ready: it is not told to begin")
    func leadsNoMore() async throws {
        let (runner, link) = try await attached()
        let run = begin(runner, request(7))
        try await eventually("it is offered") { link.offered == [7] }
        fence.close()
        await link.say(.ready(run: 7))
        #expect(await run.value == #"notBegun("this node leads no more")"#)
        #expect(link.told.isEmpty && link.withdrawn == [7])
        await runner.detach()
    }

    @Test(
        "The node declines it: for good, for now, or as it does not know the user",
        arguments: [
            (RunnerReport.Refusal.forGood, "\(RunOutcome.notStarted("why"))"),
            (.forNow, #"notBegun("\'b\': why")"#), (.stranger, #"stranger("\'b\': why")"#),
        ]
    )
    func declined(refusal: RunnerReport.Refusal, words: String) async throws {
        let (runner, link) = try await attached()
        let run = begin(runner, request(7))
        try await eventually("it is offered") { link.offered == [7] }
        await link.say(.declined(run: 7, refusal, reason: "why"))
        #expect(await run.value == words)
        await runner.detach()
    }

    @Test("The node goes before it was told to begin: it begins elsewhere at once")
    func lostAhead() async throws {
        let (runner, link) = try await attached()
        let run = begin(runner, request(7))
        try await eventually("it is offered") { link.offered == [7] }
        await link.lose("gone")
        #expect(await run.value == #"notBegun("\'b\' has gone")"#)
        await runner.detach()
    }

    @Test(
        "The node goes after it was told to begin, and comes again: what it knows goes on, what the same runner does not know never began, another's was interrupted"
    )
    func lostBehind() async throws {
        for (epoch, knows, expected) in [
            (Int64(1), true, "\(RunOutcome.exited(0))"),
            (1, false, #"notBegun("timerd-runner did not get the order")"#),
            (2, false, "\(RunOutcome.interrupted)"),
        ] {
            let script = ScriptedRunner()
            let terms = RemoteTerms(node: "b", absence: .seconds(5))
            let runner = ProgramRunner(on: script, remote: terms, fence: fence) { 5_000_000 }
            runner.come { _ in }
            let link = try await script.connection(0)
            await link.greet(epoch: 1)
            let run = begin(runner, request(7))
            try await eventually("it is offered") { link.offered == [7] }
            await link.say(.ready(run: 7))
            await link.lose("gone")
            #expect(script.connections == 1, "nothing is asked of a node that is not there")
            runner.come { _ in }
            let again = try await script.connection(1)
            await again.greet(epoch: epoch, knowing: knows ? [7: .scripted()] : [:])
            if knows { await again.say(.scriptedEnd(of: 7, status: 0)) }
            #expect(await run.value == expected)
            await runner.detach()
        }
    }

    @Test("A node that is back in time is not given up by what passed before")
    func backInTime() async throws {
        let (runner, link) = try await attached()
        let run = begin(runner, request(7))
        try await eventually("it is offered") { link.offered == [7] }
        await link.say(.ready(run: 7), .started(run: 7, .scripted()))
        await link.lose("gone")
        runner.come { _ in }
        let again = try await script.connection(1)
        await again.greet(epoch: 1, knowing: [7: .scripted()])
        await script.pass()
        await again.say(.pong, .scriptedEnd(of: 7, status: 4))
        #expect(await run.value == "\(RunOutcome.exited(4))")
        await runner.detach()
    }

    @Test(
        "A run that the node began for the one that led before: it is heard when the node comes, and interrupted if it does not"
    )
    func expected() async throws {
        for comes in [true, false] {
            let script = ScriptedRunner()
            let terms = RemoteTerms(node: "b", absence: .seconds(5))
            let runner = ProgramRunner(on: script, remote: terms, fence: fence) { 5_000_000 }
            runner.expect(7, at: RunPlace(node: "b", runner: 1))
            // Nothing begins any more by the word of the one that led before.
            await runner.awaitBegins(of: [7], whereOffered: true)
            let pids = Locked<[Int32]>([])
            let request = request(7)
            let run = Task {
                await outcome { () throws(RunBreak) in
                    try await runner.takeUp(request) { known in
                        pids.withLock { $0.append(known.pid) }
                    }
                }
            }
            if comes {
                runner.come { _ in }
                let link = try await script.connection(0)
                await link.greet(epoch: 1, knowing: [7: .scripted()])
                try await eventually("its start is told") { pids.withLock { $0.count } == 1 }
                await link.say(.scriptedEnd(of: 7, status: 0))
                #expect(await run.value == "\(RunOutcome.exited(0))")
                #expect(pids.withLock { $0.count } == 1, "once")
            } else {
                try await eventually("somebody waits for it") { runner.isWaited(for: 7) }
                await script.pass()
                #expect(await run.value == "\(RunOutcome.interrupted)")
            }
            await runner.detach()
        }
    }

    @Test("Whether a run that was told to begin has begun is known once it has, or cannot any more")
    func settled() async throws {
        for begins in [true, false] {
            let script = ScriptedRunner()
            let terms = RemoteTerms(node: "b", absence: .seconds(5))
            let runner = ProgramRunner(on: script, remote: terms, fence: fence) { 5_000_000 }
            runner.come { _ in }
            let link = try await script.connection(0)
            await link.greet(epoch: 1)
            let run = begin(runner, request(7))
            try await eventually("it is offered") { link.offered == [7] }
            await runner.awaitBegins(of: [7], whereOffered: false)
            await link.say(.ready(run: 7))
            let isSettled = Locked(false)
            let settled = Task {
                await runner.awaitBegins(of: [7], whereOffered: false)
                isSettled.withLock { $0 = true }
            }
            try await eventually("it is waited for") { runner.beginnerCount(of: 7) == 1 }
            #expect(!isSettled.withLock { $0 })
            if begins { await link.say(.started(run: 7, .scripted())) } else { await script.pass() }
            await settled.value
            await link.say(.scriptedEnd(of: 7, status: 0))
            _ = await run.value
            await runner.detach()
        }
    }

    @Test("What it was only offered is waited for where that is asked, until it is known")
    func settledOffer() async throws {
        let (runner, link) = try await attached()
        let request = request(7)
        let run = begin(runner, request)
        try await eventually("it is offered") { link.offered == [7] }
        let settled = Task { await runner.awaitBegins(of: [7], whereOffered: true) }
        try await eventually("it is waited for") { runner.beginnerCount(of: 7) == 1 }
        request.start.withdraw()
        await link.say(.ready(run: 7))
        await settled.value
        #expect(await run.value == "\(RunOutcome.notStarted(StartRefusal.withdrawn.message))")
        await runner.detach()
    }

    @Test(
        "A node is offered so many bytes at once; the next follow as it answers, and are begun elsewhere where it goes"
    )
    func bounded() async throws {
        let (runner, link) = try await attached()
        var runs: [Task<String, Never>] = []
        for number in 1...4 as ClosedRange<Int64> {
            var request = request(number)
            request.offer = Array(repeating: 0, count: 60 * 1024)
            runs.append(begin(runner, request))
            try await eventually("it waits") { runner.isWaited(for: number) }
            await script.flush()
        }
        #expect(link.offered == [1, 2])
        await link.say(.ready(run: 2))
        #expect(link.told == [2])
        #expect(link.offered == [1, 2, 3])
        await link.say(.declined(run: 1, .forNow, reason: "why"))
        #expect(link.offered == [1, 2, 3, 4])
        await link.say(.scriptedEnd(of: 2, status: 0))
        await link.lose("gone")
        #expect(await runs[0].value == #"notBegun("\'b\': why")"#)
        #expect(await runs[1].value == "\(RunOutcome.exited(0))")
        for run in runs[2...] { #expect(await run.value == #"notBegun("\'b\' has gone")"#) }
        await runner.detach()
    }

    @Test("This node's own runner that says what only agents say speaks out of turn")
    func ownRunner() async throws {
        let (runner, changes) = try await script.attached()
        await (try await script.connection(0)).say(.ready(run: 7))
        #expect(changes.all == [#"away("it speaks out of turn")"#])
        await runner.detach()
    }
}

extension ProgramRunner {
    func isWaited(for run: Int64) -> Bool {
        state.withLock { $0.entries[run]?.done != nil }
    }

    func beginnerCount(of run: Int64) -> Int {
        state.withLock { $0.entries[run]?.beginners.count ?? 0 }
    }
}

extension ScriptedLink {
    /// What the node was offered, told to begin, and told not to begin.
    var offered: [Int64] {
        orders.compactMap { if case .offer(let run, _) = $0 { run } else { nil } }
    }
    var told: [Int64] {
        orders.compactMap { if case .go(let run, _) = $0 { run } else { nil } }
    }
    var withdrawn: [Int64] {
        orders.compactMap { if case .withdraw(let run) = $0 { run } else { nil } }
    }
}
