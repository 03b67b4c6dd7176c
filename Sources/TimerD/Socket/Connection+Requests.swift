// SPDX-License-Identifier: Apache-2.0

import NIOCore
import TimerControl
import Turns

extension Connection {
    /// Answers the request at once, or starts the work that will answer it.
    func start(
        _ envelope: RequestEnvelope,
        _ ticket: ReplyQueue.Ticket,
        _ load: RequestLoad?,
        _ checked: CheckedRequest?
    ) {
        let answer: Result<any Encodable & Sendable, ControlError>
        var given = load
        switch envelope.request {
        case .failure(let error): answer = .failure(error)
        case .success where isStopping: answer = .failure(refusalAtStop)
        case .success where replies.size(of: ticket) > Limits.batchReply:
            answer = .failure(
                ControlError(
                    .limitReached,
                    "the replies of a batch have more than \(Limits.batchReply) bytes; "
                        + "this request was not carried out"
                )
            )
        // Nobody would hear which tasks are his, and they would wait for their leases to end.
        case .success(.reserveTasks) where envelope.id == nil:
            answer = .failure(ControlError(.invalidRequest, "'task.reserve' needs an 'id'"))
        case .success(.subscribe(let request)):
            answer = subscribe(request, line: ticket.line)
            // `endWatching` gives it back.
            if case .success = answer { (subscriptionLoad, given) = (load, nil) }
        case .success(let request):
            // Every request that is carried out has a place.
            guard let load else { return }
            if checked == nil, request.isCheckedOffLoop {
                return checkOffLoop(envelope, request, ticket, load)
            }
            return carryOut(request, checked, id: envelope.id, ticket, load)
        }
        if let given { release(given) }
        replies.fill(ticket, with: envelope.id.map { ReplyLine.reply(id: $0, answer) })
    }

    /// Why no request begins any more.
    var refusalAtStop: ControlError { dismissal ?? environment.farewell() ?? .stoppingNow }

    func carryOut(
        _ request: Request,
        _ checked: CheckedRequest?,
        id: JSONValue?,
        _ ticket: ReplyQueue.Ticket,
        _ load: RequestLoad
    ) {
        guard let loop = context?.eventLoop else { return release(load) }
        inFlight += 1
        let connection = NIOLoopBound(self, eventLoop: loop)
        let (handle, gate) = (environment.handle, environment.gate)
        let fewToEnd = request.fewToEnd
        let isReserve = request.isReserve
        if isReserve { reserving += 1 }
        let isAlone =
            fewToEnd != nil && inFlight == 1 && backlog.isEmpty
            && lines.count == 0
        let way = isAlone ? .alone : RequestWay(of: request)
        var peer = peer
        peer.isAlone = isAlone
        peer.place = RequestLoad(workOf: request).map { WorkPlace($0, at: gate, for: user) }
        inProgress[way, default: 0] += 1
        let body = { @Sendable [peer] in
            let result = if let checked { await checked() } else { await handle(request, peer) }
            let reply = Task.isCancelled ? nil : id.map { ReplyLine.reply(id: $0, result) }
            let tasks = isReserve ? TasksReply.handedOut(by: result) : nil
            peer.place?.giveBack()
            gate.onLoop { connection.value.finish(ticket, reply, tasks, id: id, load, way) }
        }
        if request.mayWait || request.isPreview {
            // Not on the loop: `finish` is called there later, after the task has been stored in `reads`.
            // A worker's answer is brief: one thread less to wake.
            let executor = request.isBriefOnceMade ? environment.executor : nil
            reads[ticket] = Task(executorPreference: executor, operation: body)
        } else {
            let isOnLoop = way == .brief || way == .alone && fewToEnd == 1
            let executor = isOnLoop ? environment.executor : nil
            let task = Task.immediate(executorPreference: executor, operation: body)
            if request.endsWithClient, replies.isMissing(ticket) { reads[ticket] = task }
        }
    }

    /// `tasks`: what the reply hands out; nil for one that is not to a `task.reserve`.
    private func finish(
        _ ticket: ReplyQueue.Ticket,
        _ reply: [UInt8]?,
        _ tasks: [TaskReference]?,
        id: JSONValue?,
        _ load: RequestLoad,
        _ way: RequestWay
    ) {
        inFlight -= 1
        inProgress[way, default: 1] -= 1
        let isAnswered = reply != nil && phase == .open
        if let tasks { finishReserve(unheard: isAnswered ? [] : tasks) }
        if phase == .open {
            reads[ticket] = nil
            // One without a reply was a notification, or was cancelled as its user was dismissed.
            let refusal = id.flatMap { id in
                dismissal.map { ReplyLine.failure(id: id, $0) }
            }
            let heard = isAnswered ? tasks ?? [] : []
            replies.fill(ticket, with: reply ?? refusal, handingOut: heard)
        }
        release(load)
        advance()
    }

    /// `unheard`: what it has reserved, if nobody is told.
    private func finishReserve(unheard: [TaskReference]) {
        reserving -= 1
        takeBack(unheard)
        endLife()
    }
}

extension Connection {
    func sendReplies() {
        var isArrayOver = false
        while let piece = replies.next() {
            if let bytes = piece.bytes { write(bytes, handingOut: piece.tasks) }
            guard piece.isEnd else { continue }
            isArrayOver = true
            if piece.line == subscriptionLine {
                subscriptionLine = nil
                watcher?.begin()
            }
        }
        // Events are not sent while an array is half sent.
        if isArrayOver { watcher?.resume() }
    }
}

extension RequestLine {
    /// What a line asks for, or why it cannot be read; and the bytes of each of its requests.
    static func read(_ bytes: [UInt8]) -> (Result<RequestLine, ControlError>, sizes: [Int]) {
        do throws(ControlError) {
            let line = try RequestLine(parsing: bytes)
            guard case .batch = line else { return (.success(line), [bytes.count]) }
            return (.success(line), RequestLoad.sizes(ofElementsIn: bytes))
        } catch {
            return (.failure(error), [])
        }
    }
}

extension Request {
    fileprivate var isReserve: Bool { if case .reserveTasks = self { true } else { false } }
}

extension TasksReply {
    /// The tasks that an answer to `task.reserve` hands out.
    fileprivate static func handedOut(
        by answer: Result<any Encodable & Sendable, ControlError>
    ) -> [TaskReference] {
        guard case .success(let reply as TasksReply) = answer else { return [] }
        return reply.tasks.compactMap(\.reference)
    }
}

extension WorkPlace {
    fileprivate convenience init(
        _ load: RequestLoad,
        at gate: RequestGate,
        for user: RequestGate.User
    ) {
        let place = PartPlace(load, at: gate, for: user)
        self.init(take: { try await place.take() }, giveBack: { place.giveBack() })
    }
}

extension ControlError {
    static let stoppingNow = ControlError(.stopping, "the daemon is stopping")
}

/// Where a request is carried out.
///
/// Two requests that go the same way keep their order; two that go different ways may not.
enum RequestWay: Hashable, Sendable {
    /// On the event loop: see `Request.isBrief`.
    case brief
    /// No other request of the connection begins before its end; on the event loop if it ends one job, else
    /// on the threads of the pool.
    case alone
    /// On the threads of the pool.
    case long
    /// On the pool, where it waits for something to happen; no other request waits for it.
    case waiting

    init(of request: Request) {
        self = request.mayWait ? .waiting : request.isBrief ? .brief : .long
    }
}
