// SPDX-License-Identifier: Apache-2.0

import DequeModule
import Logging
import NIOCore

/// What a connection holds for its client, in bytes.
struct ConnectionOutput {
    /// What requests in progress may be answered with.
    var reserved = 0
    /// What requests of a batch take that have not begun.
    var backlog = 0
    /// Written, and not taken by the socket.
    var unsent = 0
    /// The lines of which the socket has not taken all, in order: each is held whole until then.
    private var lines: Deque<Int> = []
    /// The bytes of those lines.
    private(set) var kept = 0
    /// All that was ever written, and all that ever came.
    var written = 0
    var received = 0
    /// What the rest of a long line may take.
    var input = 0
    /// What the gate knows of.
    var accounted = 0
    var hasUnflushed = false
    /// Whether it will be told when all that is unsent has been taken.
    var hasMarker = false
    /// Whether the gate knows that something is held.
    var isNoted = false

    mutating func add(_ count: Int) {
        hasUnflushed = true
        unsent += count
        written += count
        lines.append(count)
        kept += count
    }

    /// The socket has left `rest` bytes of all that was written.
    mutating func left(_ rest: Int) {
        unsent = rest
        while let first = lines.first, kept - first >= rest {
            kept -= first
            lines.removeFirst()
        }
    }
}

extension Connection {
    /// Replies that are being made, and those that wait for one before them or for the client.
    ///
    /// A line counts whole until its last byte has left: so long is its memory taken.
    var heldBytes: Int { output.reserved + replies.heldBytes + output.kept }

    /// Has the place that the head needs.
    func hold(_ load: RequestLoad) {
        place = .held
        output.reserved += load.bytes
        // The gate has counted it with the place.
        output.accounted += load.bytes
    }

    /// Gives a place back.
    func release(_ load: RequestLoad) {
        output.reserved -= load.bytes
        environment.gate.end(load, of: user)
    }

    /// Tells the gate what the connection holds, where that has changed.
    func account() {
        var held = output.reserved
        if !isGone { held = heldBytes + output.backlog + output.input }
        guard held != output.accounted else { return }
        let change = held - output.accounted
        output.accounted = held
        environment.gate.hold(change, of: user)
    }

    func write(_ line: ByteBuffer) {
        output.add(line.readableBytes)
        context?.write(wrapOutboundOut(line), promise: nil)
    }

    func flush() {
        guard output.hasUnflushed else { return }
        output.hasUnflushed = false
        context?.flush()
        lookAtOutput()
        account()
    }

    /// The socket has taken something.
    func outputMoved() {
        guard !isGone else { return }
        lookAtOutput()
        advance()
        watcher?.resume()
    }

    /// Lets go of all but what requests in progress have reserved.
    func forgetOutput() {
        noteHolding()
        account()
    }

    /// Asks for the room that the rest of a long line needs, or gives it back.
    ///
    /// Without it the connection is read no further.
    func makeRoomForInput(_ count: Int) {
        let load = RequestLoad.restOfLine
        if count <= RequestLoad.partOfLine {
            switch inputPlace {
            case .none: return
            case .waiting: environment.gate.cancel(self, load.kind, of: user)
            case .held: environment.gate.end(load, of: user)
            }
            (inputPlace, output.input) = (.none, 0)
        } else if inputPlace == .none {
            inputPlace = .waiting
            if environment.gate.take(load, for: user, self) { holdInput() }
        }
        noteHolding()
    }

    private func holdInput() {
        inputPlace = .held
        output.input = RequestLoad.restOfLine.bytes
        output.accounted += output.input
        noteHolding()
    }

    private func lookAtOutput() {
        guard !isGone, let context else { return }
        output.left(bufferedBytes)
        noteHolding()
        guard output.unsent > 0, !output.hasMarker else { return }
        output.hasMarker = true
        // Written after all the rest, so all the rest is out when it is.
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { _ in
            self.output.hasMarker = false
            self.outputMoved()
        }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: written)
    }

    private func noteHolding() {
        let isHolding = !isGone && (output.unsent > 0 || inputPlace == .held)
        guard isHolding != output.isNoted else { return }
        output.isNoted = isHolding
        environment.gate.note(self, of: user, isHolding: isHolding)
    }

    private var bufferedBytes: Int {
        // try?: a channel that is closed holds nothing.
        let bytes = try? context?.channel.syncOptions?.getOption(.bufferedWritableBytes)
        return bytes ?? 0
    }
}

extension Connection: RequestGateClient {
    func turnCame() {
        if inputPlace == .waiting {
            holdInput()
        } else if let load = head?.load, place == .waiting {
            hold(load)
        }
        advance()
    }
}

extension Connection: ReplyHolder {
    var movedBytes: Int { output.written - bufferedBytes + output.received }

    func cutOff() {
        environment.log.notice(
            "connection cut off",
            metadata: [
                "pid": "\(peer.pid)", "uid": "\(peer.uid)", "bytes": "\(heldBytes)",
                "error": "it takes and sends nothing, and others of its user wait",
            ]
        )
        context?.close(promise: nil)
    }
}
