// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOEmbedded
import Testing

@testable import TimerWeb

/// What becomes of a page that is being made when nobody waits for it any more.
@Suite struct DepartureTests {
    /// What a test waits with for a daemon that answers nobody: for ever.
    private let patience = Duration.seconds(3600)

    @Test(
        "A browser that has gone, or sends no more, ends what is made for it",
        .timeLimit(.minutes(2)),
        arguments: [true, false]
    )
    func over(_ isBefore: Bool) async throws {
        let channel = NIOAsyncTestingChannel()
        let departure = Departure()
        try await channel.pipeline.addHandler(departure)
        if isBefore { try await end(channel) }
        let (begun, told) = AsyncStream<Void>.makeStream()
        async let outcome = departure.cancelling {
            told.yield()
            // try?: that it ends is what counts.
            try? await Task.sleep(for: .seconds(3600))
            return Task.isCancelled
        }
        for await _ in begun { break }
        if !isBefore { try await end(channel) }
        let isCancelled = await outcome
        #expect(isCancelled)
    }

    private func end(_ channel: NIOAsyncTestingChannel) async throws {
        try await channel.testingEventLoop.executeInContext {
            channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        }
    }

    @Test(
        "What a browser waits for no more is not asked of the daemon any more",
        .timeLimit(.minutes(2)),
        arguments: [nil, "/add", "/jobs/1/change"] as [String?]
    )
    func gone(_ form: String?) async throws {
        try await SilentDaemon.run { path, all in
            try await TestServer.run(socket: path, patience: patience) { server in
                let bytes = form.map { preview(server, $0) } ?? request(server, "/jobs")
                let client = server.client
                let asking = Task { try await client.connected(bytes) { _ in true } }
                var told = all.makeAsyncIterator()
                let first = await told.next()
                asking.cancel()
                let second = await told.next()
                #expect([first, second] == [.opened, .closed])
            }
        }
    }

    @Test(
        "A page that is still being made does not keep the program from its end",
        .timeLimit(.minutes(2)),
        arguments: ["/jobs", "/runs/1/output.txt"]
    )
    func stop(_ page: String) async throws {
        try await SilentDaemon.run { path, all in
            try await TestServer.run(socket: path, patience: patience) { server in
                let (client, head) = (server.client, request(server, page))
                async let answer = client.exchange(head)
                var told = all.makeAsyncIterator()
                let first = await told.next()
                #expect(first == .opened)
                await server.stop()
                let status = RawClient.Reply(try await answer).status
                #expect(status == 503)
            }
        }
    }

    /// What a form asks for while one types.
    private func preview(_ server: TestServer, _ path: String) -> String {
        let body = "csrf=\(server.key)&do=preview"
        return "POST \(path) HTTP/1.1\r\nHost: \(server.host)\r\nCookie: \(server.cookie)\r\n"
            + "Origin: http://\(server.host)\r\nContent-Type: application/x-www-form-urlencoded\r\n"
            + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    private func request(_ server: TestServer, _ path: String) -> String {
        "GET \(path) HTTP/1.1\r\nHost: \(server.host)\r\nCookie: \(server.cookie)\r\n\r\n"
    }
}
