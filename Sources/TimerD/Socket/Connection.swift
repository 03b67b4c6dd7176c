// SPDX-License-Identifier: Apache-2.0

import DequeModule
import NIOCore
import TimerControl

/// One client: its bytes become requests, started in order; the replies leave in that order too.
///
/// All of it on the event loop. Reads no further while as many requests are in progress as are
/// allowed, or while the client does not take what it is sent.
final class Connection: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = Never
    typealias OutboundOut = ByteBuffer

    /// What a connection needs of the daemon.
    struct Environment: Sendable {
        var handle: RequestHandler
        var bus: EventBus
        var source: EventSource
        var executor: LoopExecutor
        var maxInFlight: Int
        var loads: UserLoads
        /// The uid that the daemon runs as.
        var ownUID: UInt32
    }

    /// The bytes that may wait for a client to take them, or for a reply that has to go first.
    static let outboundLimit = 1_048_576
    /// How many requests are started before the loop serves others; one or two milliseconds' work.
    private static let requestsPerTurn = 128

    let peer: Peer
    let environment: Environment
    var context: ChannelHandlerContext?
    private var lines = LineDecoder(limit: Limits.line)
    /// Requests of a batch that have not been started.
    private var backlog: Deque<(envelope: RequestEnvelope, ticket: ReplyQueue.Ticket)> = []
    private var replies = ReplyQueue()
    private var inFlight = 0
    /// Those requests in progress that wait for something, for as long as the client does.
    private var waits: [ReplyQueue.Ticket: Task<Void, Never>] = [:]
    var watcher: Watcher?
    /// The line whose reply the events follow; nil once they do.
    var subscriptionLine: Int?

    /// Whether `UserLoads` has it among those who wait for room.
    private var isWaiting = false
    private var hasHeldRead = false
    var hasUnflushed = false
    private var isAdvancing = false
    private var isYielding = false
    private var isInputEnded = false
    private var isStopping = false
    var isClosing = false

    init(peer: Peer, environment: Environment) {
        var peer = peer
        peer.life = ConnectionLife()
        self.peer = peer
        self.environment = environment
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }
    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func read(context: ChannelHandlerContext) {
        if mayRead() { context.read() } else { hasHeldRead = true }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        lines.append(unwrapInboundIn(data))
        advance()
    }

    func channelReadComplete(context: ChannelHandlerContext) { flush() }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        guard context.channel.isWritable else { return }
        advance()
        watcher?.resume()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case .inputClosed? = event as? ChannelEvent else {
            return context.fireUserInboundEventTriggered(event)
        }
        isInputEnded = true
        advance()
    }

    func channelInactive(context: ChannelHandlerContext) {
        isClosing = true
        backlog = []
        endWatching()
        for wait in waits.values { wait.cancel() }
        peer.life?.end()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    /// Begins no further request, answers those in progress, and closes.
    func stop() {
        isStopping = true
        endWatching()
        advance()
    }
}

extension Connection {
    private func mayRead() -> Bool { mayStart() && backlog.isEmpty && !isYielding }

    private func mayStart() -> Bool {
        guard !isClosing, let context, context.channel.isWritable else { return false }
        guard environment.loads.hasRoom(for: peer.uid) else {
            waitForRoom()
            return false
        }
        // A batch goes on whatever it holds: its replies leave when the last one is there.
        return inFlight < environment.maxInFlight
            && (!backlog.isEmpty || replies.heldBytes < Self.outboundLimit)
    }

    /// Starts what may be started and sends what is ready.
    private func advance() {
        // A request that ends at once comes back here from inside.
        guard !isAdvancing, !isYielding else { return }
        isAdvancing = true
        var rest = Self.requestsPerTurn
        var isDrained = false
        while rest > 0, mayStart() {
            guard let (envelope, ticket) = nextRequest() else {
                isDrained = true
                break
            }
            start(envelope, ticket)
            sendReplies()
            rest -= 1
        }
        isAdvancing = false
        sendReplies()
        flush()
        if isDrained { closeIfDone() }
        if rest == 0 { yield() }
        if hasHeldRead, mayRead() {
            hasHeldRead = false
            context?.read()
        }
    }

    /// Goes on once the user's other requests leave room.
    private func waitForRoom() {
        guard !isWaiting else { return }
        isWaiting = true
        environment.loads.wait(self, peer.uid)
    }

