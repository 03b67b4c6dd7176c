// SPDX-License-Identifier: Apache-2.0

import Locks
import Testing

@testable import Runner
@testable import TimerD

/// What is known of a run that this host's runner was told to begin: the other end of the connection is a test.
@Suite("Begins of runs on this host", .timeLimit(.minutes(3))) struct OwnBeginTests {
    private let script = ScriptedRunner()

    @Test(
        "Whether it has begun is known once it has; a runner that hangs is not waited for without end",
        arguments: [true, false]
    )
    func known(hangs: Bool) async throws {
        let (runner, _) = try await script.attached()
        let link = try await script.connection(0)
        var request = TestRunner.script("exit 0")
        request.run = 7
        await runner.awaitBegins(of: [7], whereOffered: true)
        let run = Task { [request] in try await runner.run(request) { _ in } }
        try await eventually("it is ordered") { link.started == [7] }
        let isKnown = Locked(false)
        let waiting = Task {
            await runner.awaitBegins(of: [7], whereOffered: true)
            isKnown.withLock { $0 = true }
        }
        try await eventually("it is waited for") { runner.beginnerCount(of: 7) == 1 }
        #expect(!isKnown.withLock { $0 })
        if hangs { await script.pass() } else { await link.say(.started(run: 7, .scripted())) }
        await waiting.value
        // By now nobody waits for it.
        await runner.awaitBegins(of: [7], whereOffered: true)
        if hangs { await link.say(.started(run: 7, .scripted())) }
        await link.say(.scriptedEnd(of: 7, status: 0))
        #expect(try await run.value.outcome == .exited(0))
        await runner.detach()
    }

    @Test("Many runs of a runner that hangs are waited for no longer than one")
    func together() async throws {
        let (runner, _) = try await script.attached()
        let link = try await script.connection(0)
        let numbers = Array(Int64(1)...20)
        let runs = numbers.map { number in
            var request = TestRunner.script("exit 0")
            request.run = number
            return Task { [request] in try await runner.run(request) { _ in } }
        }
        try await eventually("all are ordered") { link.started.count == numbers.count }
        let waiting = Task { await runner.awaitBegins(of: numbers, whereOffered: false) }
        try await eventually("the first is waited for") {
            numbers.contains { runner.beginnerCount(of: $0) == 1 }
        }
        await script.pass()
        await waiting.value
        for number in numbers {
            await link.say(.started(run: number, .scripted()), .scriptedEnd(of: number, status: 0))
        }
        for run in runs { #expect(try await run.value.outcome == .exited(0)) }
        await runner.detach()
    }
}
