// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Locks
import Testing
import TimerControl

@testable import TimerD

@Suite("Turns of users at the socket", .timeLimit(.minutes(5))) struct RequestGateTests {
    @Test("All connections of a user together start no more than the limit, and all are answered")
    func limit() async throws {
        let gate = Gate()
        let started = Tally()
        try await TestSocket.with { request, _ in
            started.add()
            await gate.pass()
            return .success(Echo(method: request.method.rawValue))
        } settings: {
            $0.maxInFlightPerUser = 5
        } _: { server in
            var clients: [LineClient] = []
            for _ in 0..<4 {
                let client = try await server.connect()
                try await client.send((1...10).map { status($0) }.joined())
                clients.append(client)
            }
            await started.reach(5)
            // A connection made later is behind them: its bytes have been seen when it is admitted.
            while server.socket.connectionCount < 4 { await Task.yield() }
            #expect(started.count == 5)
            gate.open()
            for client in clients {
                for id in 1...10 {
                    await client.expect(
                        #"{"id":\#(id),"jsonrpc":"2.0","result":{"method":"daemon.status"}}"#
                    )
                }
            }
            #expect(started.count == 40)
        }
    }

    @Test(
        "A limit that is raised lets in what waits, and other limits hold from the next connection"
    )
    func reload() async throws {
        let gate = Gate()
        let started = Tally()
        var settings: ControlSocket.Settings?
        try await TestSocket.with { request, _ in
            started.add()
            await gate.pass()
            return .success(Echo(method: request.method.rawValue))
        } settings: {
            $0.maxInFlightPerUser = 2
            settings = $0
        } _: { server in
            let client = try await server.connect()
            try await client.send((1...4).map { status($0) }.joined())
            await started.reach(2)
            var new = try #require(settings)
            new.maxInFlightPerUser = 3
            new.maxConnections = 1
            await server.socket.reload(new)
            await started.reach(3)
            #expect(try await server.connect().next()?.contains("maxConnections is 1") == true)
            gate.open()
            for _ in 1...4 { #expect(await client.next() != nil) }
        }
    }

    @Test("Requests whose connection is gone count until they have ended, and then make room")
    func goneConnections() async throws {
        let gate = Gate()
        let started = Tally()
        try await TestSocket.with { request, _ in
            if started.add() <= 3 { await gate.pass() }
            return .success(Echo(method: request.method.rawValue))
        } settings: {
            $0.maxInFlightPerUser = 3
        } _: { server in
            let gone = try await server.connect()
            try await gone.send((1...3).map { status($0) }.joined())
            await started.reach(3)
            try await gone.close()
            while server.socket.connectionCount > 0 { await Task.yield() }
            let next = try await server.connect()
            try await next.send(status(1))
            while server.socket.connectionCount < 1 { await Task.yield() }
            #expect(started.count == 3)
            gate.open()
            await next.expect(#"{"id":1,"jsonrpc":"2.0","result":{"method":"daemon.status"}}"#)
        }
    }

    private func list(_ id: Int) -> String {
        #"{"jsonrpc":"2.0","id":\#(id),"method":"job.list","params":{"limit":1000}}"# + "\n"
    }

    @Test("A silent client's lists are read as far as there is room for them, and then no further")
    func silentClient() async throws {
        let read = Tally()
        let page = Echo(method: String(repeating: "x", count: Limits.pageBytes))
        try await TestSocket.with { request, _ in
            if case .listJobs = request { read.add() }
            return .success(page)
        } _: { server in
            let client = try await server.connect()
            try await client.setReading(false)
            try await client.send((0..<60).map(list).joined())
            await read.reach(3)
            for _ in 0..<10 { try await server.askStatus() }
            // 1 MiB is held, a page whole until its last byte has left.
            #expect(read.count < 5)
            try await client.setReading(true)
            for id in 0..<60 {
                #expect(try await client.nextValue()["id"] == .integer(Int64(id)))
            }
            #expect(read.count == 60)
        }
    }

    @Test("What is wrong is answered as far as there is room for it, and then read no further")
    func silentNonsense() async throws {
        let begun = Tally()
        try await TestSocket.with { request, _ in
            if case .fireJob = request { begun.add() }
            return .success(Echo(method: request.method.rawValue))
        } _: { server in
            let wrong = #"{"jsonrpc":"2.0","id":1,"method":"none"}"# + "\n"
            let fire = #"{"jsonrpc":"2.0","id":2,"method":"job.fire","params":{"id":1}}"# + "\n"
            let silent = try await server.connect()
            try await silent.setReading(false)
            silent.post(String(repeating: wrong, count: 3000) + fire)
            while server.socket.connectionCount < 1 { await Task.yield() }
            // Until this one has got all of its own, the other one has as well what it can get.
            let client = try await server.connect()
            try await client.send(String(repeating: wrong, count: 6000) + status(3))
            for _ in 0...6000 { #expect(await client.next() != nil) }
            #expect(begun.count == 0)
            try await silent.setReading(true)
            for _ in 0...3000 { #expect(await silent.next() != nil) }
            #expect(begun.count == 1)
        }
    }

    @Test("What a user's subscriptions hold is bounded: one more waits, and all else goes on")
    func subscriptions() async throws {
        // Each holds 1 KiB, and 16 bytes for each of 10,000 jobs.
        let most = (16 << 20) / (1024 + 160_000)
        let jobs = Array(repeating: "1", count: 10_000).joined(separator: ",")
        let subscribe =
            #"{"jsonrpc":"2.0","id":1,"method":"events.subscribe","params":{"jobs":[\#(jobs)]}}"#
            + "\n"
        try await TestSocket.with { server in
            var clients: [LineClient] = []
            for _ in 0..<most {
                let client = try await server.connect()
                client.post(subscribe)
                clients.append(client)
            }
            for client in clients { #expect(await client.next()?.contains("result") == true) }
            let next = try await server.connect()
            next.post(subscribe)
            while server.socket.connectionCount <= most { await Task.yield() }
            // A page needs more room than there is.
            for _ in 0..<10 { try await server.roundTrip() }
            #expect(server.bus.watcherCount == most)
            try await clients[0].close()
            #expect(await next.next()?.contains("result") == true)
        }
    }

    @Test("Who takes nothing while others of its user wait for that room is cut off; they go on")
    func deafClients() async throws {
        let page = Echo(method: String(repeating: "x", count: Limits.pageBytes))
        try await TestSocket.with { _, _ in
            .success(page)
        } settings: {
            $0.patience = .milliseconds(200)
        } _: { server in
            var deaf: [LineClient] = []
            for _ in 0..<40 {
                let client = try await server.connect()
                try await client.setReading(false)
                client.post((0..<8).map(list).joined())
                deaf.append(client)
            }
            let client = try await server.connect()
            try await client.send((0..<8).map(list).joined())
            for id in 0..<8 {
                #expect(try await client.nextValue()["id"] == .integer(Int64(id)))
            }
            // Those that are left hold less than the bound.
            while server.socket.connectionCount > 35 {
                try Task.checkCancellation()
                await Task.yield()
            }
            withExtendedLifetime(deaf) {}
        }
    }

    @Test("Few halves of long lines are held for a user; whoever does not end one is cut off")
    func halfLines() async throws {
        let settings: (inout ControlSocket.Settings) -> Void = { $0.patience = .milliseconds(200) }
        try await TestSocket.with(settings: settings) { server in
            var halves: [LineClient] = []
            for _ in 0..<12 {
                let client = try await server.connect()
                client.post(String(repeating: "x", count: 1_000_000))
                halves.append(client)
            }
            let client = try await server.connect()
            let blanks = String(repeating: " ", count: 500_000)
            client.post(blanks + status(1))
            await client.expect(
                #"{"id":1,"jsonrpc":"2.0","result":{"method":"daemon.status"}}"#
            )
            while server.socket.connectionCount > 9 {
                try Task.checkCancellation()
                await Task.yield()
            }
            withExtendedLifetime(halves) {}
        }
    }

    @Test("What a client asked for that has gone is not carried out, but for what it changes")
    func goneClient() async throws {
        let gate = Gate()
        let (begun, changed) = (Tally(), Tally())
        try await TestSocket.with { request, _ in
            switch request {
            case .listJobs:
                begun.add()
                await gate.pass()
            case .pauseJobs: changed.add()
            default: break
            }
            return .success(Echo(method: request.method.rawValue))
        } _: { server in
            let client = try await server.connect()
            let pause = #"{"jsonrpc":"2.0","id":1,"method":"job.pause","params":{"id":1}}"# + "\n"
            try await client.send(pause + (0..<20).map(list).joined())
            await begun.reach(2)
            try await client.close()
            while server.socket.connectionCount > 0 {
                try Task.checkCancellation()
                await Task.yield()
            }
            gate.open()
            try await server.roundTrip()
            #expect(changed.count == 1)
            // The daemon's own user has a place more than the one.
            #expect(begun.count == 3, "two had begun, and one is that of the round trip")
        }
    }

    @Test("What a preview has found is written down while the loop serves others")
    func previewReplies() async throws {
        /// Notes which thread writes it.
        struct Found: Encodable {
            let note: @Sendable () -> Void
            func encode(to encoder: any Encoder) throws {
                note()
                var container = encoder.singleValueContainer()
                try container.encode("found")
            }
        }
        let threads = Locked<[pthread_t]>([])
        let note: @Sendable () -> Void = { threads.withLock { $0.append(pthread_self()) } }
        let check: RequestChecker = { _, _ in { .success(Found(note: note)) } }
        try await TestSocket.with(check: check) { server in
            let loop = try await server.bus.loop.submit { pthread_self() }.get()
            let client = try await server.connect()
            for id in 1...10 {
                try await client.send(
                    #"{"jsonrpc":"2.0","id":\#(id),"method":"schedule.preview","#
                        + #""params":{"schedule":{"every":"1s"}}}"# + "\n"
                )
                #expect(await client.next() != nil)
            }
            let used = threads.withLock { $0 }
            #expect(used.count == 10)
            #expect(!used.contains(loop))
        }
    }

    @Test("Long lists are checked off the loop, and take effect in their place all the same")
    func longLists() async throws {
        let order = Locked<[String]>([])
        let loopIsFree = Tally()
        let gate = DispatchSemaphore(value: 0)
        let handle: RequestHandler = { request, _ in
            order.withLock { $0.append(request.method.rawValue) }
            if case .status = request { loopIsFree.add() }
            return .success(Echo(method: request.method.rawValue))
        }
        let check: RequestChecker = { request, peer in
            wait(for: gate)
            return {
                order.withLock { $0.append("checked") }
                return await handle(request, peer)
            }
        }
        try await TestSocket.with(handle: handle, check: check) { server in
            let client = try await server.connect()
            let jobs = Array(repeating: #"{"schedule":{"in":"1h"}}"#, count: 500)
            let add = #"{"jobs":[\#(jobs.joined(separator: ","))]}"#
            let pause = #"{"jsonrpc":"2.0","id":2,"method":"job.pause","params":{"id":1}}"# + "\n"
            client.post(
                #"{"jsonrpc":"2.0","id":1,"method":"job.add","params":\#(add)}"# + "\n" + pause
            )
            // The loop serves others meanwhile.
            try await server.askStatus()
            #expect(order.withLock { $0 } == ["daemon.status"])
            gate.signal()
            for _ in 0..<2 { #expect(await client.next() != nil) }
            let all = order.withLock { $0 }
            #expect(all == ["daemon.status", "checked", "job.add", "job.pause"])
        }
    }
}

/// Blocks the thread, which is not the loop's.
private func wait(for semaphore: DispatchSemaphore) { semaphore.wait() }
