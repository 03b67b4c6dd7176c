// SPDX-License-Identifier: Apache-2.0

/// Where the bytes of a relayed connection stand on one of its two nodes.
///
/// Each node sends at most `window` bytes that the other has not handed on, so that a client or daemon that takes
/// nothing costs no more than that.
struct RelayedStream {
    static let window = 256 * 1024

    /// Bytes that were sent to the other node, and that it has not told as taken.
    private var untaken: Int
    /// Bytes from the other node that are still to be handed on here.
    private(set) var unwritten = ByteQueue()
    /// Bytes that were handed on, and of which the other node was not told.
    private var untold = 0
    /// This node has told the other that all was sent.
    private(set) var hasFinished = false
    private(set) var otherHasFinished = false

    /// `mayBegin`: false where the other node has to allow it first.
    init(mayBegin: Bool) { untaken = mayBegin ? 0 : Self.window }

    /// How many bytes may be sent to the other node now.
    var room: Int { hasFinished ? 0 : Self.window - untaken }

    /// Nothing goes to the other node or comes from it any more.
    var isOver: Bool { hasFinished && otherHasFinished }

    mutating func send(_ count: Int) { untaken += count }

    mutating func finish() { hasFinished = true }

    /// Notes what the other node has taken; false where that is more than it was sent.
    mutating func taken(_ count: UInt32) -> Bool {
        guard count <= untaken else { return false }
        untaken -= Int(count)
        return true
    }

    /// Notes what the other node has sent; false where that is more than it may.
    mutating func receive(_ bytes: [UInt8]) -> Bool {
        guard !otherHasFinished, unwritten.count + untold + bytes.count <= Self.window else {
            return false
        }
        unwritten.append(bytes)
        return true
    }

    mutating func otherFinished() { otherHasFinished = true }

    /// What this node itself has to say to its client.
    mutating func append(own bytes: [UInt8]) { unwritten.append(bytes) }

    /// Notes what was handed on; answers how much the other node is to be told as taken, if it is worth it.
    mutating func wrote(_ count: Int) -> UInt32? {
        unwritten.removeFirst(count)
        untold += count
        guard untold >= Self.window / 4 else { return nil }
        defer { untold = 0 }
        return UInt32(untold)
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
