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
        /// Requests of one connection that may be in progress.
        var maxInFlight = 256
        /// The same for all connections of a user together.
        var maxInFlightPerUser = 1024
        /// How long a client may take nothing while other connections of its user wait for the memory it
        /// holds.
        var patience = TimeAmount.seconds(10)
        /// A socket that the service manager listens on at `path`; nil to make one.
        var inherited: Int32?
    }

    private let file: SocketFile
    private let channel: any Channel
    private let clients: Clients
    /// Whether clients can still be taken over; the loop ends some time after it is false.
    private let adopts = Locked(true)

    private init(file: SocketFile, channel: any Channel, clients: Clients) {
        self.file = file
        self.channel = channel
        self.clients = clients
    }

    /// Begins to listen: from now on clients may connect, and wait until `serve`.
    ///
    /// `bus`: its loop serves the socket and all its clients; `accounts`: looks up their names; `farewell`: what requests
    /// are told once it is stopped, where that is not that the daemon stops; `areOthersAtWork`: see `RequestGate`; `takeBack`:
    /// undoes the reservation of tasks that no client was told of.
    /// - Throws: `SocketError`, which names the path and what is in the way.
    static func bind(
        _ settings: Settings,
        bus: EventBus,
        source: @escaping EventSource,
        accounts: Accounts = Accounts(),
        logger: Logger,
        farewell: @escaping @Sendable () -> ControlError? = { nil },
        areOthersAtWork: @escaping @Sendable (UInt32, Duration) -> Bool = { _, _ in false },
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
                    for: settings.admission.isShared ? .everyone : .owner
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
                loop: bus.loop
            ),
            log: logger,
            farewell: farewell,
            ownUID: settings.admission.owner
        )
        let clients = Clients(
            settings,
            environment,
            accounts: accounts,
            loop: bus.loop,
            logger: logger
        )
        do {
            let channel = try await ServerBootstrap(group: bus.loop)
                .serverChannelOption(.autoRead, value: false)
                .serverChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(
                            AcceptBackoff(logger: logger)
                        )
                    }
                }
                .childChannelOption(.allowRemoteHalfClosure, value: true)
                .childChannelOption(
                    .writeBufferWaterMark,
                    value: .init(low: Watcher.unsentLimit / 4, high: Watcher.unsentLimit)
                )
                .childChannelInitializer { clients.admit($0) }
                .withBoundSocket(file.descriptor)
                .get()
            return ControlSocket(file: file, channel: channel, clients: clients)
        } catch {
            file.remove()
            throw SocketError(settings.path, "\(error)")
        }
    }

    /// Begins to accept connections, also those of clients that have connected already.
    func serve() {
        // It fails only if the channel is closed already.
        _ = channel.setOption(.autoRead, value: true)
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
        _ = ClientBootstrap(group: channel.eventLoop)
            .channelOption(.allowRemoteHalfClosure, value: true)
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
    /// requests that each may have in progress.
    func reload(_ settings: Settings) async { await clients.reload(settings) }

    /// Stops listening, answers the requests in progress, and closes all connections.
    ///
    /// - Parameter limit: how long the clients have to take their replies.
    func stop(within limit: Duration) async {
        adopts.withLock { $0 = false }
        file.remove()
        // try?: fails only if the channel is closed already.
        try? await channel.close()
        await clients.stop(within: TimeAmount(limit))
    }
}
