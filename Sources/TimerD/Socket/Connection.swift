// SPDX-License-Identifier: Apache-2.0

import DequeModule
import LinuxSystem
import Logging
import NIOCore
import TimerControl
import Turns

/// One client: its bytes become requests, started in order; the replies leave in that order too.
///
/// All of it on the event loop. Starts the next request once there is room for its reply and it is
/// its user's turn (`RequestGate`), and reads no further until then.
final class Connection: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = Never
    typealias OutboundOut = ByteBuffer

    /// What a connection needs of the daemon.
    struct Environment: Sendable {
        var handle: RequestHandler
        var check: RequestChecker
        /// Undoes the reservation of tasks that no client was told of.
        var takeBack: @Sendable ([TaskReference]) -> Void
        var bus: EventBus
        var source: EventSource
        var executor: LoopExecutor
        var maxInFlight: Int
        var gate: RequestGate
        var log: Logger
        /// Why requests are refused while it is stopped; nil where the daemon stops.
        var farewell: @Sendable () -> ControlError?
        /// Why nothing is told of jobs any more, as another node may lead; nil where it is.
        var passedOver: @Sendable () -> ControlError?
        /// The uid that the daemon runs as.
        var ownUID: UInt32
    }

    /// `closing`: its last line is written, and it closes once that is out; `gone`: the channel is closed.
    enum Phase { case open, closing, gone }

    /// `yielding`: it waits for its turn on the loop (`LoopTurns`); `checking`: a line or a request is being read or checked
    /// off the loop.
    enum Pause { case yielding, checking }

    /// The most bytes that replies in progress or waiting to be sent may have; a single reply may have more.
    static let pendingLimit = 1_048_576

    let peer: Peer
    let user: RequestGate.User
    let environment: Environment
    var context: ChannelHandlerContext?
    var lines = LineDecoder(limit: Limits.line)
    var head: (next: Head, load: RequestLoad)?
    var place = Place.none
    /// The place for the rest of a line that has come in part.
    var inputPlace = Place.none
    /// Requests of a batch that have not been started, and how many bytes of the line each has.
    var backlog: Deque<(envelope: RequestEnvelope, ticket: ReplyQueue.Ticket, bytes: Int)> = []
    var replies = ReplyQueue()
    var inFlight = 0
    /// The requests in progress that are cancelled when the client is gone, or dismissed.
    var reads: [ReplyQueue.Ticket: Task<Void, Never>] = [:]
    var watcher: Watcher?
    /// The line after whose reply the events are sent; nil once that reply has left.
    var subscriptionLine: Int?
    /// What the subscription takes until it ends.
    var subscriptionLoad: RequestLoad?

    var output = ConnectionOutput()
    private var hasHeldRead = false
    private var isAdvancing = false
    /// Why nothing begins for now; nil if something may.
    var pause: Pause?
    /// Whether nothing was begun yet of what was read last.
    private var isFresh = false
    var isInputEnded = false
    var isStopping = false
    /// Why the user may no longer be connected, if the connection ends for that reason.
    var dismissal: ControlError?
    /// How many requests are in progress, by the way that they go.
    var inProgress: [RequestWay: Int] = [:]
    /// How many requests for tasks are in progress.
    var reserving = 0
    var phase = Phase.open

    init(peer: Peer, environment: Environment) {
        var peer = peer
        peer.life = ConnectionLife(from: peer.host, process: peer.pid)
        self.peer = peer
        self.environment = environment
        let caller = Caller(peer.owner, daemon: environment.ownUID)
        user = RequestGate.User(uid: peer.uid, isAdministrator: caller.isAdministrator)
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }
    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func read(context: ChannelHandlerContext) {
        if mayRead() { context.read() } else { hasHeldRead = true }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        output.received += bytes.readableBytes
        lines.append(bytes)
        isFresh = true
        advance()
    }

    func channelReadComplete(context: ChannelHandlerContext) { flush() }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        guard context.channel.isWritable else { return }
        outputMoved()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case .inputClosed? = event as? ChannelEvent else {
            return context.fireUserInboundEventTriggered(event)
        }
        isInputEnded = true
        advance()
        // After what it has said before: that is under way by now, or stands behind what is.
        peer.life?.beginSilence()
        // If the client is gone altogether, the loop closes the channel before this: then its unheard tasks go back first.
        context.eventLoop.assumeIsolated().execute {
            if self.phase != .gone { self.peer.life?.fallSilent() }
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        phase = .gone
        backlog = []
        makeRoomForInput(0)
        leaveHead()
        endWatching()
        for read in reads.values { read.cancel() }
        reads = [:]
        forgetOutput()
        endLife()
        context.fireChannelInactive()
    }

    /// Ends what is tied to the connection, once it is closed and what was reserved for it meanwhile is back.
    ///
    /// In the other order a task that the client never heard of would count as lost by it, which costs an attempt. Where
    /// the daemon stops nothing is waited for: the end of a request may not come here any more.
    func endLife() {
        if phase == .gone, reserving == 0 || isStopping { peer.life?.end() }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    /// As `stop`, for a user who may no longer be connected; the last line says why, unless a request has no reply by then.
    ///
    /// Nothing is waited for, or read, for such a user: these requests are refused as well.
    func dismiss(_ refusal: ControlError) {
        dismissal = refusal
        stop()
        // A read gives its place back at once, and no request of this connection is to begin with that.
        for read in reads.values { read.cancel() }
    }

    /// Closes a dismissed connection, whatever is in progress.
    func closeDismissed() {
        guard phase != .gone, let context else { return }
        if phase == .open { writeDismissal() }
        flush()
        context.close(promise: nil)
    }

    /// Begins no further request, answers those in progress, and closes.
    func stop() {
        isStopping = true
        endWatching()
        if place == .waiting, let load = head?.load {
            place = .none
            environment.gate.cancel(self, load.kind, of: user)
        }
        advance()
    }
}

