// SPDX-License-Identifier: Apache-2.0

/// Where the bytes of a relayed connection stand on one of its two nodes.
///
/// Each node sends no more than the other has promised to keep for it until it is handed on, so that a client or daemon that takes
/// nothing costs no more than that. A promise begins with `least`, and doubles up to `most` as long as all of it is taken.
struct RelayedStream {
    static let least = 16 * 1024
    static let most = 256 * 1024

    /// How many bytes more the other node has promised to keep.
    private var mayBeSent: Int
    /// What this node has promised.
    private(set) var promised: Int
    /// Bytes from the other node that are still to be handed on here.
    private(set) var unwritten = ByteQueue()
    /// Bytes that were handed on, and of which the other node was not told.
    private var untold = 0
    /// This node has told the other that all was sent.
    private(set) var hasFinished = false
    private(set) var otherHasFinished = false

    /// `mayBegin`: false where the other node has to allow it first; `promised`: what each of the two begins with.
    init(mayBegin: Bool, promised: Int = least) {
        mayBeSent = mayBegin ? promised : 0
        self.promised = promised
    }

    /// How many bytes may be sent to the other node now.
    var room: Int { hasFinished ? 0 : mayBeSent }

    /// Nothing goes to the other node or comes from it any more.
    var isOver: Bool { hasFinished && otherHasFinished }

    mutating func send(_ count: Int) { mayBeSent -= count }

    mutating func finish() { hasFinished = true }

    /// Notes how much more the other node takes; false where that is more than any node may promise.
    mutating func taken(_ count: UInt32) -> Bool {
        guard Int(count) <= Self.most - mayBeSent else { return false }
        mayBeSent += Int(count)
        return true
    }

    /// Notes what the other node has sent; false where that is more than it may.
    mutating func receive(_ bytes: [UInt8]) -> Bool {
        guard !otherHasFinished, unwritten.count + untold + bytes.count <= promised else {
            return false
        }
        unwritten.append(bytes)
        return true
    }

    mutating func otherFinished() { otherHasFinished = true }

    /// What this node itself has to say to its client.
    mutating func append(own bytes: [UInt8]) { unwritten.append(bytes) }

    /// Notes what was handed on; answers how much more the other node may send, if it is worth telling.
    ///
    /// `growth`: how much more may be promised than before.
    mutating func wrote(_ count: Int, growth: Int) -> UInt32? {
        unwritten.removeFirst(count)
        untold += count
        guard untold >= promised / 4 else { return nil }
        let more = unwritten.isEmpty ? min(promised, Self.most - promised, max(0, growth)) : 0
        defer { untold = 0 }
        promised += more
        return UInt32(untold + more)
    }
}

/// Bytes that are appended at one end and taken at the other.
struct ByteQueue {
    private var bytes: [UInt8] = []
    private var head = 0

    var count: Int { bytes.count - head }
    var isEmpty: Bool { count == 0 }

    mutating func append(_ more: [UInt8]) { bytes.append(contentsOf: more) }

    mutating func removeFirst(_ count: Int) {
        head += count
        if head == bytes.count {
            // A busy connection keeps its memory, an idle one has none.
            bytes.removeAll(keepingCapacity: bytes.capacity <= 16 * 1024)
            head = 0
        } else if head >= 64 * 1024 {
            bytes.removeFirst(head)
            head = 0
        }
    }

    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[head...])) }
    }
}
