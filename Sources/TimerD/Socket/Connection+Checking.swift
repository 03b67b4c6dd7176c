// SPDX-License-Identifier: Apache-2.0

import LinuxSystem
import NIOCore
import TimerControl
import Turns

/// Work that would keep the event loop too long: reading long lines, and checking long lists of jobs.
extension Connection {
    /// Reads a long line, and checks the request on it, while the loop serves others.
    func readOffLoop(_ bytes: [UInt8], _ load: RequestLoad) {
        let (check, peer) = (environment.check, peer)
        offLoop { () -> (Result<RequestLine, ControlError>, [Int], CheckedRequest?, bytes: Int) in
            let (line, sizes) = RequestLine.read(bytes)
            let bytes = RequestLoad.bytes(ofRead: bytes)
            guard case .success(.single(let envelope)) = line,
                case .success(let request) = envelope.request, request.isCheckedOffLoop
            else { return (line, sizes, nil, bytes) }
            return (line, sizes, check(request, peer), bytes)
        } then: { connection, read in
            connection.takeLine(read.0, sizes: read.1, read.2, taking: read.bytes, load)
        }
    }

    /// `bytes`: what the line takes until its last request has begun.
    private func takeLine(
        _ line: Result<RequestLine, ControlError>,
        sizes: [Int],
        _ checked: CheckedRequest?,
        taking bytes: Int,
        _ load: RequestLoad
    ) {
        guard phase == .open else { return release(load) }
        guard let (next, own) = take(line, sizes: sizes),
            case .request(let envelope, let ticket, _) = next
        else { return release(load) }
        if own.kind == .bulk, load.kind == .bulk, backlog.isEmpty, !isStopping,
            case .success(let request) = envelope.request
        {
            // It keeps the place that reading its line had: a second bulk place would wait for this one.
            output.reserved += own.bytes - load.bytes
            if checked == nil, request.isCheckedOffLoop {
                return checkOffLoop(envelope, request, ticket, own)
            }
            return carryOut(request, checked, id: envelope.id, ticket, own)
        }
        head = (.request(envelope, ticket, checked: checked), own)
        output.backlog = bytes
        release(load)
    }

    /// Checks a long list while the loop serves others; the request has its place already.
    func checkOffLoop(
        _ envelope: RequestEnvelope,
        _ request: Request,
        _ ticket: ReplyQueue.Ticket,
        _ load: RequestLoad
    ) {
        let (check, peer) = (environment.check, peer)
        offLoop {
            check(request, peer)
        } then: { connection, checked in
            guard connection.phase == .open else { return connection.release(load) }
            connection.carryOut(request, checked, id: envelope.id, ticket, load)
        }
    }

    /// Where long lines and lists are read and checked: apart from the threads that others wait for.
    private static let checkThreads = BlockingThreads(
        named: "timerd-check",
        limit: 2,
        givesWay: true
    )

    /// Runs `body` elsewhere, then `then` on the loop; starts no other request in between.
    private func offLoop<T: Sendable>(
        _ body: @escaping @Sendable () -> T,
        then: @escaping @Sendable (Connection, T) -> Void
    ) {
        pause = .checking
        let connection = NIOLoopBound(self, eventLoop: environment.gate.loop)
        let gate = environment.gate
        Self.checkThreads.submit {
            let value = body()
            gate.onLoop {
                connection.value.pause = nil
                then(connection.value, value)
                connection.value.advance()
            }
        }
    }
}
