// SPDX-License-Identifier: Apache-2.0

import Glibc
import Logging
import NIOCore
import Schedules
import ServiceLifecycle
import Testing

@testable import TimerWeb

/// The socket for a proxy.
@Suite struct ListeningTests {
    private func server(_ path: String, _ onReady: @escaping @Sendable (String) -> Void) throws
        -> WebServer
    {
        let origin = try #require(Origin("https://timers.example.org"))
        return WebServer(
            WebOptions(
                socket: "/nonexistent/timerd.sock",
                listening: .socket(path: path, origin: origin, group: nil),
                zone: .utc
            ),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            onReady: onReady
        )
    }

    @Test("The socket is its owner's alone; one that is left behind is replaced, a live one never")
    func socket() async throws {
        let folder = try makeFolder()
        let path = "\(folder)/web.sock"
        defer {
            unlink(path)
            rmdir(folder)
        }
        // What a program that died has left.
        let left = try boundSocket(path)
        close(left)

        let (addresses, told) = AsyncStream<String>.makeStream()
        let first = try server(path) { told.yield($0) }
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let group = ServiceGroup(services: [first], logger: logger)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            var iterator = addresses.makeAsyncIterator()
            #expect(await iterator.next() == "https://timers.example.org/")
            var status = stat()
            #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
            let second = try server(path) { _ in }
            let error = await #expect(throws: WebError.self) { try await second.run() }
            #expect(error?.description.contains("another program listens at '\(path)'") == true)
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
    }

    @Test("Where it cannot be told whether anybody listens, a socket is not taken for a dead one")
    func untold() async {
        await #expect(processExitsWith: .success) {
            let folder = try makeFolder()
            let path = "\(folder)/web.sock"
            defer {
                unlink(path)
                rmdir(folder)
            }
            let live = try boundSocket(path)
            // One may wait, and who comes behind it finds no place.
            try #require(listen(live, 0) == 0)
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            let before = limit.rlim_cur
            limit.rlim_cur = 0
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            let shortage = #expect(throws: WebError.self) { try ListeningSocket.prepare(path) }
            limit.rlim_cur = before
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            #expect(
                shortage?.description
                    == "cannot tell whether another program listens at '\(path)': Too many open files"
            )
            for _ in 0..<3 {
                let error = #expect(throws: WebError.self) { try ListeningSocket.prepare(path) }
                #expect(error?.description.hasPrefix("another program listens at") == true)
            }
            close(live)
            try ListeningSocket.prepare(path)
            unlink(path)
            try ListeningSocket.prepare(path)
            // It is there, and no stream.
            let other = try boundSocket(path, SOCK_DGRAM)
            defer { close(other) }
            let error = #expect(throws: WebError.self) { try ListeningSocket.prepare(path) }
            #expect(error?.description.hasPrefix("cannot tell whether") == true)
        }
    }

    @Test("Nobody else can listen at the page's port of ::1, which browsers ask first")
    func otherLoopback() async throws {
        try await TestServer.run { server in
            let other = Glibc.socket(AF_INET6, Int32(SOCK_STREAM.rawValue), 0)
            guard other >= 0 else { return }
            defer { close(other) }
            // As a server does; it gets what nobody holds.
            var on: Int32 = 1
            setsockopt(
                other,
                SOL_SOCKET,
                SO_REUSEADDR,
                &on,
                socklen_t(MemoryLayout.size(ofValue: on))
            )
            let address = try SocketAddress(ipAddress: "::1", port: server.port)
            let result = address.withSockAddr { bind(other, $0, socklen_t($1)) }
            #expect(result == -1)
        }
    }

    @Test("A port whose other half is another program's is refused")
    func taken() async throws {
        let other = try OtherLoopback(0)
        defer { other.close() }
        // Without ::1 there is no other half.
        guard other.port > 0 else { return }
        #expect(throws: WebError.self) { try OtherLoopback(other.port) }
    }

    @Test("What is no socket is not replaced")
    func noSocket() async throws {
        let server = try server("/etc/passwd") { _ in }
        let error = await #expect(throws: WebError.self) { try await server.run() }
        #expect(error?.description.contains("is not a socket") == true)
    }
}

/// A folder of a test's own.
private func makeFolder() throws -> String {
    var template = Array("/tmp/timerd-web-test-XXXXXX".utf8CString)
    try #require(mkdtemp(&template) != nil)
    return String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
}

/// A socket at a path, on which nobody listens yet.
private func boundSocket(
    _ path: String,
    _ type: __socket_type = SOCK_STREAM
) throws -> Int32 {
    let descriptor = Glibc.socket(AF_UNIX, Int32(type.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let length = socklen_t(MemoryLayout.size(ofValue: address))
    let bound = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
    }
    try #require(bound == 0)
    return descriptor
}
