// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Testing
import TimerControl

@testable import TimerD

@Suite("Long lines", .timeLimit(.minutes(3))) struct LongLineTests {
    /// A request that blanks make a long line.
    private func long(_ id: Int, _ blanks: Int) -> String {
        status(id).dropLast() + String(repeating: " ", count: blanks) + "\n"
    }

    /// Between two pieces that one look at the socket finds, the line waits for room for its rest, and then for a place to be
    /// read: the gate gave that place to nobody, and no other was left.
    @Test("A long line that comes whole, where there is no room for the rest of one, has its turn")
    func whole() async throws {
        let (asked, loopIsHeld) = (Tally(), Tally())
        let hold = DispatchSemaphore(value: 0)
        try await TestSocket.with { request, _ in
            if case .status = request, asked.add() == 7 {
                loopIsHeld.add()
                wait(for: hold)
            }
            return .success(Echo(method: ""))
        } _: { server in
            let client = try await server.connect()
            // The longer what comes is, the more is read at a time.
            for id in 1...6 {
                try await client.send(long(id, 60_000))
                #expect(await client.next() != nil)
            }
            var others: [LineClient] = []
            for _ in 1...8 {
                let other = try await server.connect()
                try await other.send(String(repeating: " ", count: 20_000))
                others.append(other)
            }
            for _ in 0..<10 { try await server.roundTrip() }
            let next = try await server.connect()
            next.post(status(7))
            await loopIsHeld.reach(1)
            try await client.send(long(8, 100_000))
            hold.signal()
            #expect(await next.next() != nil)
            for other in others { try await other.close() }
            #expect(await client.next() != nil)
            try await next.send(long(9, 100_000))
            #expect(await next.next() != nil, "the place is free again")
        }
    }
}

/// Blocks the thread, which is the loop's, as no handler should.
private func wait(for semaphore: DispatchSemaphore) { semaphore.wait() }
