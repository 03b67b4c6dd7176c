// SPDX-License-Identifier: Apache-2.0

import Locks
import Logging
import Schedules
import ServiceLifecycle
import Testing

@testable import TimerWeb

/// The page on a free port, for as long as `body` takes.
struct TestServer {
    let port: Int
    /// Its own name and port.
    let host: String
    let client: RawClient
    let cookie: String
    /// Of its forms.
    let key: String
    /// Has it stop, as SIGTERM does.
    let stop: @Sendable () async -> Void

    static func run(
        socket: String = "/nonexistent/timerd.sock",
        zone: Zone = .utc,
        patience: Duration = .seconds(10),
        _ body: (TestServer) async throws -> Void
    ) async throws {
        let (addresses, told) = AsyncStream<String>.makeStream()
        var options = WebOptions(socket: socket, listening: .port(0), zone: zone)
        options.patience = patience
        let server = WebServer(
            options,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            onReady: { told.yield($0) }
        )
        let group = ServiceGroup(
            services: [server],
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            var iterator = addresses.makeAsyncIterator()
            let address = try #require(await iterator.next())
            let host = String(address.dropFirst("http://".count).prefix { $0 != "/" })
            let port = try #require(Int(host.drop { $0 != ":" }.dropFirst()))
            let client = RawClient(port: port, host: host)
            let path = String(address.drop { $0 != "?" })
            let welcome = try await client.get("/\(path)")
            try #require(welcome.status == 303)
            let cookie = try #require(welcome.field("Set-Cookie")?.split(separator: ";").first)
            let test = TestServer(
                port: port,
                host: host,
                client: client,
                cookie: String(cookie),
                key: try #require(server.site.withLock { $0?.access.form.text }),
                stop: { await group.triggerGracefulShutdown() }
            )
            do {
                try await body(test)
            } catch {
                await group.triggerGracefulShutdown()
                throw error
            }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
    }

    func get(_ path: String) async throws -> RawClient.Reply {
        try await client.get(path, cookie: cookie)
    }

    /// Sends a form with the key that a page has.
    func post(_ path: String, _ fields: String) async throws -> RawClient.Reply {
        let key = try #require(try await get("/add").hidden("csrf"))
        return try await client.post(path, "csrf=\(key)&\(fields)", cookie: cookie)
    }

    /// Sends a form, and gets the page that it leads to.
    func follow(_ path: String, _ fields: String = "") async throws -> RawClient.Reply {
        let reply = try await post(path, fields)
        let location = try #require(
            reply.field("Location"),
            "answered \(reply.status): \(reply.body)"
        )
        return try await get(location)
    }
}
