// SPDX-License-Identifier: Apache-2.0

import DequeModule
import NIOCore
import TimerControl

/// Puts the replies of one connection back into the order of its lines.
///
/// Each line has a slot: a single request, or a batch whose replies leave as one array, each as
/// soon as those before it have left.
struct ReplyQueue {
    /// The place of one reply: its line, and which of that line's it is.
    struct Ticket: Hashable, Sendable {
        var line: Int
        fileprivate var element: Int
    }

    /// What may leave next.
    struct Piece {
        var line: Int
        /// Nil if nothing is to be sent.
        var bytes: ByteBuffer?
        /// Whether nothing of that line follows.
        var isEnd: Bool
        /// The tasks that the whole line hands out; with its end.
        var tasks: [TaskReference] = []
    }

    private enum Reply {
        case missing
        /// Nothing to send: a notification's, or one that has left.
        case silent
        case bytes([UInt8])
    }

    private struct Slot {
        var isBatch: Bool
        var replies: [Reply]
        /// The first reply that has not left.
        var next = 0
        /// Whether the array's beginning has left.
        var isOpen = false
        /// The bytes of all replies that have come.
        var size = 0
        /// The tasks that these hand out.
        var tasks: [TaskReference] = []
    }

    private var slots: Deque<Slot> = []
    /// The number of the first slot.
    private var first = 0
    /// The bytes of all replies that wait for one before them.
    private(set) var pendingBytes = 0

    var isEmpty: Bool { slots.isEmpty }

    /// Whether an array has left in part, so that nothing else may be sent before its end.
    var isInArray: Bool { slots.first?.isOpen == true }

    /// Makes a place for the reply to a single request.
    mutating func addLine() -> Ticket {
        slots.append(Slot(isBatch: false, replies: [.missing]))
        return Ticket(line: first + slots.count - 1, element: 0)
    }

    /// Makes places for the replies to a batch.
    mutating func addBatch(of count: Int) -> [Ticket] {
        slots.append(Slot(isBatch: true, replies: Array(repeating: .missing, count: count)))
        let line = first + slots.count - 1
        return (0..<count).map { Ticket(line: line, element: $0) }
    }

    /// Puts a reply into its place, once; nil for a notification, which has none.
    ///
    /// `tasks`: what the reply hands out.
    mutating func fill(
        _ ticket: Ticket,
        with reply: [UInt8]?,
        handingOut tasks: [TaskReference] = []
    ) {
        let size = reply?.count ?? 0
        if !tasks.isEmpty { slots[ticket.line - first].tasks += tasks }
        pendingBytes += size
        slots[ticket.line - first].size += size
        slots[ticket.line - first].replies[ticket.element] = reply.map { .bytes($0) } ?? .silent
    }

    /// Whether a reply is still to come.
    func isMissing(_ ticket: Ticket) -> Bool {
        guard ticket.line >= first else { return false }
        if case .missing = slots[ticket.line - first].replies[ticket.element] { return true }
        return false
    }

    /// The bytes of the replies that have come for the batch of a ticket.
    func size(of ticket: Ticket) -> Int { slots[ticket.line - first].size }

    /// Forgets the replies that have not left, as they never will, and takes out the tasks of all such lines.
    ///
    /// Requests in progress keep the queue, perhaps for long.
    mutating func giveUp() -> [TaskReference] {
        var tasks: [TaskReference] = []
        for index in slots.indices {
            tasks += slots[index].tasks
            slots[index].tasks = []
            for element in slots[index].replies.indices {
                guard case .bytes = slots[index].replies[element] else { continue }
                slots[index].replies[element] = .silent
            }
        }
        pendingBytes = 0
        return tasks
    }

    /// What may leave now; nil until more replies are there.
    mutating func next() -> Piece? {
        guard !slots.isEmpty else { return nil }
        if slots[0].isBatch { return nextOfBatch() }
        switch slots[0].replies[0] {
        case .missing: return nil
        case .silent: return Piece(line: removeFirst(), bytes: nil, isEnd: true)
        case .bytes(let reply):
            pendingBytes -= reply.count
            let tasks = slots[0].tasks
            return Piece(line: removeFirst(), bytes: .line(reply), isEnd: true, tasks: tasks)
        }
    }

    private mutating func removeFirst() -> Int {
        slots.removeFirst()
        defer { first += 1 }
        return first
    }

    /// All replies of the first batch that can leave now, as one piece.
    private mutating func nextOfBatch() -> Piece? {
        let start = slots[0].next
        var bytes = ByteBuffer()
        loop: while slots[0].next < slots[0].replies.count {
            switch slots[0].replies[slots[0].next] {
            case .missing: break loop
            case .silent: break
            case .bytes(let reply):
                bytes.writeInteger(UInt8(ascii: slots[0].isOpen ? "," : "["))
                bytes.writeBytes(reply)
                pendingBytes -= reply.count
                slots[0].isOpen = true
                slots[0].replies[slots[0].next] = .silent
            }
            slots[0].next += 1
        }
        let isEnd = slots[0].next == slots[0].replies.count
        guard isEnd || slots[0].next > start else { return nil }
        if isEnd, slots[0].isOpen { bytes.writeStaticString("]\n") }
        let piece = bytes.readableBytes > 0 ? bytes : nil
        guard isEnd else { return Piece(line: first, bytes: piece, isEnd: false) }
        let tasks = slots[0].tasks
        return Piece(line: removeFirst(), bytes: piece, isEnd: true, tasks: tasks)
    }
}
