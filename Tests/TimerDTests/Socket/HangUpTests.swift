// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerControl

@testable import TimerD

/// Clients that go away while something is under way for them.
@Suite("Hang-up", .timeLimit(.minutes(2))) struct HangUpTests {
    @Test("A client that hangs up, in the middle of a line or of a request, disturbs nobody")
    func hangUp() async throws {
        let started = Tally()
        let ended = Tally()
        let gate = Gate()
        try await TestSocket.with { request, _ in
            guard case .status = request else { return .success(Echo(method: "")) }
            started.add()
            await gate.pass()
            ended.add()
            return .success(Echo(method: ""))
        } _: { server in
            let client = try await server.connect()
            try await client.send(status(1) + status(2) + #"{"jsonrpc":"2."#)
            await started.reach(2)
            try await client.close()
            try await server.roundTrip()
            gate.open()
            // What has begun is carried out, though nobody waits for it.
            await ended.reach(2)
            try await server.roundTrip()
        }
    }

    @Test("A request that waits for a run's output is given up when its client goes away")
    func waitIsGivenUp() async throws {
        let started = Tally()
        let ended = Tally()
        try await TestSocket.with { request, _ in
            started.add()
            do {
                try await Task.sleep(for: .seconds(1000))
            } catch {
                ended.add()
            }
            return .success(Echo(method: ""))
        } _: { server in
            let client = try await server.connect()
            for id in 1...2 {
                try await client.send(
                    #"{"jsonrpc":"2.0","id":\#(id),"method":"run.output","#
                        + #""params":{"id":1,"wait":true}}"# + "\n"
                )
            }
            await started.reach(2)
            #expect(ended.count == 0)
            try await client.close()
            await ended.reach(2)
        }
    }

    @Test("Requests that lie in the socket when a client goes away are read to their end")
    func sendAndGo() async throws {
        let started = Tally()
        try await TestSocket.with { _, _ in
            started.add()
            return .success(Echo(method: ""))
        } _: { server in
            let client = try await server.connect()
            client.post(status(1) + status(2))
            try await client.close()
            await started.reach(2)
        }
    }
}
