// SPDX-License-Identifier: Apache-2.0

import DequeModule
import NIOCore
import TimerControl
import Turns

/// The request that is next on a connection: what it is, and whether it may begin.
extension Connection {
    /// The request that is next.
    enum Head {
        /// A long line, or a batch of many requests, which is read off the loop.
        case line([UInt8])
        /// `checked`: the request as checked off the loop; nil if it was not.
        case request(RequestEnvelope, ReplyQueue.Ticket, checked: CheckedRequest?)
    }

    /// Whether a place at the `RequestGate` is taken or waited for.
    enum Place {
        case none
        case waiting
        case taken
    }

    /// Whether the head may begin now; if not, `advance` is called again when that may have changed.
    func mayBegin(_ load: RequestLoad) -> Bool {
        guard !wouldOvertake else { return false }
        switch place {
        case .taken: return true
        case .waiting: return false
        case .none: break
        }
        // A stopping connection only refuses the request, which needs no place.
        if isStopping { return takeTurn() }
        let held = pendingBytes
        // What waits for something to happen keeps nothing else from beginning alone.
        guard inFlight < environment.maxInFlight,
            held + load.bytes <= Self.pendingLimit || !load.lasts && held == output.lasting,
            !mayBatchFill(before: load)
        else { return false }
        guard takeTurn() else { return false }
        guard environment.gate.take(load, for: user, self) else {
            place = .waiting
            return false
        }
        takePlace(load)
        return true
    }

    /// Whether requests in progress may yet fill the batch that the head is of: by what they are answered it is carried out
    /// or refused.
    private func mayBatchFill(before load: RequestLoad) -> Bool {
        guard inFlight > 0, case .request(_, let ticket, _)? = head?.0 else { return false }
        let size = replies.size(of: ticket)
        let toCome = output.reserved + output.toCome + load.bytes + load.bytesToCome
        return size <= Limits.batchReply && size + toCome > Limits.batchReply
    }

    /// Whether the head could take effect before an earlier request of this connection.
    private var wouldOvertake: Bool {
        // Also a long line, which is carried out as soon as it is read.
        guard inProgress[.alone, default: 0] == 0 else { return true }
        // A subscription is answered at once, and changes nothing for others.
        guard case .request(let envelope, _, _)? = head?.0,
            case .success(let request) = envelope.request, request.method != .subscribe
        else { return false }
        switch RequestWay(of: request) {
        case .brief: return inProgress[.long, default: 0] > 0
        case .long: return inProgress[.brief, default: 0] > 0
        case .waiting, .alone: return false
        }
    }

    func leaveHead() {
        if let load = head?.load {
            switch place {
            case .none: break
            case .waiting: environment.gate.cancel(self, load.kind, of: user)
            case .taken: release(load)
            }
        }
        head = nil
        place = .none
    }

    /// The next request in the order of the bytes; nil until more bytes come.
    func nextHead() -> (Head, RequestLoad)? {
        if let (envelope, ticket, bytes) = backlog.popFirst() {
            let load = load(of: envelope, bytes, isInBatch: true)
            return (.request(envelope, ticket, checked: nil), load)
        }
        guard let line = lines.next() ?? (isInputEnded ? lines.finish() : nil) else { return nil }
        switch line {
        case .tooLong:
            let error = ControlError(
                .limitReached,
                "a line has more than \(Limits.line) bytes; the rest is left out"
            )
            return take(.failure(error), sizes: [])
        case .line(let bytes):
            if let load = RequestLoad(reading: bytes) { return (.line(bytes), load) }
            let (line, sizes) = RequestLine.read(bytes)
            return take(line, sizes: sizes)
        }
    }

    /// Adds the places for the replies to a line; `sizes`: the bytes of each of its requests.
    ///
    /// - Returns: the first request of the line; nil if there is none.
    func take(
        _ line: Result<RequestLine, ControlError>,
        sizes: [Int]
    ) -> (Head, RequestLoad)? {
        switch line {
        case .success(.batch(let envelopes)):
            let tickets = replies.addBatch(of: envelopes.count)
            // One for each; else some would be dropped without a word.
            let isSized = sizes.count == envelopes.count
            let bytes =
                isSized ? sizes : Array(repeating: sizes.reduce(0, +), count: envelopes.count)
            backlog = Deque(
                zip(zip(envelopes, tickets), bytes).map {
                    (envelope: $0.0, ticket: $0.1, bytes: $1)
                }
            )
            return nextHead()
        case .success(.single(let envelope)):
            let head = Head.request(envelope, replies.addLine(), checked: nil)
            return (head, load(of: envelope, sizes.first ?? 0))
        case .failure(let error):
            let envelope = RequestEnvelope(id: .null, request: .failure(error))
            return (.request(envelope, replies.addLine(), checked: nil), .refusal)
        }
    }

    private func load(
        of envelope: RequestEnvelope,
        _ lineBytes: Int,
        isInBatch: Bool = false
    ) -> RequestLoad {
        switch envelope.request {
        case .failure: .refusal
        case .success(let request):
            RequestLoad(
                of: request,
                lineBytes: lineBytes,
                waiting: isInBatch ? nil : inProgress[.waiting, default: 0]
            )
        }
    }
}
