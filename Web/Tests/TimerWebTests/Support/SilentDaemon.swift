// SPDX-License-Identifier: Apache-2.0

import Glibc
import NIOCore
import NIOPosix
import Testing

/// A daemon that lets everybody connect, and answers nobody.
enum SilentDaemon {
    /// What becomes of the connections to it.
    enum Told: Equatable, Sendable {
        case opened, closed
    }

    /// Listens for as long as `body` takes, which is handed the path of its socket.
    static func run(
        _ body: (String, AsyncStream<Told>) async throws -> Void
    ) async throws {
        var path = Array("/tmp/timerd-web-test-XXXXXX".utf8CString)
        try #require(mkdtemp(&path) != nil)
        let folder = String(decoding: path.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        let socket = "\(folder)/s"
        defer {
            unlink(socket)
            rmdir(folder)
        }
        let (all, told) = AsyncStream<Told>.makeStream()
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                told.yield(.opened)
                channel.closeFuture.whenComplete { _ in told.yield(.closed) }
                return channel.eventLoop.makeSucceededVoidFuture()
            }
            .bind(unixDomainSocketPath: socket).get()
        do {
            try await body(socket, all)
        } catch {
            try await listener.close()
            throw error
        }
        try await listener.close()
    }
}
