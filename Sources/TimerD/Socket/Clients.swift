// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import Logging
import NIOCore
import Runner
import Synchronization
import TimerControl
import Turns

/// Who is connected; decides who may come in.
final class Clients: Sendable {
    private struct Client {
        var peer: Peer
        var connection: Connection
        var channel: any Channel
    }

    /// What `allow` and `deny` look at: peers that are equal here are refused alike.
    private struct Visitor: Hashable {
        var uid: UInt32
        var gid: UInt32
    }

    private let settings: NIOLoopBoundBox<ControlSocket.Settings>
    private let environment: NIOLoopBoundBox<Connection.Environment>
    private let gate: RequestGate
    private let accounts: Accounts
    private let lookups: Lookups
    /// What those are told who come in no more, as it ends.
    private let farewell: @Sendable () -> ControlError
    private let loop: any EventLoop
    private let logger: Logger
    private let clients: NIOLoopBoundBox<[ObjectIdentifier: Client]>
    /// How many are connected, or wait for the user database to say whether they may come in.
    private let counts: NIOLoopBoundBox<ConnectionCounts>
    /// When it was logged last that connections are refused for want of descriptors.
    private let warned: NIOLoopBoundBox<NIODeadline?>
    /// How often the settings have changed.
    private let reloads: NIOLoopBoundBox<Int>
    private let total = Atomic<Int>(0)
    /// Not NIO's: where the system has no thread for that one, it ends the process.
    private static let threads = BlockingThreads(named: "timerd-users", limit: 8)

    init(
        _ settings: ControlSocket.Settings,
        _ environment: Connection.Environment,
        accounts: Accounts,
        loop: any EventLoop,
        logger: Logger
    ) {
        self.settings = NIOLoopBoundBox.makeBoxSendingValue(settings, eventLoop: loop)
        self.environment = NIOLoopBoundBox.makeBoxSendingValue(environment, eventLoop: loop)
        gate = environment.gate
        self.accounts = accounts
        lookups = Lookups(loop)
        farewell = { [farewell = environment.farewell] in farewell() ?? .stoppingNow }
        self.loop = loop
        self.logger = logger
        clients = NIOLoopBoundBox.makeBoxSendingValue([:], eventLoop: loop)
        counts = NIOLoopBoundBox.makeBoxSendingValue(ConnectionCounts(), eventLoop: loop)
        warned = NIOLoopBoundBox.makeBoxSendingValue(nil, eventLoop: loop)
        reloads = NIOLoopBoundBox.makeBoxSendingValue(0, eventLoop: loop)
    }

    var count: Int { total.load(ordering: .relaxed) }

    /// Asks the kernel for the peer of a new connection, and admits it or refuses it with one line.
    func admit(_ channel: any Channel) -> EventLoopFuture<Void> {
        PeerCredentials.peer(of: channel).flatMap { self.admit(channel, of: $0) }
    }

