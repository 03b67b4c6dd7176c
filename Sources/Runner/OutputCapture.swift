// SPDX-License-Identifier: Apache-2.0

/// The first quarter and the last three quarters of what is kept of a stream, and the number of bytes between.
///
/// Holds no more than `limit` bytes however much is appended, and takes memory only for what came.
struct OutputCapture {
    let limit: Int
    /// How many bytes came in all.
    private(set) var end: Int64 = 0
    private(set) var head: [UInt8] = []
    /// Whether what comes next still belongs to the head.
    private var isHead: Bool
    private var ring: [UInt8] = []
    /// Where in a full ring the oldest byte is.
    private var oldest = 0

    /// Within how many bytes the end of a line is looked for, so that no half of a line stands at a gap.
    static let longestLine = 4096

    init(limit: Int) {
        self.limit = limit
        isHead = limit / 4 > 0
    }

    /// Where the tail begins.
    var tailStart: Int64 { end - Int64(ring.count) }

    /// The bytes that came and are no longer kept.
    var gap: Range<Int64> { Int64(head.count)..<tailStart }

    /// How many these are.
    var dropped: Int { gap.count }

    /// The bytes kept, oldest first.
    var bytes: [UInt8] { head + ring[oldest...] + ring[..<oldest] }

    private var ringLimit: Int { limit - limit / 4 }

    mutating func append(_ new: UnsafeRawBufferPointer) {
        end += Int64(new.count)
        guard isHead else { return appendToTail(new) }
        let room = limit / 4 - head.count
        head.append(contentsOf: new.prefix(room))
        isHead = head.count < limit / 4
        appendToTail(UnsafeRawBufferPointer(rebasing: new.dropFirst(room)))
    }

    private mutating func appendToTail(_ new: UnsafeRawBufferPointer) {
        guard new.count < ringLimit else {
            ring = Array(new.suffix(ringLimit))
            oldest = 0
            return
        }
        let room = ringLimit - ring.count
        ring.append(contentsOf: new.prefix(room))
        overwrite(UnsafeRawBufferPointer(rebasing: new.dropFirst(room)))
    }

    /// Bytes up to `position` came and were lost on the way: of the tail, what was kept is no longer next to what
    /// comes.
    mutating func skip(to position: Int64) {
        guard position > end else { return }
        end = position
        isHead = false
        ring = []
        oldest = 0
    }

    /// Puts fewer bytes than it holds over the oldest ones of a full ring.
    private mutating func overwrite(_ new: UnsafeRawBufferPointer) {
        guard !new.isEmpty else { return }
        let untilEnd = min(new.count, ringLimit - oldest)
        ring.withUnsafeMutableBytes { ring in
            let tail = UnsafeMutableRawBufferPointer(rebasing: ring[oldest...])
            tail.copyMemory(from: UnsafeRawBufferPointer(rebasing: new.prefix(untilEnd)))
            ring.copyMemory(from: UnsafeRawBufferPointer(rebasing: new.dropFirst(untilEnd)))
        }
        oldest = (oldest + new.count) % ringLimit
    }

    // MARK: - What is shown

    /// What is kept, cut at the ends of lines beside a gap where there are such near it.
    var shown: (headEnd: Int64, tailStart: Int64) {
        guard dropped > 0 else { return (Int64(head.count), tailStart) }
        let lineEnd = UInt8(ascii: "\n")
        let headEnd = head.suffix(Self.longestLine).lastIndex(of: lineEnd).map { $0 + 1 }
        let first = (0..<max(min(ring.count - 1, Self.longestLine), 0)).first {
            ring[(oldest + $0) % ring.count] == lineEnd
        }
        return (Int64(headEnd ?? head.count), tailStart + Int64(first.map { $0 + 1 } ?? 0))
    }

    /// How many bytes are dropped, or are not shown beside those.
    var notShown: Int64 { shown.tailStart - shown.headEnd }

    /// Copies bytes that are kept: all from the head, or all from the tail.
    func copy(from position: Int64, count: Int) -> [UInt8] {
        let count = Int(min(Int64(count), end - position))
        if position < head.count { return Array(head[Int(position)...].prefix(count)) }
        let start = oldest + Int(position - tailStart)
        guard start < ring.count else {
            return Array(ring[(start - ring.count)...].prefix(count))
        }
        let first = ring[start...].prefix(count)
        return Array(first + ring.prefix(count - first.count))
    }
}