extension Connection {
    private func mayRead() -> Bool {
        head == nil && backlog.isEmpty && inputPlace != .waiting && pause == nil
            && phase == .open
            && inFlight < environment.maxInFlight && pendingBytes <= Self.pendingLimit
    }

    /// Starts what may be started and sends what is ready.
    func advance() {
        // A request that ends at once calls this again from within.
        guard !isAdvancing else { return }
        isAdvancing = true
        var isDrained = false
        var canGoOn = false
        repeat {
            isDrained = beginRequests()
            sendReplies()
            let (held, hadPlace) = (pendingBytes, place == .taken)
            flush()
            // What the socket takes at once may be the room that the next request waits for, and nothing else will tell of it.
            canGoOn = pendingBytes < held || place == .taken && !hadPlace
        } while head != nil && canGoOn
        isAdvancing = false
        if phase == .open { makeRoomForInput(isDrained ? lines.count : 0) }
        account()
        if isDrained { closeIfDone() }
        if hasHeldRead, mayRead() {
            hasHeldRead = false
            context?.read()
        }
    }

    /// Begins requests for as long as each may; whether none is left.
    private func beginRequests() -> Bool {
        while pause == nil, phase == .open {
            if head == nil { head = nextHead() }
            guard let (next, load) = head else { return true }
            // The rest of its line came in the same look at the socket. The gate knows one place that a client waits for.
            if inputPlace == .waiting {
                makeRoomForInput(0)
                // Others that begin for it may have this connection cut off.
                continue
            }
            guard mayBegin(load) else { break }
            let hasPlace = place == .taken
            head = nil
            place = .none
            if backlog.isEmpty { output.backlog = 0 }
            begin(next, hasPlace ? load : nil)
            sendReplies()
        }
        return false
    }

    /// Whether one more request may begin now; if not, goes on once the loop has served others.
    ///
    /// The first one of what was read always may: the loop has just looked at its sockets.
    func takeTurn() -> Bool {
        if isFresh {
            isFresh = false
        } else if turns.hasLeft {
            turns.spend()
        } else {
            pause = .yielding
            turns.add(self, at: .requests(of: peer.uid))
            return false
        }
        return true
    }

    var turns: LoopTurns { environment.bus.turns }

    private func begin(_ head: Head, _ load: RequestLoad?) {
        switch head {
        case .line(let bytes):
            if let load, !isStopping { return readOffLoop(bytes, load) }
            if let load { release(load) }
            replies.fill(
                replies.addLine(),
                with: ReplyLine.failure(id: .null, refusalAtStop)
            )
        case .request(let envelope, let ticket, let checked):
            start(envelope, ticket, load, checked)
        }
    }
}

extension Connection: LoopWork {
    func goOn() {
        pause = nil
        advance()
    }
}

extension Connection {
    /// Closes if no request is left and no more will come.
    private func closeIfDone() {
        guard isInputEnded || isStopping, phase == .open, let context else { return }
        guard inFlight == 0, pause == nil, head == nil, replies.isEmpty, watcher == nil else {
            return
        }
        writeDismissal()
        closeAfterFlush(context)
    }

    private func writeDismissal() {
        if let dismissal { writeEnd(dismissal) }
    }

    /// Says why the connection ends, as its last line.
    ///
    /// Not where a request has no reply: the client would take this for its refusal, though it may be carried out.
    func writeEnd(_ error: ControlError) {
        if replies.isEmpty { write(.line(ReplyLine.failure(id: .null, error))) }
    }

    func closeAfterFlush(_ context: ChannelHandlerContext) {
        phase = .closing
        // Completes once everything written before it is out.
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { _ in context.close(promise: nil) }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: written)
    }
}
