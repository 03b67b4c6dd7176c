// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Schedules
import Testing
import TimerControl

@testable import TimerD

@Suite("Watching", .timeLimit(.minutes(2))) struct WatchTests {
    private func subscribe(_ parameters: String = "{}", id: Int = 1) -> String {
        #"{"jsonrpc":"2.0","id":\#(id),"method":"events.subscribe","params":\#(parameters)}"# + "\n"
    }

    private func reply(_ seq: Int64, id: Int = 1) -> String {
        #"{"id":\#(id),"jsonrpc":"2.0","result":{"seq":\#(seq)}}"#
    }

    /// The number of the event that the next line is.
    private func nextSeq(_ client: LineClient) async throws -> Int64? {
        let value = try await client.nextValue()
        #expect(value["method"] == .string("event"))
        return try value["params"]?.decoded(as: Event.self).seq
    }

    @Test("The reply comes first, then each event as it is published")
    func live() async throws {
        try await TestSocket.with(newest: 4) { server in
            let client = try await server.connect()
            try await client.send(subscribe())
            await client.expect(reply(4))
            #expect(server.bus.watcherCount == 1)
            server.publish(5)
            await client.expect(
                #"{"jsonrpc":"2.0","method":"event","params":{"at":"1970-01-01T00:00:00.000005Z","#
                    + #""job":1,"seq":5,"type":"fire.fired"}}"#
            )
            for seq in 6...300 { server.publish(Int64(seq)) }
            for seq in 6...300 { #expect(try await nextSeq(client) == Int64(seq)) }
        }
    }

    @Test("What was published before is replayed without a gap, then comes what is new")
    func replay() async throws {
        try await TestSocket.with { server in
            for seq in 1...1000 { server.publish(Int64(seq)) }
            let client = try await server.connect()
            try await client.send(subscribe(#"{"since":10}"#))
            await client.expect(reply(1000))
            for seq in 1001...1200 { server.publish(Int64(seq)) }
            for seq in 11...1200 { #expect(try await nextSeq(client) == Int64(seq)) }
        }
    }

    @Test("Events follow the reply even where that waits for others")
    func replyFirst() async throws {
        let gate = Gate()
        let started = Tally()
        try await TestSocket.with { request, _ in
            started.add()
            await gate.pass()
            return .success(Echo(method: request.method.rawValue))
        } _: { server in
            let client = try await server.connect()
            try await client.send(status(1) + "[" + subscribe(id: 2).dropLast() + "]\n" + status(3))
            await started.reach(2)
            server.publish(1)
            server.publish(2)
            gate.open()
            await client.expect(
                #"{"id":1,"jsonrpc":"2.0","result":{"method":"daemon.status"}}"#
            )
            await client.expect("[\(reply(0, id: 2))]")
            // The reply to the third request may come between the events, or around them.
            var seqs: [JSONValue?] = []
            for _ in 0..<3 {
                let value = try await client.nextValue()
                if value["id"] == nil { seqs.append(value["params"]?["seq"]) }
            }
            #expect(seqs == [.integer(1), .integer(2)])
        }
    }

    @Test("Only what was asked for is sent")
    func filters() async throws {
        try await TestSocket.with { server in
            server.publish(1, .jobAdded, job: 7)
            server.publish(2, .fireFired, job: 7)
            server.publish(3, .fireFired, job: 8)
            let client = try await server.connect()
            try await client.send(
                subscribe(#"{"since":0,"types":["fire.fired","job.added"],"jobs":[7]}"#)
            )
            await client.expect(reply(3))
            server.publish(4, .jobPaused, job: 7)
            server.publish(5, .fireFired, job: 8)
            server.publish(6, .fireFired, job: 7)
            for seq in [1, 2, 6] as [Int64] { #expect(try await nextSeq(client) == seq) }
        }
    }

    @Test("A connection subscribes once, and not from the future")
    func refusals() async throws {
        try await TestSocket.with(newest: 4) { server in
            let client = try await server.connect()
            try await client.send(subscribe(#"{"since":5}"#, id: 1))
            let future = try await client.nextValue()["error"]?.decoded(as: ControlError.self)
            #expect(future?.reason == .invalidParams)
            #expect(future?.message == "parameter 'since' is 5, but the newest event is 4")
            try await client.send(subscribe(#"{"since":4}"#, id: 2) + subscribe(id: 3))
            await client.expect(reply(4, id: 2))
            let twice = try await client.nextValue()["error"]?.decoded(as: ControlError.self)
            #expect(twice?.reason == .conflict)
            #expect(twice?.message == "this connection has subscribed; open another one")
        }
    }

    @Test("What is no longer kept is told once, then comes what is")
    func lost() async throws {
        try await TestSocket.with { server in
            for seq in 1...20 { server.publish(Int64(seq)) }
            server.log.prune(through: 15)
            let client = try await server.connect()
            try await client.send(subscribe(#"{"since":3}"#))
            await client.expect(reply(20))
            await client.expect(
                #"{"jsonrpc":"2.0","method":"events.lost","params":{"after":3,"through":15}}"#
            )
            for seq in 16...20 { #expect(try await nextSeq(client) == Int64(seq)) }

            let all = try await server.connect()
            try await all.send(subscribe(#"{"since":0}"#))
            await all.expect(reply(20))
            await all.expect(
                #"{"jsonrpc":"2.0","method":"events.lost","params":{"after":0,"through":15}}"#
            )
            #expect(try await nextSeq(all) == 16)
        }
    }

    @Test("Nothing is said within an array that is half sent: what was lost is told behind it")
    func lostWithinArray() async throws {
        let (started, gate) = (Tally(), Gate())
        try await TestSocket.with { request, _ in
            if started.add() == 2 { await gate.pass() }
            return .success(Echo(method: request.method.rawValue))
        } _: { server in
            for seq in 1...20 { server.publish(Int64(seq)) }
            server.log.prune(through: 15)
            let client = try await server.connect()
            client.post(subscribe(#"{"since":3}"#) + Self.batch)
            await client.expect(reply(20))
            // Until these are answered the page has come as well.
            for _ in 1...3 { try await server.roundTrip() }
            gate.open()
            await client.expect(Self.replies)
            await client.expect(
                #"{"jsonrpc":"2.0","method":"events.lost","params":{"after":3,"through":15}}"#
            )
            for seq in 16...20 { #expect(try await nextSeq(client) == Int64(seq)) }
        }
    }

    @Test("An error of the events ends the connection without a word where an array is half sent")
    func errorWithinArray() async throws {
        let (started, gate) = (Tally(), Gate())
        try await TestSocket.with(newest: 9) { request, _ in
            if started.add() == 2 { await gate.pass() }
            return .success(Echo(method: request.method.rawValue))
        } _: { server in
            server.log.fail(with: ControlError(.storageFailed, "disk I/O error"))
            let client = try await server.connect()
            client.post(subscribe(#"{"since":3}"#) + Self.batch)
            await client.expect(reply(9))
            await client.expectEnd()
            gate.open()
        }
    }

    @Test("An error of the events ends the connection without a word where a request has no reply")
    func errorInProgress() async throws {
        let gate = Gate()
        try await TestSocket.with(newest: 9) { request, _ in
            await gate.pass()
            return .success(Echo(method: request.method.rawValue))
        } _: { server in
            server.log.fail(with: ControlError(.storageFailed, "disk I/O error"))
            let client = try await server.connect()
            client.post(subscribe(#"{"since":3}"#) + status(2))
            await client.expect(reply(9))
            await client.expectEnd()
            gate.open()
        }
    }

    /// Two requests, of which the first is answered at once.
    private static let batch = "[" + status(2).dropLast() + "," + status(3).dropLast() + "]\n"
    private static let replies =
        #"[{"id":2,"jsonrpc":"2.0","result":{"method":"daemon.status"}},"#
        + #"{"id":3,"jsonrpc":"2.0","result":{"method":"daemon.status"}}]"#

    @Test("A database that cannot be read ends the connection with the reason")
    func sourceFails() async throws {
        try await TestSocket.with(newest: 9) { server in
            server.log.fail(with: ControlError(.storageFailed, "disk I/O error"))
            let client = try await server.connect()
            try await client.send(subscribe(#"{"since":3}"#))
            await client.expect(reply(9))
            await client.expect(
                failure(.storageFailed, "cannot read the events after 3: disk I/O error")
            )
            await client.expectEnd()
            #expect(server.bus.watcherCount == 0)
        }
    }

    @Test("A watcher that has said all it wants to say still gets events, until it goes away")
    func halfClosed() async throws {
        try await TestSocket.with { server in
            let client = try await server.connect()
            try await client.send(subscribe())
            try await client.closeOutput()
            await client.expect(reply(0))
            server.publish(1)
            #expect(try await nextSeq(client) == 1)
            try await client.close()
            while server.bus.watcherCount > 0 { await Task.yield() }
        }
    }

    @Test("A watcher that stops reading for a while misses nothing, and delays nobody")
    func slowWatcher() async throws {
        let count: Int64 = Machine.isSlow ? 4000 : 20_000
        try await TestSocket.with { server in
            let slow = try await server.connect()
            let quick = try await server.connect()
            for client in [slow, quick] {
                try await client.send(subscribe())
                await client.expect(reply(0))
            }
            try await slow.setReading(false)
            for seq in 1...count { server.publish(seq) }
            for seq in 1...count { #expect(try await nextSeq(quick) == seq) }
            try await slow.setReading(true)
            for seq in 1...count / 2 { #expect(try await nextSeq(slow) == seq) }
            server.publish(count + 1)
            for seq in count / 2 + 1...count + 1 { #expect(try await nextSeq(slow) == seq) }
            #expect(try await nextSeq(quick) == count + 1)
        }
    }

    @Test(
        "What the loop does not take up is held up to a bound, and comes from the database all the same",
        arguments: [(20_000, 0), (400, 40_000)]
    )
    func busyLoop(count: Int, size: Int) async throws {
        try await TestSocket.with { server in
            let client = try await server.connect()
            try await client.send(subscribe())
            await client.expect(reply(0))
            let (isHeld, hold) = (Tally(), DispatchSemaphore(value: 0))
            server.bus.loop.execute {
                isHeld.add()
                hold.wait()
            }
            await isHeld.reach(1)
            let info = size > 0 ? JSONText(.string(String(repeating: "x", count: size))) : nil
            for seq in 1...count {
                server.publish(Int64(seq), userInfo: info)
                #expect(server.bus.pendingCount <= (size > 0 ? 110 : EventBus.ringCapacity))
            }
            hold.signal()
            for seq in 1...count { #expect(try await nextSeq(client) == Int64(seq)) }
        }
    }

    @Test("With nobody watching the newest number is known all the same")
    func nobody() async throws {
        try await TestSocket.with(newest: 3) { server in
            #expect(server.bus.newest == 3)
            for seq in 4...9 { server.publish(Int64(seq)) }
            #expect(server.bus.newest == 9)
            #expect(server.bus.watcherCount == 0)
        }
    }

    @Test("Watchers that come and go while events are published see no gap and no repeat")
    func churn() async throws {
        try await TestSocket.with { server in
            let publisher = Task {
                for seq in 1...20_000 as ClosedRange<Int64> {
                    server.publish(seq)
                    if seq % 64 == 0 { await Task.yield() }
                }
            }
            try await withThrowingTaskGroup { group in
                for watcher in 0..<8 {
                    group.addTask {
                        for round in 0..<5 {
                            let client = try await server.connect()
                            let isNew = (watcher + round) % 2 == 0
                            try await client.send(subscribe(isNew ? "{}" : #"{"since":0}"#))
                            let newest = try await client.nextValue()["result"]?["seq"]
                            guard case .integer(let newest)? = newest, newest < 19_000 else {
                                return try await client.close()
                            }
                            let first = isNew ? newest + 1 : 1
                            for seq in first..<first + 500 {
                                #expect(try await nextSeq(client) == seq)
                            }
                            try await client.close()
                        }
                    }
                }
                try await group.waitForAll()
            }
            await publisher.value
        }
    }
}
