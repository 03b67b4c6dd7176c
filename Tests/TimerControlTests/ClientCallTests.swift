// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerControl

/// Calls of a client whose daemon answers as a test has it.
@Suite("ControlClient, with a scripted daemon", .timeLimit(.minutes(1)))
struct ClientCallTests {
    private static func subscription(since: Int64) -> Subscribe {
        var request = Subscribe()
        request.since = since
        return request
    }

    @Test("A call that is cancelled just before it is sent throws, and waits for no answer")
    func cancelledBeforeItIsSent() async throws {
        let server = try ScriptedServer { _ in .silence }
        defer { server.close() }
        let client = try await ControlClient.connect(to: server.path)
        let call = Task {
            try await client.ask { id in
                _ = withUnsafeCurrentTask { $0?.cancel() }
                return Array("{\"id\":\(id),\"method\":\"daemon.status\"}".utf8)
            }
        }
        await #expect(throws: CancellationError.self) { _ = try await call.value }
        await client.close()
    }

    @Test("A connection that the daemon has ended stands no more, also before that was read")
    func ended() async throws {
        let server = try ScriptedServer { _ in .result(.null) }
        defer { server.close() }
        let client = try await ControlClient.connect(to: server.path)
        _ = try await client.call("daemon.status")
        let stood = await client.isConnected()
        server.dropConnections()
        let stands = await client.isConnected()
        #expect(stood && !stands)
        await client.close()
    }

    @Test("A line that is longer than any of a daemon's ends the connection, and is not held")
    func endlessLine() async throws {
        let server = try ScriptedServer { _ in .endlessLine(Limits.lineToClient + 1) }
        defer { server.close() }
        let client = try await ControlClient.connect(to: server.path)
        let error = await #expect(throws: ClientError.self) {
            _ = try await client.call("daemon.status")
        }
        #expect(error?.reason == .badReply)
        #expect(error?.message.hasSuffix("sent a line of more than 64 MiB") == true)
        await client.close()
    }

    @Test("A second subscription, which is refused, leaves the first what it is told of")
    func secondSubscription() async throws {
        let server = try ScriptedServer { call in
            guard call.method == "events.subscribe" else {
                return .notification(
                    "events.lost",
                    .object(["after": .integer(0), "through": .integer(3)])
                )
            }
            guard call.parameters["since"] == .integer(0) else {
                return .error(ControlError(.conflict, "this connection has subscribed already"))
            }
            return .result(.object(["seq": .integer(3)]))
        }
        defer { server.close() }
        let client = try await ControlClient.connect(to: server.path)
        let (told, tell) = AsyncStream<EventsLost?>.makeStream()
        try await client.subscribe(Self.subscription(since: 0), onEventsLost: { tell.yield($0) })
        let error = await #expect(throws: ControlError.self) {
            try await client.subscribe(
                Self.subscription(since: 1),
                onEventsLost: { _ in tell.yield(nil) }
            )
        }
        #expect(error?.reason == .conflict)
        let call = Task { try await client.call("daemon.status") }
        for await lost in told {
            #expect(lost == EventsLost(after: 0, through: 3))
            break
        }
        await client.close()
        await #expect(throws: ClientError.self) { _ = try await call.value }
    }
}
