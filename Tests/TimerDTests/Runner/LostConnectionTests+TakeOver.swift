// SPDX-License-Identifier: Apache-2.0

import JobModel
import Testing
import TimerControl

@testable import Runner
@testable import TimerD

/// A node's own runner, as the node begins to lead.
extension LostConnectionTests {
    @Test(
        "At a take-over a runner that says nothing is waited for less; the next look for it is as patient as any"
    )
    func silentAtTakeOver() async throws {
        let runner = ProgramRunner(on: script, firstPatience: .seconds(3)) { 5_000_000 }
        let changes = ScriptedRunner.Changes()
        async let attached = runner.attach { changes.note($0) }
        let first = try await script.connection(0)
        await script.flush()
        #expect(script.pauses == [.seconds(3)])
        await script.pass()
        #expect(try await attached.isUnheard)
        #expect(changes.all == [#"away("it has not answered within 3 s")"#])
        runner.expect(7, at: RunPlace(node: nil, runner: 1))
        async let goesOn = runner.takeUp(request(7, epoch: 1)) { _ in }
        await script.pass()
        let second = try await script.connection(1)
        await script.flush()
        #expect(script.pauses == [.seconds(10)])
        await second.greet(epoch: 1, knowing: [7: .scripted()])
        await second.say(.scriptedEnd(of: 7, status: 4))
        #expect(try await goesOn.outcome == .exited(4))
        // It is the one that was begun before.
        #expect(first.started.isEmpty && second.started.isEmpty)
        await runner.detach()
    }

    @Test(
        "It is waited for as long as a third of the lease, but for two seconds at least",
        arguments: [(1500, 2000), (6000, 2000), (12_000, 4000), (60_000, 10_000)]
    )
    func patience(lease: Int, patience: Int) {
        #expect(
            Lead.patienceWithRunner(ofLease: .milliseconds(lease)) == .milliseconds(patience)
        )
    }
}
