// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerControl

@testable import TimerD

/// What answers full of tasks take of a connection.
@Suite("Connection, reserved tasks", .timeLimit(.minutes(2))) struct ReservedTasksTests {
    /// A request for tasks that may fill a page.
    private func reserve(_ id: Int) -> String {
        #"{"jsonrpc":"2.0","id":\#(id),"method":"task.reserve","#
            + #""params":{"queues":["mails"],"count":4}}"#
    }

    @Test("Tasks are reserved on a connection as there is room for all that they may say")
    func reserves() async throws {
        let (gate, begun) = (Gate(), Tally())
        try await TestSocket.with { request, _ in
            guard case .reserveTasks = request else { return .success(Echo(method: "")) }
            begun.add()
            await gate.pass()
            return .success(Echo(method: ""))
        } _: { server in
            let client = try await server.connect()
            try await client.send((0..<20).map { reserve($0) + "\n" }.joined())
            await begun.reach(3)
            // A reply to another client shows that the loop has gone on.
            try await server.roundTrip()
            #expect(begun.count == 3, "a fourth page would be above 1 MiB")
            gate.open()
            for _ in 0..<20 { #expect(await client.next() != nil) }
            #expect(begun.count == 20)
        }
    }

    @Test("What is in progress of a batch cannot take its replies beyond 16 MiB")
    func longBatchInProgress() async throws {
        let (gate, begun) = (Gate(), Tally())
        let text = String(repeating: "x", count: 262_000)
        try await TestSocket.with { _, _ in
            begun.add()
            await gate.pass()
            return .success(Echo(method: text))
        } _: { server in
            let client = try await server.connect()
            client.post("[" + (0..<100).map(reserve).joined(separator: ",") + "]\n")
            await begun.reach(3)
            gate.open()
            guard case .array(let replies) = try await client.nextValue() else {
                Issue.record("a batch is answered by an array")
                return
            }
            #expect(replies.count == 100)
            let done = replies.prefix { $0["result"] != nil }
            #expect(done.count == begun.count)
            #expect((64...65).contains(done.count), "as many as pass 16 MiB")
        }
    }

    @Test("A reservation that nobody would hear of is not carried out")
    func reserveWithoutID() async throws {
        let begun = Tally()
        try await TestSocket.with { request, _ in
            if case .reserveTasks = request { begun.add() }
            return .success(Echo(method: request.method.rawValue))
        } _: { server in
            let client = try await server.connect()
            let silent = reserve(1).replacing(#""id":1,"#, with: "")
            try await client.send(silent + "\n[" + silent + "]\n" + status(2))
            await client.expect(
                #"{"id":2,"jsonrpc":"2.0","result":{"method":"daemon.status"}}"#
            )
            #expect(begun.count == 0)
        }
    }
}
