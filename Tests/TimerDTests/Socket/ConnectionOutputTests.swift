// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing
import TimerControl

@testable import TimerD

@Suite("What a connection holds") struct ConnectionOutputTests {
    @Test("A line counts whole until the socket has taken its last byte")
    func lines() {
        var output = ConnectionOutput()
        for count in [300, 100, 50] { output.add(count) }
        let kept = [450, 449, 151, 150, 149, 51, 50, 1, 0].map { rest in
            output.left(rest)
            return output.kept
        }
        #expect(kept == [450, 450, 450, 150, 150, 150, 50, 50, 0])
        #expect(output.unsent == 0)
        output.add(10)
        #expect(output.kept == 10)
    }

    @Test(
        "Of answers that are far larger than was reckoned whoever takes nothing is cut off, and who reads is told all",
        .timeLimit(.minutes(3)),
        arguments: [false, true]
    )
    func largeAnswers(isReading: Bool) async throws {
        let (gate, first) = (Gate(), Gate())
        let (begun, written) = (Tally(), Tally())
        try await TestSocket.with { request, _ in
            begun.add()
            await (request == .pauseJobs(.ids([JobID(rawValue: 1)])) ? first : gate).pass()
            return .success(LargeAnswer(written: written))
        } settings: {
            // However slow the machine is, who reads has taken something by the next look.
            if isReading { $0.patience = .hours(1) }
        } _: { server in
            let client = try await server.connect()
            try await client.setReading(isReading)
            let pauses = (1...64).map {
                #"{"jsonrpc":"2.0","id":1,"method":"job.pause","params":{"id":\#($0)}}"# + "\n"
            }
            client.post(pauses.joined())
            // None is answered before all have begun, and none is sent before all but the first are there.
            await begun.reach(64)
            gate.open()
            await written.reach(63)
            try await server.connect().close()
            first.open()
            if isReading {
                for _ in 1...64 { #expect(await client.next() != nil) }
                return
            }
            while server.socket.connectionCount > 0 {
                try Task.checkCancellation()
                await Task.yield()
            }
            withExtendedLifetime(client) {}
        }
    }

    @Test(
        "Who holds most is cut off also where all of it waits for an earlier reply, and at once where it is far too much",
        .timeLimit(.minutes(3)),
        // With the second no look ever comes.
        arguments: [(40, 20, .milliseconds(200)), (60, 40, .hours(1))] as [(Int, Int, TimeAmount)]
    )
    func earlierReply(most: Int, others: Int, patience: TimeAmount) async throws {
        let gates = [Gate(), Gate(), Gate()]
        let (begun, written) = (Tally(), Tally())
        try await TestSocket.with { request, _ in
            begun.add()
            // The job is the gate's number.
            for (number, gate) in gates.enumerated()
            where request == .pauseJobs(.ids([JobID(rawValue: Int64(number + 1))])) {
                await gate.pass()
            }
            return .success(LargeAnswer(written: written))
        } settings: {
            $0.patience = patience
        } _: { server in
            var clients: [LineClient] = []
            for (job, count) in [(2, most), (3, others)] {
                let client = try await server.connect()
                let pauses = ([1] + Array(repeating: job, count: count)).map {
                    #"{"jsonrpc":"2.0","id":1,"method":"job.pause","params":{"id":\#($0)}}"# + "\n"
                }
                client.post(pauses.joined())
                clients.append(client)
            }
            await begun.reach(most + others + 2)
            gates[1].open()
            await written.reach(most)
            try await server.connect().close()
            #expect(server.socket.connectionCount >= 2, "they hold little enough")
            gates[2].open()
            while server.socket.connectionCount > 1 {
                try Task.checkCancellation()
                await Task.yield()
            }
            gates[0].open()
            for _ in 0...others { #expect(await clients[1].next() != nil) }
            #expect(await clients[0].next() == nil)
        }
    }
}

private struct LargeAnswer: Encodable, Sendable {
    var written: Tally

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(String(repeating: "x", count: Limits.line))
        written.add()
    }
}
