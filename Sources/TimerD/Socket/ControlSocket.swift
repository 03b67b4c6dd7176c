// SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxSystem
import Locks
import Logging
import NIOCore
import NIOPosix
import Runner
import TimerControl
import Turns

/// Listens for clients at a path of the file system, until it is stopped.
final class ControlSocket: Sendable {
    struct Settings: Sendable {
        var path: String
        var admission: AccessPolicy
        var maxConnections = 1000
        /// Fewer than all, so that root always finds a place to look after the daemon.
        var maxConnectionsPerUser = 900
        /// How many descriptors there may be, where both are fewer for want of them than the configuration has; nil else.
        var scarceDescriptors: Int?
        /// Requests of one connection that may be in progress.
        var maxInFlight = 256
        /// Requests that may be in progress of all connections of a user together.
        var maxInFlightPerUser = 1024
        /// How long a client may take nothing while other connections of its user wait for the memory it
        /// holds.
        var patience = TimeAmount.seconds(10)
        /// Why no connection is taken for want of descriptors; nil where there are enough.
        var wantOfDescriptors: @Sendable (_ isAdministrator: Bool) -> String? = {
            DescriptorLimit.refusal(isAdministrator: $0)
        }
        /// A socket that the service manager listens on at `path`; nil to make one.
        var inherited: Int32?
    }

    /// Where it listens.
    private struct Listener: Sendable {
        var file: SocketFile
        var channel: any Channel
    }

    /// Another one once the file of the first was taken away.
    private let listener: Locked<Listener>
    private let clients: Clients
    private let loop: any EventLoop
    private let logger: Logger
    /// Whether clients can still be taken over; the loop ends some time after it is false.
    private let adopts = Locked(true)

    private init(
        _ listener: Listener,
        clients: Clients,
        loop: any EventLoop,
        logger: Logger
    ) {
        self.listener = Locked(listener)
        self.clients = clients
        self.loop = loop
        self.logger = logger
    }

    /// Begins to listen: from now on clients may connect, and wait until `serve`.
    ///
    /// `bus`: its loop serves the socket and all its clients; `accounts`: looks up their names; `farewell`: what requests
    /// are told once it is stopped, where that is not that the daemon stops; `passedOver`: see `Scheduler`; `areOthersAtWork`,
    /// `takeLongWrites`: see `RequestGate`; `takeBack`: undoes the reservation of tasks that no client was told of.
    /// - Throws: `SocketError`, which names the path and what is in the way.
    static func bind(
        _ settings: Settings,
        bus: EventBus,
        source: @escaping EventSource,
        accounts: Accounts = Accounts(),
        logger: Logger,
        farewell: @escaping @Sendable () -> ControlError? = { nil },
        passedOver: @escaping @Sendable () -> ControlError? = { nil },
        areOthersAtWork: @escaping @Sendable (UInt32, Duration) -> Bool = { _, _ in false },
        takeLongWrites: @escaping @Sendable (UInt32) -> Duration? = { _ in nil },
        takeBack: @escaping @Sendable ([TaskReference]) -> Void = { _ in },
        check: RequestChecker? = nil,
        handle: @escaping RequestHandler
    ) async throws -> ControlSocket {
        let file =
            if let inherited = settings.inherited {
                try SocketFile.adopt(inherited, at: settings.path)
            } else {
                try SocketFile.listen(
                    at: settings.path,
                    for: settings.admission.audience
                )
            }
        let environment = Connection.Environment(
            handle: handle,
            check: check ?? { request, peer in { await handle(request, peer) } },
            takeBack: takeBack,
            bus: bus,
            source: source,
            executor: LoopExecutor(bus.loop),
            maxInFlight: settings.maxInFlight,
            gate: RequestGate(
                requestsPerUser: settings.maxInFlightPerUser,
                patience: settings.patience,
                areOthersAtWork: areOthersAtWork,
                takeLongWrites: takeLongWrites,
                loop: bus.loop
            ),
            log: logger,
            farewell: farewell,
            passedOver: passedOver,
            ownUID: settings.admission.owner
        )
        let clients = Clients(
            settings,
            environment,
            accounts: accounts,
            loop: bus.loop,
            logger: logger
        )
        let listener = try await Self.listen(on: file, clients, bus.loop, logger)
        return ControlSocket(listener, clients: clients, loop: bus.loop, logger: logger)
    }

    /// What is taken of a client in one look at its socket.
    ///
    /// The requests in it may wait for their turn, and count for nobody until then; what lies behind them waits in the
    /// kernel. With NIO's own four pieces of 64 KiB a user's connections held 225 MB, and a look at all of them took seconds.
    private static let piece = AdaptiveRecvByteBufferAllocator(
        minimum: 64,
        initial: 2048,
        maximum: RequestLoad.partOfLine
    )

