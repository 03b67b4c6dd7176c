// SPDX-License-Identifier: Apache-2.0

import Cluster
import JobModel
import Locks
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

/// Nodes that stay away, or whose runner says nothing.
extension NodeRunnerTests {
    @Test(
        "The node stays away: its run was interrupted; once it comes with it, that is ended and forgotten",
        arguments: [true, false]
    )
    func away(isStoredAhead: Bool) async throws {
        let (runner, link) = try await attached()
        let run = begin(runner, request(7))
        try await eventually("it is offered") { link.offered == [7] }
        await link.say(.ready(run: 7), .started(run: 7, .scripted()))
        await link.lose("gone")
        await script.pass()
        #expect(await run.value == "\(RunOutcome.interrupted)")
        if isStoredAhead { runner.stored(7) }
        runner.come { _ in }
        let again = try await script.connection(1)
        await again.greet(epoch: 1, knowing: [7: .scripted()])
        await script.flush()
        #expect(again.ended == [7])
        if !isStoredAhead { runner.stored(7) }
        await again.say(.scriptedEnd(of: 7, status: 0))
        await script.flush()
        #expect(again.stored == [7])
        await runner.detach()
    }

    @Test(
        "Once the node comes, what was expected keeps as much output as it began with, and passes none on again",
        arguments: [true, false]
    )
    func outputOfExpected(isTakenUpFirst: Bool) async throws {
        let terms = RemoteTerms(node: "b", absence: .seconds(5))
        let runner = ProgramRunner(on: script, remote: terms, fence: fence) { 5_000_000 }
        runner.expect(7, at: RunPlace(node: "b", runner: 1))
        let lines = Locked<[String]>([])
        let request = request(7)
        request.output.keep(2)
        request.output.echo(
            to: RunEcho { line in
                lines.withLock { $0.append(String(decoding: line.bytes, as: UTF8.self)) }
                return true
            }
        )
        var known = KnownRun.scripted()
        (known.outputKept, known.stdoutPassed) = (1 << 20, 4)
        if !isTakenUpFirst {
            runner.come { _ in }
            try await script.connection(0).greet(epoch: 1, knowing: [7: known])
        }
        let run = Task { () async throws -> RunResult in
            try await runner.takeUp(request) { _ in }
        }
        try await eventually("somebody waits for it") { runner.isWaited(for: 7) }
        if isTakenUpFirst {
            runner.come { _ in }
            try await script.connection(0).greet(epoch: 1, knowing: [7: known])
        }
        let link = try await script.connection(0)
        let bytes = Array("one\ntwo\n".utf8)
        await link.say(.output(run: 7, stream: .stdout, date: 1, position: 0, bytes: bytes[...]))
        await link.say(.scriptedEnd(of: 7, status: 0))
        #expect(try await run.value.outcome == .exited(0))
        #expect(request.output.limit == 1 << 20)
        let kept = request.output.read(after: OutputPosition(), most: .max).pieces
        #expect(kept.flatMap(\.bytes) == bytes)
        #expect(lines.withLock { $0 } == ["two"])
        await runner.detach()
    }

    @Test("Runs in progress that a node has and nobody expects are ended, and said to be")
    func unexpected() async throws {
        let terms = RemoteTerms(node: "b", absence: .seconds(5))
        let runner = ProgramRunner(on: script, remote: terms, fence: fence) { 5_000_000 }
        let changes = Locked<[String]>([])
        runner.expect(6, at: RunPlace(node: "b", runner: 1))
        runner.come { change in changes.withLock { $0.append("\(change)") } }
        let link = try await script.connection(0)
        await link.greet(
            epoch: 1,
            knowing: [6: .scripted(), 7: .scripted(), 8: .scripted(.ended)]
        )
        await script.flush()
        #expect(link.ended.contains(7) && !link.ended.contains(6))
        #expect(changes.withLock { $0.first } == "unexpected([7])")
        await runner.detach()
    }

    @Test("A node that comes and does not say what it knows is given up as one that stays away")
    func mute() async throws {
        let (runner, link) = try await attached()
        let run = begin(runner, request(7))
        try await eventually("it is offered") { link.offered == [7] }
        await link.say(.ready(run: 7), .started(run: 7, .scripted()))
        await link.lose("gone")
        let sinceThen = script.takeLater()
        runner.come { _ in }
        try await script.connection(1).lose("its runner does not answer")
        await script.pass(sinceThen)
        #expect(await run.value == "\(RunOutcome.interrupted)")
        await runner.detach()
    }

    @Test("A runner that is silent though its node is there is told; so is that the node goes")
    func silence() async throws {
        let terms = RemoteTerms(node: "b", absence: .seconds(5))
        let runner = ProgramRunner(on: script, remote: terms, fence: fence) { 5_000_000 }
        let changes = Locked<[String]>([])
        for visit in 0...1 {
            runner.come { change in changes.withLock { $0.append("\(change)") } }
            let link = try await script.connection(visit)
            await link.say(.room(4))
            await link.lose("it hangs")
        }
        await script.flush()
        let silent = [#"limit(4)"#, #"silent("it hangs")"#]
        let early = changes.withLock { $0 }
        #expect(early == silent + silent)
        // Of the first visit nothing is told, as there was another.
        await script.pass()
        let late = changes.withLock { $0 }
        #expect(late == silent + silent + [#"away("its node has gone")"#])
        await runner.detach()
    }

    @Test("A node that is there though its runner says nothing is not given up until it has gone")
    func silentRunner() async throws {
        let answers = Locked([true, true, false])
        let (runner, link) = try await attached {
            answers.withLock { $0.isEmpty ? false : $0.removeFirst() }
        }
        let run = begin(runner, request(7))
        try await eventually("it is offered") { link.offered == [7] }
        await link.say(.ready(run: 7), .started(run: 7, .scripted()))
        await link.lose("it has not answered")
        for left in [2, 1] {
            await script.pass()
            try await eventually("it is asked for") { answers.withLock(\.count) == left }
            // What the answer has it do.
            try await eventually("it is waited for again") { script.hasLater }
        }
        await script.pass()
        #expect(await run.value == "\(RunOutcome.interrupted)")
        let isGone = answers.withLock(\.isEmpty)
        #expect(isGone, "it was asked until then")
        // Nothing of it is left that somebody waits for.
        runner.come { _ in }
        let again = try await script.connection(1)
        await again.greet(epoch: 1)
        await again.lose("gone")
        answers.withLock { $0 = [true] }
        await script.pass()
        let isAsked = answers.withLock(\.isEmpty)
        #expect(!isAsked)
        await runner.detach()
    }
}