    /// Refuses a new connection with one line.
    func refuse(_ channel: any Channel, _ refusal: ControlError) -> EventLoopFuture<Void> {
        channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(RefusalHandler(refusal))
        }
    }

    /// Admits a new connection of `peer`, or refuses it with one line.
    func admit(_ channel: any Channel, of peer: Peer) -> EventLoopFuture<Void> {
        loop.makeSucceededFuture(peer).flatMap { peer in
            self.decideBySettingsOfNow(on: peer)
        }.flatMapThrowing { peer, refusal in
            guard let refusal else { return try self.add(channel, peer) }
            self.logger.debug(
                "connection refused",
                metadata: ["pid": "\(peer.pid)", "error": "\(refusal)"]
            )
            try channel.pipeline.syncOperations.addHandler(RefusalHandler(refusal))
        }
    }

    /// Applies other settings, and dismisses the clients that they do not allow.
    ///
    /// Returns once new connections are decided by the new settings.
    func reload(_ settings: ControlSocket.Settings) async {
        let reloaded = loop.submit {
            self.settings.value = settings
            self.reloads.value += 1
            self.environment.value.maxInFlight = settings.maxInFlight
            self.gate.setLimit(settings.maxInFlightPerUser)
            self.dismissDenied(by: settings.admission)
        }
        // try?: fails only after the loop has ended, and then nobody connects.
        try? await reloaded.get()
    }

    /// Decides once for each uid and gid that is connected; names are looked up off the loop.
    private func dismissDenied(by admission: AccessPolicy) {
        var peers: [Visitor: Peer] = [:]
        for client in clients.value.values {
            peers[Visitor(uid: client.peer.uid, gid: client.peer.gid)] = client.peer
        }
        let now = reloads.value
        for (visitor, peer) in peers {
            // At the end all are dismissed anyway.
            let decision = refusal(of: peer, by: admission, orElse: { nil })
            decision.assumeIsolated().whenSuccess { refusal in
                // Whoever a later reload allows stays: that one has decided on all anew.
                guard let refusal, self.reloads.value == now else { return }
                self.dismiss(visitor, refusal)
            }
        }
    }

    private func dismiss(_ visitor: Visitor, _ refusal: ControlError) {
        let denied = clients.value.values.filter {
            $0.peer.uid == visitor.uid && $0.peer.gid == visitor.gid
        }
        guard !denied.isEmpty else { return }
        logger.notice(
            "connections were closed of a user who is not allowed any more",
            metadata: ["owner": "\(visitor.uid)", "connections": "\(denied.count)"]
        )
        for client in denied { client.connection.dismiss(refusal) }
        // A second later closes those whose requests are not answered yet, or that have not taken their last replies.
        loop.assumeIsolated().scheduleTask(in: .seconds(1)) {
            for client in denied { client.connection.closeDismissed() }
        }
    }

    /// Tells whoever waits for the user database, or would from now on, that this ends; to be called ahead of `stop`.
    func endLookups() { lookups.end() }

    /// Ends every connection; closes those that take longer than the limit.
    func stop(within limit: TimeAmount) async {
        let closed = loop.flatSubmit {
            let clients = self.clients.value.values
            for client in clients { client.connection.stop() }
            return EventLoopFuture.andAllComplete(
                clients.map(\.channel.closeFuture),
                on: self.loop
            )
        }
        let cutOff = loop.scheduleTask(in: limit) {
            for client in self.clients.value.values { client.channel.close(promise: nil) }
        }
        // try?: closing does not fail, whatever became of the connections.
        try? await closed.get()
        cutOff.cancel()
        gate.close()
    }

    /// As `decide`, again for as long as the settings change meanwhile: `reload` dismisses only clients that have been added.
    private func decideBySettingsOfNow(on peer: Peer) -> EventLoopFuture<(Peer, ControlError?)> {
        let before = reloads.value
        return decide(on: peer).flatMap { decision in
            self.reloads.value == before
                ? self.loop.makeSucceededFuture(decision) : self.decideBySettingsOfNow(on: peer)
        }
    }

    /// The peer with its name, and why it may not come in; names are looked up off the loop.
    private func decide(on peer: Peer) -> EventLoopFuture<(Peer, ControlError?)> {
        // Checked first: many peers may be waiting for the user database.
        if let refusal = limitReached(by: peer) {
            return loop.makeSucceededFuture((peer, refusal))
        }
        let admission = settings.value.admission
        guard admission.needsName(of: peer) else {
            return loop.makeSucceededFuture((peer, admission.refusal(of: peer)))
        }
        counts.value.add(peer.uid)
        return refusal(of: peer, by: admission, orElse: farewell).flatMap { refusal in
            guard refusal == nil else { return self.loop.makeSucceededFuture((peer, refusal)) }
            return self.named(peer)
        }.always { _ in
            self.counts.value.remove(peer.uid)
        }
    }

    /// Why the peer may not come in; names are looked up off the loop.
    ///
    /// `over`: what it is where this ends before they are found.
    private func refusal(
        of peer: Peer,
        by admission: AccessPolicy,
        orElse over: @escaping @Sendable () -> ControlError?
    ) -> EventLoopFuture<ControlError?> {
        guard admission.needsLookup(for: peer) else {
            return loop.makeSucceededFuture(admission.refusal(of: peer))
        }
        return lookups.future(orElse: over()) { found in
            Self.threads.submit { found(admission.refusal(of: peer)) }
        }
    }

    /// The peer with its name, or the refusal if the name cannot be looked up.
    private func named(_ peer: Peer) -> EventLoopFuture<(Peer, ControlError?)> {
        lookups.future(orElse: (peer, self.farewell())) { found in
            Task { [accounts] in
                var peer = peer
                do throws(StartRefusal) {
                    peer.name = try await accounts.name(of: peer.uid)
                    found((peer, nil))
                } catch {
                    found((peer, AccessPolicy.unknown(peer, error.message)))
                }
            }
        }
    }

    private func limitReached(by peer: Peer) -> ControlError? {
        let caller = Caller(peer.owner, daemon: settings.value.admission.owner)
        if let refusal = counts.value.refusal(of: caller, settings.value) { return refusal }
        // Its own descriptor is among those that are open.
        guard let reason = settings.value.wantOfDescriptors(caller.isAdministrator) else {
            return nil
        }
        let now = NIODeadline.now()
        if warned.value.map({ now - $0 > .seconds(60) }) ?? true {
            warned.value = now
            logger.warning(
                "connections are refused for want of descriptors",
                metadata: ["error": "\(reason)"]
            )
        }
        return ControlError(.limitReached, "no connection can be taken now: \(reason)")
    }

    private func add(_ channel: any Channel, _ peer: Peer) throws {
        let connection = Connection(peer: peer, environment: environment.value)
        try channel.pipeline.syncOperations.addHandler(connection)
        let id = ObjectIdentifier(connection)
        clients.value[id] = Client(peer: peer, connection: connection, channel: channel)
        total.add(1, ordering: .relaxed)
        counts.value.add(peer.uid)
        channel.closeFuture.assumeIsolated().whenComplete { _ in
            self.clients.value[id] = nil
            self.counts.value.remove(peer.uid)
            self.total.subtract(1, ordering: .relaxed)
        }
    }
}

/// Sends one line to a client that may not come in, and closes.
private final class RefusalHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let refusal: ControlError

    init(_ refusal: ControlError) { self.refusal = refusal }

    func channelActive(context: ChannelHandlerContext) {
        let line = ByteBuffer.line(ReplyLine.failure(id: .null, refusal))
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { _ in context.close(promise: nil) }
        context.writeAndFlush(wrapOutboundOut(line), promise: written)
    }

    /// Drops what such a client sends.
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}
}
