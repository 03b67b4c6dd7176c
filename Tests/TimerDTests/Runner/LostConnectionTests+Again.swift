// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Runner

/// Connections that are lost again and again.
extension LostConnectionTests {
    @Test("A runner that dies again and again is looked for after some seconds each time, at most")
    func diesAgain() async throws {
        let (runner, _) = try await script.attached()
        var longest = Duration.zero
        for number in 0..<12 {
            let link = try await script.connection(number)
            if number > 0 { await link.greet(epoch: Int64(number + 1)) }
            // It does not live long enough to count as one that stays.
            _ = script.takeLater()
            await link.lose()
            guard script.connections == number + 1 else { continue }
            longest = max(longest, script.pauses.max() ?? .zero)
            await script.pass(script.takeLater())
        }
        #expect(longest == .seconds(5))
        await runner.detach()
    }

    @Test(
        "Connections that end again and again, each soon, are not made again at once; one that stays is forgiven all"
    )
    func endAgain() async throws {
        let (runner, changes) = try await script.attached()
        for number in 0..<3 {
            try await script.connection(number).lose("why")
            try await script.connection(number + 1).greet(epoch: 1)
        }
        try await script.connection(3).lose("why")
        #expect(changes.all.last == #"away("why")"#)
        await script.flush()
        #expect(script.connections == 4)
        // Time passes until the next try, and until that has been there for long.
        await script.pass()
        try await script.connection(4).greet(epoch: 1)
        await script.pass()
        try await script.connection(4).lose("why")
        try await script.connection(5).greet(epoch: 1)
        #expect(changes.all.last == "back(epoch: 1, lastRun: nil)")
        await runner.detach()
    }

    @Test("Whoever has a run ended again hears what came of it from the connection that says it")
    func endedAgain() async throws {
        let (runner, _) = try await script.attached(knowing: [7: .scripted(), 8: .scripted()])
        let first = try await script.connection(0)
        async let refused = runner.endAgain(7, by: .standard, asDaemon: false)
        async let unknown = runner.endAgain(8, by: .standard, asDaemon: false)
        try await eventually("both are ordered") { first.ended.sorted() == [7, 8] }
        await first.lose()
        let second = try await script.connection(1)
        await second.greet(epoch: 1, knowing: [7: .scripted(), 8: .scripted()])
        #expect(second.ended.sorted() == [7, 8])
        await second.say(.signalled(run: 7, answer: .refused))
        #expect(await refused == .refused)
        // Nobody says what came of the other one.
        await runner.detach()
        #expect(await unknown == .gone)
    }
}
