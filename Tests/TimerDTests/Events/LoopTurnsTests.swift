// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Locks
import NIOCore
import NIOPosix
import Testing
import TimerControl

@testable import TimerD

/// What keeps the event loop for long, and those who want to be read meanwhile.
@Suite("Turns on the loop", .timeLimit(.minutes(2))) struct LoopTurnsTests {
    /// Work that does one line at a time, and has so many.
    private final class Lines: LoopWork {
        let name: String
        var count: Int
        let turn: LoopTurns.Turn
        let turns: LoopTurns
        let done: (String) -> Void

        init(
            _ name: String,
            _ count: Int,
            at turn: LoopTurns.Turn,
            _ turns: LoopTurns,
            done: @escaping (String) -> Void
        ) {
            (self.name, self.count, self.turn) = (name, count, turn)
            (self.turns, self.done) = (turns, done)
        }

        func goOn() {
            while turns.hasLeft, count > 0 {
                turns.spend()
                count -= 1
                done(name)
            }
            if count > 0 { turns.add(self, at: turn) }
        }
    }

    @Test("Those who have much to do go on in parts, users in turn, and who is gone has no turn")
    func usersInTurn() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = group.any()
        let order = Locked<[String]>([])
        let ended = Tally()
        // Held to its end: the turns hold nobody.
        let all = try await loop.submit {
            let turns = LoopTurns(loop)
            let done: (String) -> Void = { name in
                order.withLock { if $0.last != name { $0.append(name) } }
                ended.add()
            }
            turns.spend(LoopTurns.linesPerTurn)
            let all = [
                Lines("a1", 40, at: .requests(of: 1001), turns, done: done),
                Lines("a2", 20, at: .requests(of: 1001), turns, done: done),
                Lines("b1", 20, at: .requests(of: 1002), turns, done: done),
                Lines("events", 20, at: .events(of: 1001), turns, done: done),
            ]
            for work in all { work.goOn() }
            Lines("gone", 20, at: .requests(of: 1003), turns, done: done).goOn()
            return NIOLoopBound(all, eventLoop: loop)
        }.get()
        await ended.reach(100)
        #expect(
            order.withLock { $0 } == [
                "a1", "b1", "events", "a2", "b1", "events", "a1", "a2", "a1",
            ]
        )
        withExtendedLifetime(all) {}
        try await group.shutdownGracefully()
    }

    @Test("Two connections that have asked for much do not keep others from being read")
    func twoConnections() async throws {
        let (statuses, fires) = (Tally(), Tally())
        let gate = Gate()
        let before = Locked(0)
        try await TestSocket.with { request, _ in
            switch request {
            case .status: statuses.add()
            case .fireJob: fires.add()
            default: before.withLock { $0 = statuses.count + fires.count }
            }
            await gate.pass()
            return .success(Echo(method: ""))
        } _: { server in
            let clients = [try await server.connect(), try await server.connect()]
            let other = try await server.connect()
            // Connected: the loop has seen it.
            while server.socket.connectionCount < 3 { await Task.yield() }
            let fire = #"{"jsonrpc":"2.0","id":1,"method":"job.fire","params":{"id":1}}"#
            for (client, request) in zip(clients, [String(status(1).dropLast()), fire]) {
                let batch = Array(repeating: request, count: 2500).joined(separator: ",")
                client.post("[\(batch)]\n")
            }
            await statuses.reach(1)
            await fires.reach(1)
            let (isHeld, hold) = (Tally(), DispatchSemaphore(value: 0))
            server.bus.loop.execute {
                isHeld.add()
                hold.wait()
            }
            await isHeld.reach(1)
            try await other.send(#"{"jsonrpc":"2.0","id":1,"method":"job.list"}"# + "\n")
            gate.open()
            hold.signal()
            #expect(await other.next() != nil)
            #expect(before.withLock { $0 } < (Machine.isSlow ? 2500 : 1000))
            for client in clients { #expect(await client.next() != nil) }
            #expect(statuses.count + fires.count == 5000)
        }
    }

    @Test("Many events for many watchers do not keep others from being read")
    func watchers() async throws {
        let bus = Locked<EventBus?>(nil)
        let pending = Locked(0)
        let count: Int64 = 1000
        try await TestSocket.with { request, _ in
            let now = bus.withLock { $0?.pendingCount } ?? 0
            pending.withLock { $0 = now }
            return .success(Echo(method: request.method.rawValue))
        } _: { server in
            bus.withLock { $0 = server.bus }
            let other = try await server.connect()
            var watchers: [LineClient] = []
            for _ in 0..<12 {
                let client = try await server.connect()
                try await client.send(
                    #"{"jsonrpc":"2.0","id":1,"method":"events.subscribe"}"# + "\n"
                )
                #expect(await client.next() != nil)
                watchers.append(client)
            }
            let (isHeld, hold) = (Tally(), DispatchSemaphore(value: 0))
            server.bus.loop.execute {
                isHeld.add()
                hold.wait()
            }
            await isHeld.reach(1)
            for seq in 1...count { server.publish(seq) }
            try await other.send(status(1))
            hold.signal()
            #expect(await other.next() != nil)
            #expect(pending.withLock { $0 } > (Machine.isSlow ? 100 : 500))
            for client in watchers {
                for seq in 1...count {
                    #expect(try await client.nextValue()["params"]?["seq"] == .integer(seq))
                }
            }
        }
    }
}
