// SPDX-License-Identifier: Apache-2.0

import Glibc
import HummingbirdCore
import Locks
public import Logging
import NIOCore
import NIOPosix
public import ServiceLifecycle

/// Serves the page until it is told to stop.
public final class WebServer: Service {
    private let options: WebOptions
    private let logger: Logger
    private let onReady: @Sendable (String) -> Void
    /// Known once the port is.
    let site = Locked<Site?>(nil)

    /// `onReady` is called with the page's address once it can be asked for.
    public init(
        _ options: WebOptions,
        logger: Logger,
        onReady: @escaping @Sendable (String) -> Void
    ) {
        (self.options, self.logger, self.onReady) = (options, logger, onReady)
    }

    /// - Throws: `WebError` where it cannot listen.
    public func run() async throws {
        switch options.listening {
        case .socket(let path, _, _):
            try ListeningSocket.prepare(path)
            do {
                try await serve(at: .unixDomainSocket(path: path))
            } catch let error as IOError {
                throw ListeningSocket.refusal(error, options.listening)
            }
        case .port(let port): try await serve(at: port)
        }
        if let error = failure.withLock({ $0 }) { throw error }
    }

    /// Listens on a port of 127.0.0.1, and keeps others off the same one of ::1.
    private func serve(at port: Int) async throws {
        var tries = 16
        while true {
            let other = try OtherLoopback(port)
            defer { other.close() }
            do {
                return try await serve(at: .hostname("127.0.0.1", port: other.port))
            } catch let error as IOError
                where error.errnoCode == EADDRINUSE && port == 0 && tries > 0
            {
                // Free on ::1, and not here: another one.
                tries -= 1
            } catch let error as IOError {
                throw ListeningSocket.refusal(error, options.listening)
            }
        }
    }

    private func serve(at address: BindAddress) async throws {
        let most = try Descriptors.raise(for: WebLimits.connections)
        // Fewer, as no connection is accepted at the limit, and so none would make room.
        let connections = Connections(most: most - max(2, most / 16))
        let server = try builder(connections).buildServer(
            configuration: ServerConfiguration(
                address: address,
                availableConnectionsDelegate: .maximum(most, logger: logger)
            ),
            eventLoopGroup: MultiThreadedEventLoopGroup.currentEventLoop
                ?? MultiThreadedEventLoopGroup.singleton,
            logger: logger,
            responder: { request, writer, channel in
                // Requests are taken once `onServerRunning` is over.
                guard let site = self.site.withLock({ $0 }) else { throw CancellationError() }
                try await Responder(site: site, connections: connections, channel: channel)
                    .answer(request, writer)
            },
            onServerRunning: { self.begin($0) }
        )
        try await server.run()
    }

    private let failure = Locked<WebError?>(nil)

    private func builder(_ connections: Connections) -> HTTPServerBuilder {
        .http1(
            configuration: HTTP1Channel.Configuration(
                additionalChannelHandlers: [
                    Connections.Entry(connections), SecurityHeaders(), RequestDeadline(),
                    Departure(), RequestHead.Installer(),
                ],
                idleTimeout: WebLimits.idle,
                httpDecoderConfiguration: .init(
                    maxHeaderFieldSize: WebLimits.head,
                    maxHeaderListSize: WebLimits.head,
                    maxHeaderFieldCount: 100
                )
            )
        )
    }

    /// It listens, and takes no request before this is over.
    private func begin(_ channel: any Channel) {
        let access: Access
        switch options.listening {
        case .port:
            access = Access(way: .loopback(port: channel.localAddress?.port ?? 0))
        case .socket(let path, let origin, let group):
            do throws(WebError) {
                try ListeningSocket.open(path, to: group)
            } catch {
                failure.withLock { $0 = error }
                channel.close(promise: nil)
                return
            }
            access = Access(way: .proxy(origin: origin))
        }
        let site = Site(access: access, options: options)
        self.site.withLock { $0 = site }
        onReady(access.address)
    }
}
