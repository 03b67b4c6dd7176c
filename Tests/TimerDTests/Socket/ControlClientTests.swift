// SPDX-License-Identifier: Apache-2.0

import Glibc
import JobModel
import NIOCore
import NIOPosix
import Platform
import Schedules
import Testing

@testable import TimerControl
@testable import TimerD

@Suite("ControlClient", .timeLimit(.minutes(2))) struct ControlClientTests {
    @Test("Many calls at once share a connection, and each gets its own reply")
    func concurrentCalls() async throws {
        try await TestSocket.with { request, _ in
            guard case .getRun(let run) = request else { return .success(Echo(method: "")) }
            // Some suspend and some do not.
            if run.id.rawValue % 3 == 0 { await Task.yield() }
            return .success(Echo(method: "\(run.id)"))
        } _: { server in
            let client = try await ControlClient.connect(to: server.path)
            try await withThrowingTaskGroup { group in
                for number in 1...1000 as ClosedRange<Int64> {
                    group.addTask {
                        let request = Request.getRun(RunReference(id: RunID(rawValue: number)))
                        let echo = try await client.call(request, as: Echo.self)
                        #expect(echo.method == "\(number)")
                    }
                }
                try await group.waitForAll()
            }
            await client.close()
        }
    }

    @Test("Where as many wait to be accepted as the system lets, connecting takes a moment longer")
    func fullQueue() async throws {
        let folder = try TemporaryFolder()
        let socket = try SocketFile.listen(at: folder.file("s"))
        defer { close(socket.descriptor) }
        // Room for one who is not accepted yet.
        #expect(listen(socket.descriptor, 0) == 0)
        let first = try #require(SilentPeer(socket.path))
        defer { first.close() }
        let isTurnedAway = Latch()
        async let client = ControlClient.connect(
            to: socket.path,
            group: MultiThreadedEventLoopGroup.singleton
        ) { isTurnedAway.open() }
        await isTurnedAway.wait()
        let accepted = accept(socket.descriptor, nil, nil)
        #expect(accepted >= 0)
        try await client.close()
        close(accepted)
    }

    @Test("A refusal is thrown as the error that it is, and the connection goes on")
    func refusal() async throws {
        let error = ControlError(.notFound, "there is no job 7")
        try await TestSocket.with { request, _ in
            if case .status = request { return .success(Echo(method: "x")) }
            return .failure(error)
        } _: { server in
            let client = try await ControlClient.connect(to: server.path)
            await #expect(throws: error) { try await client.job(.id(JobID(rawValue: 7))) }
            #expect(try await client.call(.status, as: Echo.self).method == "x")
            #expect(try await client.call(.status, as: JSONValue.self)["method"] == .string("x"))
            await client.close()
        }
    }

    @Test("A reply of another shape is told with the place that does not fit")
    func badReply() async throws {
        try await TestSocket.with { server in
            let client = try await ControlClient.connect(to: server.path)
            let error = await #expect(throws: ClientError.self) { try await client.status() }
            #expect(error?.reason == .badReply)
            #expect(error?.message.hasSuffix("cannot be read: 'version' is missing") == true)
            await client.close()
        }
    }

    @Test(
        "Where no daemon listens, the error names the path",
        arguments: ["none", "stale", "long"]
    )
    func noDaemon(kind: String) async throws {
        let folder = try TemporaryFolder()
        var path = folder.file("timerd.sock")
        switch kind {
        case "stale": close(try SocketFile.listen(at: path).descriptor)
        case "long": path = folder.file(String(repeating: "x", count: 200))
        default: break
        }
        let error = await #expect(throws: ClientError.self) {
            try await ControlClient.connect(to: path)
        }
        #expect(error?.reason == .noDaemon)
        #expect(error?.message.contains("'\(path)'") == true)
    }

    @Test("A client that may not come in is told why at its first call")
    func notAdmitted() async throws {
        // Root is always admitted, so the place that is missing is one of too many.
        let settings: (inout ControlSocket.Settings) -> Void = { $0.maxConnections = 0 }
        try await TestSocket.with(settings: settings) { server in
            let client = try await ControlClient.connect(to: server.path)
            for _ in 0..<3 {
                let error = await #expect(throws: ControlError.self) { try await client.status() }
                #expect(error?.message == "0 connections are open; maxConnections is 0")
            }
            await client.close()
        }
    }

    @Test("A daemon that refuses and closes before the client has looked is told in its own words")
    func refusedAtOnce() async throws {
        let folder = try TemporaryFolder()
        let rounds = 300
        let socket = try SocketFile.listen(at: folder.file("s"))
        defer { close(socket.descriptor) }
        // The thread below waits in accept(2).
        #expect(fcntl(socket.descriptor, F_SETFL, 0) == 0)
        let refusal = ControlError(.notPermitted, "uid 1 may not use this daemon")
        let line = Array(
            #"{"jsonrpc":"2.0","id":null,"error":{"code":\#(refusal.reason.code),"message":"\#(refusal.message)","data":{"reason":"\#(refusal.reason.rawValue)"}}}"#
                .utf8
        )
        try SystemThread.start(named: "refuser") { [descriptor = socket.descriptor] in
            for _ in 1...rounds {
                let peer = accept(descriptor, nil, nil)
                _ = write(peer, line + [10], line.count + 1)
                close(peer)
            }
        }
        for _ in 1...rounds {
            let client = try await ControlClient.connect(to: socket.path)
            let error = await #expect(throws: ControlError.self) { try await client.status() }
            #expect(error == refusal)
            await #expect(throws: refusal) { for try await _ in client.events {} }
        }
    }

    @Test("A daemon that goes away in the middle of a call is told as that")
    func daemonGoesAway() async throws {
        let daemon = try await FakeDaemon.start { _, context in context.close(promise: nil) }
        let client = try await ControlClient.connect(to: daemon.path)
        for _ in 0..<2 {
            let error = await #expect(throws: ClientError.self) { try await client.status() }
            #expect(error?.reason == .disconnected)
            #expect(error?.message.contains("'\(daemon.path)'") == true)
        }
        let stream = await #expect(throws: ClientError.self) {
            for try await _ in client.events {}
        }
        #expect(stream?.reason == .disconnected)
        await client.close()
        try await daemon.stop()
    }

    @Test("Notifications, events and members that are not known are passed over")
    func unknownLines() async throws {
        let daemon = try await FakeDaemon.start { line, context in
            let id = (try? JSONValue(parsing: line))?["id"]?.jsonText ?? "null"
            let text = """
                {"jsonrpc":"2.0","method":"weather","params":{}}
                {"jsonrpc":"2.0","method":"event","params":{"type":"moon.rose","seq":1}}
                {"extra":[1],"jsonrpc":"2.0","id":\(id),"result":{"method":"y","new":true}}

                """
            context.writeAndFlush(NIOAny(ByteBuffer(string: text)), promise: nil)
        }
        let client = try await ControlClient.connect(to: daemon.path)
        #expect(try await client.call(.status, as: Echo.self) == Echo(method: "y"))
        await client.close()
        try await daemon.stop()
    }

    @Test(
        "A daemon that says what is no reply to what was asked ends the connection with a word about it",
        arguments: [
            "220 ready", #"{"jsonrpc":"2.0","id":999,"result":{}}"#,
            #"{"jsonrpc":"2.0","id":"1","result":{}}"#, #"{"jsonrpc":"2.0","id":1}"#,
        ]
    )
    func nonsense(line: String) async throws {
        let daemon = try await FakeDaemon.start { _, context in
            context.writeAndFlush(NIOAny(ByteBuffer(string: line + "\n")), promise: nil)
        }
        let client = try await ControlClient.connect(to: daemon.path)
        let error = await #expect(throws: ClientError.self) { try await client.status() }
        #expect(error?.reason == .badReply)
        await client.close()
        try await daemon.stop()
    }

    @Test("A call ends when its task is cancelled, and others go on")
    func cancellation() async throws {
        let gate = Gate()
        let started = Tally()
        try await TestSocket.with { request, _ in
            if started.add() == 1 { await gate.pass() }
            return .success(Echo(method: request.method.rawValue))
        } _: { server in
            let client = try await ControlClient.connect(to: server.path)
            let call = Task { try await client.call(.status, as: Echo.self) }
            await started.reach(1)
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
            gate.open()
            #expect(try await client.call(.status, as: Echo.self).method == "daemon.status")
            await client.close()
        }
    }

    @Test("After it is closed, calls in progress and later ones say so, and events end")
    func closed() async throws {
        let gate = Gate()
        let started = Tally()
        try await TestSocket.with { _, _ in
            started.add()
            await gate.pass()
            return .success(Echo(method: ""))
        } _: { server in
            let client = try await ControlClient.connect(to: server.path)
            let call = Task { try await client.call(.status, as: Echo.self) }
            await started.reach(1)
            await client.close()
            let error = await #expect(throws: ClientError.self) { try await call.value }
            #expect(error?.reason == .closed)
            let later = await #expect(throws: ClientError.self) { try await client.status() }
            #expect(later?.reason == .closed)
            for try await _ in client.events { Issue.record("there are no events") }
            gate.open()
        }
    }

    @Test("Events come in order, and what was lost is told")
    func events() async throws {
        let lost = Tally()
        try await TestSocket.with { server in
            for seq in 1...10 { server.publish(Int64(seq)) }
            server.log.prune(through: 4)
            let client = try await ControlClient.connect(to: server.path)
            var request = Subscribe()
            request.since = 2
            let reply = try await client.subscribe(request) { gap in
                #expect(gap == EventsLost(after: 2, through: 4))
                lost.add()
            }
            #expect(reply.seq == 10)
            var events = client.events.makeAsyncIterator()
            for seq in 5...10 { #expect(try await events.next()?.seq == Int64(seq)) }
            #expect(lost.count == 1)
            server.publish(11)
            #expect(try await events.next()?.seq == 11)
            await client.close()
            #expect(try await events.next() == nil)
        }
    }

    @Test("A reader that is slower than the events gets all of them, by way of the database")
    func slowReader() async throws {
        let count: Int64 = 30_000
        try await TestSocket.with { server in
            let client = try await ControlClient.connect(to: server.path)
            try await client.subscribe()
            for seq in 1...count { server.publish(seq) }
            var expected: Int64 = 1
            for try await event in client.events {
                try #require(event.seq == expected)
                if expected == count { break }
                expected += 1
            }
            // The reader is gone, which must not keep replies from coming.
            server.publish(count + 1)
            #expect(try await client.call(.status, as: Echo.self).method == "daemon.status")
            await client.close()
        }
    }
}
