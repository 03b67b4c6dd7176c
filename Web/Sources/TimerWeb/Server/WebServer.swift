// SPDX-License-Identifier: Apache-2.0

import HummingbirdCore
public import Logging
import NIOCore
import NIOPosix
public import ServiceLifecycle
import Synchronization

/// Serves the page until it is told to stop.
public final class WebServer: Service {
    private let options: WebOptions
    private let logger: Logger
    private let onReady: @Sendable (String) -> Void
    /// Known once the port is.
    private let site = Mutex<Site?>(nil)

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
        if case .socket(let path, _, _) = options.listening { try ListeningSocket.prepare(path) }
        let server = try builder.buildServer(
            configuration: ServerConfiguration(
                address: address,
                availableConnectionsDelegate: .maximum(
                    Descriptors.raise(for: WebLimits.connections),
                    logger: logger
                )
            ),
            eventLoopGroup: MultiThreadedEventLoopGroup.currentEventLoop
                ?? MultiThreadedEventLoopGroup.singleton,
            logger: logger,
            responder: { request, writer, channel in
                // Requests are taken once `onServerRunning` is over.
                guard let site = self.site.withLock({ $0 }) else { throw CancellationError() }
                try await Responder(site: site, channel: channel)
                    .answer(request, writer)
            },
            onServerRunning: { self.begin($0) }
        )
        do {
            try await server.run()
        } catch let error as IOError {
            throw ListeningSocket.refusal(error, options.listening)
        }
        if let error = failure.withLock({ $0 }) { throw error }
    }

    private let failure = Mutex<WebError?>(nil)

    private var builder: HTTPServerBuilder {
        .http1(
            configuration: HTTP1Channel.Configuration(
                additionalChannelHandlers: [
                    SecurityHeaders(), RequestDeadline(), TargetHost.Installer(),
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

    private var address: BindAddress {
        switch options.listening {
        case .port(let port): .hostname("127.0.0.1", port: port)
        case .socket(let path, _, _): .unixDomainSocket(path: path)
        }
    }

    /// It listens, and takes no request before this is over.
    private func begin(_ channel: any Channel) {
        let access: Access
        let text: String
        switch options.listening {
        case .port:
            let port = channel.localAddress?.port ?? 0
            access = Access(way: .loopback(port: port))
            text = access.address(port: port)
        case .socket(let path, let origin, let group):
            do throws(WebError) {
                try ListeningSocket.open(path, to: group)
            } catch {
                failure.withLock { $0 = error }
                channel.close(promise: nil)
                return
            }
            access = Access(way: .proxy(origin: origin))
            text = origin.text + "/"
        }
        let site = Site(access: access, options: options)
        self.site.withLock { $0 = site }
        onReady(text)
    }
}
