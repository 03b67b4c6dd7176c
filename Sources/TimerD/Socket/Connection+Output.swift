// SPDX-License-Identifier: Apache-2.0

import DequeModule
import Logging
import NIOCore
import TimerControl
import Turns

/// What a connection holds for its client, in bytes.
struct ConnectionOutput {
    /// Reserved for requests in progress, and for a long line that is being read.
    var reserved = 0
    /// How much of that is of what waits for something to happen.
    var lasting = 0
    /// What the replies of requests of a batch may have beyond what is reserved.
    var toCome = 0
    /// Taken by a long line that was read, until the last of its requests has begun.
    var backlog = 0
    /// Written, and not yet taken by the socket.
    var unsent = 0
    /// The sizes of the lines that the socket has not taken whole, in order; each stays in memory until then.
    private var lines: Deque<Int> = []
    /// The bytes of those lines.
    private(set) var kept = 0
    /// All bytes ever written, and all ever received.
    var written = 0
    var received = 0
    /// Reserved for the rest of a long line.
    var input = 0
    /// The bytes that the gate has been told of, how many of them are the backlog's, and those of a line that waits to be
    /// read.
    var accounted = 0
    var accountedBacklog = 0
    var accountedUnread = 0
    var hasUnflushed = false
    /// Whether an empty write waits behind the unsent bytes, to tell when they have been taken.
    var hasMarker = false
    /// Whether the gate knows that it holds much, or that the client has something to take or to finish.
    var isNoted = false

    mutating func add(_ count: Int) {
        hasUnflushed = true
        unsent += count
        written += count
        lines.append(count)
        kept += count
    }

    /// Notes that the socket has not taken the last `rest` bytes that were written.
    mutating func left(_ rest: Int) {
        unsent = rest
        while let first = lines.first, kept - first >= rest {
            kept -= first
            lines.removeFirst()
        }
    }
}

extension Connection {
    /// The bytes of replies in progress, and of those that wait for an earlier reply or for the client.
    ///
    /// A line counts whole until its last byte has left, because its memory is freed only then.
    var pendingBytes: Int { output.reserved + replies.pendingBytes + output.kept }

    /// Notes that the head has its place.
    func takePlace(_ load: RequestLoad) {
        place = .taken
        output.reserved += load.bytes
        if load.lasts { output.lasting += load.bytes }
        output.toCome += load.bytesToCome
        // The gate counted these bytes when it gave the place.
        output.accounted += load.bytes
    }

    /// Gives a place back.
    func release(_ load: RequestLoad) {
        output.reserved -= load.bytes
        if load.lasts { output.lasting -= load.bytes }
        output.toCome -= load.bytesToCome
        environment.gate.end(load, of: user)
    }

    /// Tells the gate how many bytes the connection holds, if that has changed.
    func account() {
        noteHolding()
        var (held, read, unread) = (output.reserved, 0, 0)
        if phase != .gone {
            held = pendingBytes + output.backlog + output.input
            (read, unread) = (output.backlog, unreadBytes)
        }
        let change = held - output.accounted
        let readChange = read - output.accountedBacklog
        let unreadChange = unread - output.accountedUnread
        guard change != 0 || readChange != 0 || unreadChange != 0 else { return }
        (output.accounted, output.accountedBacklog, output.accountedUnread) = (held, read, unread)
        environment.gate.hold(change, read: readChange, unread: unreadChange, of: user)
        if change > 0 { environment.gate.grew(of: user) }
    }

    /// The bytes of a line that is here and waits to be read, where that is more than any connection may hold.
    private var unreadBytes: Int {
        guard case .line(let bytes)? = head?.next, bytes.count > RequestLoad.partOfLine else {
            return 0
        }
        return bytes.count
    }

    func write(_ line: ByteBuffer) { write(line, handingOut: []) }

    /// `tasks`: what the line that ends with these bytes hands out; they go back if the socket does not take all of it.
    func write(_ line: ByteBuffer, handingOut tasks: [TaskReference]) {
        output.add(line.readableBytes)
        guard let context else { return takeBack(tasks) }
        guard !tasks.isEmpty else { return context.write(wrapOutboundOut(line), promise: nil) }
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.whenFailure { [takeBack = environment.takeBack] _ in takeBack(tasks) }
        context.write(wrapOutboundOut(line), promise: written)
    }

    /// Has tasks go back that the client cannot know of.
    func takeBack(_ tasks: [TaskReference]) {
        if !tasks.isEmpty { environment.takeBack(tasks) }
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
        guard phase != .gone else { return }
        lookAtOutput()
        advance()
        watcher?.resume()
    }

    /// Gives back to the gate all but what requests in progress have reserved, once the channel is closed, and the tasks of
    /// replies that have not been written; those of others went back as the channel was closed.
    func forgetOutput() {
        takeBack(replies.giveUp())
        account()
    }

    /// Asks the gate for room for the rest of a long line, of which `count` bytes are here, or gives it back.
    ///
    /// The connection is not read while it waits for that room.
    func makeRoomForInput(_ count: Int) {
        let load = RequestLoad.restOfLine
        if count <= RequestLoad.partOfLine {
            let was = inputPlace
            // First, as others that begin for it may have this connection cut off.
            (inputPlace, output.input) = (.none, 0)
            switch was {
            case .none: return
            case .waiting: environment.gate.cancel(self, load.kind, of: user)
            case .taken: environment.gate.end(load, of: user)
            }
        } else if inputPlace == .none {
            inputPlace = .waiting
            if environment.gate.take(load, for: user, self) { takeInputPlace() }
        }
        noteHolding()
    }

    private func takeInputPlace() {
        inputPlace = .taken
        output.input = RequestLoad.restOfLine.bytes
        output.accounted += output.input
        noteHolding()
    }

    private func lookAtOutput() {
        guard phase != .gone, let context else { return }
        output.left(bufferedBytes)
        noteHolding()
        guard output.unsent > 0, !output.hasMarker else { return }
        output.hasMarker = true
        // Completes once everything written before it is out.
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { _ in
            self.output.hasMarker = false
            self.outputMoved()
        }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: written)
    }

    private func noteHolding() {
        let isHolding = phase != .gone && (hasToMove || heldBytes > RequestLoad.muchHeld)
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
            takeInputPlace()
        } else if let load = head?.load, place == .waiting {
            takePlace(load)
        }
        advance()
    }
}

extension Connection: ReplyHolder {
    var takenBytes: Int { output.written - bufferedBytes }
    var movedBytes: Int { takenBytes + output.received }
    var heldBytes: Int { phase == .gone ? 0 : replies.pendingBytes + output.kept }
    var hasToMove: Bool { output.unsent > 0 || inputPlace == .taken }

    func cutOff(_ reason: String) {
        // Others that begin as one is cut off may have had this one cut off as well.
        guard phase != .gone else { return }
        environment.log.notice(
            "connection cut off",
            metadata: [
                "pid": "\(peer.pid)", "owner": "\(peer.uid)", "bytes": "\(pendingBytes)",
                "error": "\(reason)",
            ]
        )
        context?.close(promise: nil)
    }
}
