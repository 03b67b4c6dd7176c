// SPDX-License-Identifier: Apache-2.0

import NIOCore
import TimerControl

extension Connection {
    /// Answers at once, or begins what will.
    func start(
        _ envelope: RequestEnvelope,
        _ ticket: ReplyQueue.Ticket,
        _ load: RequestLoad?,
        _ checked: CheckedRequest?
    ) {
        let answer: Result<any Encodable & Sendable, ControlError>
        switch envelope.request {
        case .failure(let error): answer = .failure(error)
        case .success where isStopping: answer = .failure(dismissal ?? .stoppingNow)
        case .success where replies.size(of: ticket) > Limits.batchReply:
            answer = .failure(
                ControlError(
                    .limitReached,
                    "the replies of a batch have more than \(Limits.batchReply) bytes; "
                        + "this request was not carried out"
                )
            )
        case .success(.subscribe(let request)): answer = subscribe(request, line: ticket.line)
        case .success(let request):
            // Whatever is carried out has a place.
            guard let load else { return }
            if checked == nil, request.isCheckedOffLoop {
                return checkOffLoop(envelope, request, ticket, load)
            }
            return carryOut(request, checked, id: envelope.id, ticket, load)
        }
        if let load { release(load) }
        replies.fill(ticket, with: envelope.id.map { ReplyLine.reply(id: $0, answer) })
    }

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
        let (handle, gate, peer) = (environment.handle, environment.gate, peer)
        let body = { @Sendable in
            let result = if let checked { await checked() } else { await handle(request, peer) }
            let reply = Task.isCancelled ? nil : id.map { ReplyLine.reply(id: $0, result) }
            gate.onLoop { connection.value.finish(ticket, reply, load) }
        }
        if request.mayWait {
            // Not on the loop: it ends there, after this has been noted.
            reads[ticket] = Task(operation: body)
        } else {
            begin(request, ticket, body)
        }
    }

    /// All requests begin by way of the loop's queue, as those do that prefer an executor: one that began
    /// at once would overtake those that came before it.
    private func begin(
        _ request: Request,
        _ ticket: ReplyQueue.Ticket,
        _ body: @escaping @Sendable () async -> Void
    ) {
        guard !request.isBrief else {
            let task = Task.immediate(
                executorPreference: environment.executor,
                operation: body
            )
            if request.isRead { reads[ticket] = task }
            return
        }
        context?.eventLoop.assumeIsolated().execute {
            let task = Task.immediate(operation: body)
            guard request.isRead else { return }
            if self.isGone { task.cancel() }
            if self.replies.isMissing(ticket) { self.reads[ticket] = task }
        }
    }

    private func finish(_ ticket: ReplyQueue.Ticket, _ reply: [UInt8]?, _ load: RequestLoad) {
        inFlight -= 1
        if !isClosing {
            reads[ticket] = nil
            replies.fill(ticket, with: reply)
        }
        release(load)
        advance()
    }
}

extension Connection {
    func sendReplies() {
        var isArrayOver = false
        while let piece = replies.next() {
            if let bytes = piece.bytes { write(bytes) }
            guard piece.isEnd else { continue }
            isArrayOver = true
            if piece.line == subscriptionLine {
                subscriptionLine = nil
                watcher?.begin()
            }
        }
        // Events had to wait for the end of an array.
        if isArrayOver { watcher?.resume() }
    }
}

extension RequestLine {
    /// What a line asks for, or why it cannot be read.
    static func read(_ bytes: [UInt8]) -> Result<RequestLine, ControlError> {
        do throws(ControlError) {
            return .success(try RequestLine(parsing: bytes))
        } catch {
            return .failure(error)
        }
    }
}

extension ControlError {
    static let stoppingNow = ControlError(.stopping, "the daemon is stopping")
}
