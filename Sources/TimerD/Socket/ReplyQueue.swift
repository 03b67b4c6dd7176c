// SPDX-License-Identifier: Apache-2.0

import DequeModule
import NIOCore

/// Puts the replies of one connection back into the order of its lines.
///
/// Each line has a slot: a single request, or a batch whose replies leave as one array.
struct ReplyQueue {
    /// The place of one reply: its line, and which of that line's it is.
    struct Ticket: Hashable, Sendable {
        var line: Int
        fileprivate var element: Int
    }

    private struct Slot {
        var isBatch: Bool
        /// The replies that are there, by element; a notification's stays nil.
        var replies: [[UInt8]?]
        var missing: Int
        var size = 0
    }

    private var slots: Deque<Slot> = []
    /// The number of the first slot.
    private var first = 0
    /// The bytes of all replies that wait for one before them.
    private(set) var heldBytes = 0

    var isEmpty: Bool { slots.isEmpty }

    /// Makes a place for the reply to a single request.
    mutating func addLine() -> Ticket {
        slots.append(Slot(isBatch: false, replies: [nil], missing: 1))
        return Ticket(line: first + slots.count - 1, element: 0)
    }

    /// Makes places for the replies to a batch.
    mutating func addBatch(of count: Int) -> [Ticket] {
        slots.append(
            Slot(isBatch: true, replies: Array(repeating: nil, count: count), missing: count)
        )
        let line = first + slots.count - 1
        return (0..<count).map { Ticket(line: line, element: $0) }
    }

    /// Puts a reply into its place, once; nil for a notification, which has none.
    mutating func fill(_ ticket: Ticket, with reply: [UInt8]?) {
        let size = reply?.count ?? 0
        heldBytes += size
        slots[ticket.line - first].size += size
        slots[ticket.line - first].replies[ticket.element] = reply
        slots[ticket.line - first].missing -= 1
    }

    /// The bytes of the replies that are there for the batch of a ticket.
    func size(of ticket: Ticket) -> Int { slots[ticket.line - first].size }

    /// The number of the next line whose replies are all there, and what to send; nil for none yet.
    mutating func next() -> (line: Int, reply: ByteBuffer?)? {
        guard let slot = slots.first, slot.missing == 0 else { return nil }
        slots.removeFirst()
        defer { first += 1 }
        heldBytes -= slot.size
        let replies = slot.replies.compactMap { $0 }
        guard slot.isBatch else { return (first, replies.first.map(ByteBuffer.line)) }
        guard !replies.isEmpty else { return (first, nil) }
        var array = ByteBufferAllocator().buffer(capacity: slot.size + replies.count + 2)
        for (index, reply) in replies.enumerated() {
            array.writeInteger(UInt8(ascii: index == 0 ? "[" : ","))
            array.writeBytes(reply)
        }
        array.writeStaticString("]\n")
        return (first, array)
    }
}
