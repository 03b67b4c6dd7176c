// SPDX-License-Identifier: Apache-2.0

import Locks
import Schedules
import Testing
import TimerControl

@testable import TimerD

/// Tasks that were reserved for a client which cannot know of them.
@Suite("Connection, unheard tasks", .timeLimit(.minutes(2))) struct UnheardTasksTests {
    typealias Answer = Result<any Encodable & Sendable, ControlError>

    /// The numbers of the tasks that went back.
    private final class GivenBack: Sendable {
        private let fires = Locked<[Int64]>([])
        let count = Tally()

        var all: [Int64] { fires.withLock { $0.sorted() } }

        func add(_ tasks: [TaskReference]) {
            fires.withLock { $0 += tasks.map(\.fire.rawValue) }
            for _ in tasks { count.add() }
        }
    }

    private func reserve(_ id: Int, wait: String = "0s") -> String {
        #"{"jsonrpc":"2.0","id":\#(id),"method":"task.reserve","#
            + #""params":{"queues":["mails"],"count":2,"wait":"\#(wait)"}}"#
    }

    private let output =
        #"{"jsonrpc":"2.0","id":9,"method":"run.output","params":{"id":1,"wait":true}}"#

    private static func tasks(_ fires: [Int64], userInfo: JSONText? = nil) -> Answer {
        let tasks = fires.map { fire in
            var task = QueuedTask(
                fire: FireID(rawValue: fire),
                job: JobID(rawValue: 1),
                queue: "mails",
                fireDate: Timestamp(microseconds: 0),
                attempt: 1
            )
            task.token = RunID(rawValue: fire + 100)
            task.userInfo = userInfo
            return task
        }
        return .success(TasksReply(tasks: tasks))
    }

    @Test(
        "Tasks go back whose client is gone before they are reserved, and whether it waits or not",
        arguments: ["0s", "1min"]
    )
    func goneMeanwhile(wait: String) async throws {
        let (gate, begun, back) = (Gate(), Tally(), GivenBack())
        let handle: RequestHandler = { request, _ in
            guard case .reserveTasks = request else { return .success(Echo(method: "")) }
            begun.add()
            await gate.pass()
            return Self.tasks([1, 2])
        }
        try await TestSocket.with(handle: handle, takeBack: back.add) { server in
            let client = try await server.connect()
            try await client.send(reserve(1, wait: wait) + "\n")
            await begun.reach(1)
            try await client.close()
            // A reply to another client shows that the loop has gone on.
            try await server.roundTrip()
            gate.open()
            await back.count.reach(2)
            #expect(back.all == [1, 2])
        }
    }

    @Test(
        "Tasks go back whose reply has not left as a whole line, since it waits for another or is part of a batch",
        arguments: [false, true]
    )
    func behindAnother(isBatch: Bool) async throws {
        let (gate, begun, back) = (Gate(), Tally(), GivenBack())
        let handle: RequestHandler = { request, _ in
            switch request {
            case .readOutput: await gate.pass()
            case .reserveTasks:
                begun.add()
                return Self.tasks([3])
            default: break
            }
            return .success(Echo(method: ""))
        }
        try await TestSocket.with(handle: handle, takeBack: back.add) { server in
            let client = try await server.connect()
            let (first, second) = isBatch ? (reserve(1), output) : (output, reserve(1))
            try await client.send(
                isBatch ? "[\(first),\(second)]\n" : "\(first)\n\(second)\n"
            )
            await begun.reach(1)
            try await server.roundTrip()
            #expect(back.count.count == 0, "the client may still hear of it")
            try await client.close()
            await back.count.reach(1)
            #expect(back.all == [3])
            gate.open()
        }
    }

    @Test("Tasks go back whose reply the client had taken no more than a part of")
    func takenInPart() async throws {
        let (begun, back) = (Tally(), GivenBack())
        // More than a socket takes.
        let text = JSONText(.string(String(repeating: "x", count: 1 << 20)))
        let handle: RequestHandler = { request, _ in
            guard case .reserveTasks = request else { return .success(Echo(method: "")) }
            begun.add()
            return Self.tasks([4], userInfo: text)
        }
        try await TestSocket.with(handle: handle, takeBack: back.add) { server in
            let client = try await server.connect()
            try await client.setReading(false)
            try await client.send(reserve(1) + "\n")
            await begun.reach(1)
            try await server.roundTrip()
            #expect(back.count.count == 0, "the client may still take it")
            try await client.close()
            await back.count.reach(1)
            #expect(back.all == [4])
        }
    }

    @Test("Tasks stay with a client that has their reply, also one that had shut down its writing")
    func heard() async throws {
        let (gate, begun, back) = (Gate(), Tally(), GivenBack())
        let handle: RequestHandler = { request, _ in
            guard case .reserveTasks = request else { return .success(Echo(method: "")) }
            begun.add()
            await gate.pass()
            return Self.tasks([5])
        }
        try await TestSocket.with(handle: handle, takeBack: back.add) { server in
            let (whole, half) = (try await server.connect(), try await server.connect())
            for client in [whole, half] { try await client.send(reserve(1) + "\n") }
            await begun.reach(2)
            try await half.closeOutput()
            try await server.roundTrip()
            gate.open()
            for client in [whole, half] { #expect(await client.next() != nil) }
            await half.expectEnd()
            try await whole.close()
            try await server.roundTrip()
            #expect(back.count.count == 0)
        }
    }
}