    /// There may be room for its user again.
    func resumeStarting() {
        isWaiting = false
        advance()
    }

    /// Goes on once the loop has served the other connections.
    private func yield() {
        guard !isYielding, let context else { return }
        isYielding = true
        // A task that is due would run before the loop looks at any socket.
        context.eventLoop.assumeIsolated().scheduleTask(in: .microseconds(100)) {
            self.isYielding = false
            self.advance()
        }
    }

    /// The next request in the order of the bytes; nil until more of them come.
    private func nextRequest() -> (RequestEnvelope, ReplyQueue.Ticket)? {
        if let next = backlog.popFirst() { return next }
        guard let line = lines.next() ?? (isInputEnded ? lines.finish() : nil) else { return nil }
        do {
            switch try requests(in: line) {
            case .single(let envelope): return (envelope, replies.addLine())
            case .batch(let envelopes):
                let tickets = replies.addBatch(of: envelopes.count)
                backlog = Deque(zip(envelopes, tickets).map { (envelope: $0, ticket: $1) })
                return backlog.popFirst()
            }
        } catch {
            return (RequestEnvelope(id: .null, request: .failure(error)), replies.addLine())
        }
    }

    private func requests(in line: LineDecoder.Line) throws(ControlError) -> RequestLine {
        switch line {
        case .line(let bytes): return try RequestLine(parsing: bytes)
        case .tooLong:
            throw ControlError(
                .limitReached,
                "a line has more than \(Limits.line) bytes; the rest is left out"
            )
        }
    }

    private func start(_ envelope: RequestEnvelope, _ ticket: ReplyQueue.Ticket) {
        let answer: Result<any Encodable & Sendable, ControlError>
        switch envelope.request {
        case .failure(let error): answer = .failure(error)
        case .success where isStopping:
            answer = .failure(ControlError(.stopping, "the daemon is stopping"))
        case .success where replies.size(of: ticket) > Limits.batchReply:
            answer = .failure(
                ControlError(
                    .limitReached,
                    "the replies of a batch have more than \(Limits.batchReply) bytes; "
                        + "this request was not carried out"
                )
            )
        case .success(.subscribe(let request)): answer = subscribe(request, line: ticket.line)
        case .success(let request): return carryOut(request, id: envelope.id, ticket)
        }
        replies.fill(ticket, with: envelope.id.map { ReplyLine.reply(id: $0, answer) })
    }

    private func carryOut(_ request: Request, id: JSONValue?, _ ticket: ReplyQueue.Ticket) {
        guard let channel = context?.channel else { return }
        inFlight += 1
        environment.loads.begin(peer.uid)
        let connection = NIOLoopBound(self, eventLoop: channel.eventLoop)
        let (handle, loads, peer) = (environment.handle, environment.loads, peer)
        let body = { @Sendable in
            let result = await handle(request, peer)
            loads.end(peer.uid)
            let reply = id.map { ReplyLine.reply(id: $0, result) }
            if channel.eventLoop.inEventLoop {
                connection.value.finish(ticket, reply)
            } else if channel.isActive {
                // The loop may be gone when the channel is.
                channel.eventLoop.execute { connection.value.finish(ticket, reply) }
            }
        }
        if request.mayWait {
            // Not on the loop: it ends there, after this has been noted.
            waits[ticket] = Task(operation: body)
        } else {
            let executor = request.isBrief ? environment.executor : nil
            Task.immediate(executorPreference: executor, operation: body)
        }
    }

    private func finish(_ ticket: ReplyQueue.Ticket, _ reply: [UInt8]?) {
        inFlight -= 1
        waits[ticket] = nil
        replies.fill(ticket, with: reply)
        advance()
    }
}

extension Connection {
    private func sendReplies() {
        while let (line, reply) = replies.next() {
            if let reply { write(reply) }
            if line == subscriptionLine {
                subscriptionLine = nil
                watcher?.begin()
            }
        }
    }

    /// Closes, once no request is left and no more will come.
    private func closeIfDone() {
        guard isInputEnded || isStopping, !isClosing, let context else { return }
        guard inFlight == 0, replies.isEmpty, watcher == nil else { return }
        closeAfterFlush(context)
    }

    func closeAfterFlush(_ context: ChannelHandlerContext) {
        isClosing = true
        // Written after all the rest, so all the rest is out when it is.
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { _ in context.close(promise: nil) }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: written)
    }
}