    /// Has the loop listen on a socket, whose clients wait until `serve`.
    private static func listen(
        on file: SocketFile,
        _ clients: Clients,
        _ loop: any EventLoop,
        _ logger: Logger
    ) async throws(SocketError) -> Listener {
        do {
            let channel = try await ServerBootstrap(group: loop)
                .serverChannelOption(.autoRead, value: false)
                .serverChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(
                            AcceptBackoff(logger: logger)
                        )
                    }
                }
                .childChannelOption(.allowRemoteHalfClosure, value: true)
                .childChannelOption(.maxMessagesPerRead, value: 1)
                .childChannelOption(.recvAllocator, value: Self.piece)
                .childChannelOption(
                    .writeBufferWaterMark,
                    value: .init(low: Watcher.unsentLimit / 4, high: Watcher.unsentLimit)
                )
                .childChannelInitializer { clients.admit($0) }
                .withBoundSocket(file.descriptor)
                .get()
            file.restoreQueueLength()
            return Listener(file: file, channel: channel)
        } catch {
            file.remove()
            throw SocketError(file.path, "\(error)")
        }
    }

    /// Begins to accept connections, also those of clients that have connected already.
    func serve() {
        // It fails only if the channel is closed already.
        _ = listener.withLock { $0.channel }.setOption(.autoRead, value: true)
    }

    /// Serves the clients of another socket from now on: the file of the one before was taken away.
    ///
    /// False where it cannot, and goes on with the one before.
    func serve(_ file: SocketFile) async -> Bool {
        do throws(SocketError) {
            let new = try await Self.listen(on: file, clients, loop, logger)
            let former = listener.withLock { listener in
                defer { listener = new }
                return listener
            }
            serve()
            // Who has connected to it is served. Each pass of the loop accepts some of them; where none can be accepted,
            // for want of descriptors, they are not waited for.
            for _ in 0..<512 {
                guard former.file.hasClientsWaiting else { break }
                // try?: a loop that has ended accepts nobody.
                try? await loop.submit {}.get()
            }
            // try?: fails only if the channel is closed already.
            try? await former.channel.close()
            return true
        } catch {
            logger.error("nobody can connect", metadata: ["error": "\(error)"])
            return false
        }
    }

    /// Takes over a connected socket at whose other end another node relays for `peer`, or refuses that one with one
    /// line.
    func adopt(_ descriptor: Int32, of peer: Result<Peer, ControlError>) {
        adopts.withLock { adopts in
            // Held while it is handed to the loop, which takes all of that before it ends.
            if adopts { take(descriptor, of: peer) } else { close(descriptor) }
        }
    }

    private func take(_ descriptor: Int32, of peer: Result<Peer, ControlError>) {
        let clients = clients
        // A socket that cannot be taken over is closed, and its client sees that.
        _ = ClientBootstrap(group: loop)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelOption(.maxMessagesPerRead, value: 1)
            .channelOption(.recvAllocator, value: Self.piece)
            .channelOption(
                .writeBufferWaterMark,
                value: .init(low: Watcher.unsentLimit / 4, high: Watcher.unsentLimit)
            )
            .channelInitializer { channel in
                switch peer {
                case .success(let peer): clients.admit(channel, of: peer)
                case .failure(let refusal): clients.refuse(channel, refusal)
                }
            }
            .withConnectedSocket(descriptor)
    }

    /// How many clients are connected.
    var connectionCount: Int { clients.count }

    /// Applies other settings, except for the path, and returns once they are in force.
    ///
    /// Clients that are no longer allowed are dismissed. Other connections stay, and keep the number of
    /// requests that each may have in progress. Where its file was taken away, it listens anew.
    func reload(_ settings: Settings) async {
        await clients.reload(settings)
        await listenAnew(for: settings.admission.audience)
    }

    /// Where the socket's file was taken away, listens anew.
    func listenAnew(for audience: SocketFile.Audience) async {
        let file = listener.withLock { $0.file }
        if let new = file.madeAnew(for: audience, logger) {
            // Where it cannot, the file is gone again, and the next reload tries once more.
            _ = await serve(new)
        }
    }

    /// Stops listening, answers the requests in progress, and closes all connections.
    ///
    /// - Parameter limit: how long the clients have to take their replies.
    func stop(within limit: Duration) async {
        adopts.withLock { $0 = false }
        let listener = listener.withLock { $0 }
        listener.file.remove()
        // While it listens still: a connection that waits to come in goes with the listener, without a word.
        clients.endLookups()
        // try?: fails only if the channel is closed already.
        try? await listener.channel.close()
        await clients.stop(within: TimeAmount(limit))
    }
}
