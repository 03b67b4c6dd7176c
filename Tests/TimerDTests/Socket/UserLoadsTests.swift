// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerControl

@testable import TimerD

@Suite("Requests of one user", .timeLimit(.minutes(1))) struct UserLoadsTests {
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
            server.socket.reload(new)
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
}
