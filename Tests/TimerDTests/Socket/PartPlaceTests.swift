// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerControl

@testable import TimerD

/// Requests that wait for something, and take a place only as they are at work.
@Suite("Places of requests that wait", .timeLimit(.minutes(3))) struct PartPlaceTests {
    @Test("Few that have waited for output are told at once, and whoever goes away leaves its turn")
    func parts() async throws {
        let (gate, asked, begun) = (Gate(), Tally(), Tally())
        try await TestSocket.with { request, peer in
            if let place = peer.place {
                asked.add()
                // try?: whoever is cancelled has no place, and nobody reads the answer.
                guard (try? await place.take()) != nil else {
                    return .success(Echo(method: ""))
                }
                begun.add()
                await gate.pass()
            }
            return .success(Echo(method: request.method.rawValue))
        } _: { server in
            let read =
                #"{"jsonrpc":"2.0","id":1,"method":"run.output","params":{"id":1,"wait":true}}"#
                + "\n"
            var clients: [LineClient] = []
            for _ in 0..<5 {
                let client = try await server.connect()
                try await client.send(read)
                clients.append(client)
            }
            await asked.reach(5)
            await begun.reach(2)
            try await server.askStatus()
            // The daemon's own user has a place more than the one.
            #expect(begun.count == 2)
            try await clients[4].close()
            gate.open()
            for client in clients.dropLast() { #expect(await client.next() != nil) }
            // All places have come back.
            for _ in 0..<3 {
                let client = try await server.connect()
                try await client.send(read)
                #expect(await client.next() != nil)
            }
        }
    }
}
