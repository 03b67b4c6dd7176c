// SPDX-License-Identifier: Apache-2.0

/// The last bytes of a stream, and the number of those that came before them.
///
/// Holds no more than `limit` bytes however much is appended, and takes memory only for what came.
struct OutputCapture {
    let limit: Int
    /// How many bytes came and are no longer kept.
    private(set) var dropped = 0
    private var ring: [UInt8] = []
    /// Where in a full ring the oldest byte is.
    private var oldest = 0

    init(limit: Int) {
        self.limit = limit
    }

    /// How many bytes came in all.
    var end: Int64 { Int64(dropped + ring.count) }

    /// The bytes kept, oldest first.
    var bytes: [UInt8] {
        Array(ring[oldest...] + ring[..<oldest])
    }

    mutating func append(_ new: UnsafeRawBufferPointer) {
        guard new.count < limit else {
            dropped += ring.count + new.count - limit
            ring = Array(new.suffix(limit))
            oldest = 0
            return
        }
        let room = limit - ring.count
        ring.append(contentsOf: new.prefix(room))
        overwrite(UnsafeRawBufferPointer(rebasing: new.dropFirst(room)))
    }

    /// Bytes up to `position` came and were lost on the way: what was kept is no longer next to what comes.
    mutating func skip(to position: Int64) {
        guard position > end else { return }
        dropped = Int(position)
        ring = []
        oldest = 0
    }

    /// Puts fewer than `limit` bytes over the oldest ones of a full ring.
    private mutating func overwrite(_ new: UnsafeRawBufferPointer) {
        guard !new.isEmpty else { return }
        let untilEnd = min(new.count, limit - oldest)
        ring.withUnsafeMutableBytes { ring in
            let tail = UnsafeMutableRawBufferPointer(rebasing: ring[oldest...])
            tail.copyMemory(from: UnsafeRawBufferPointer(rebasing: new.prefix(untilEnd)))
            ring.copyMemory(from: UnsafeRawBufferPointer(rebasing: new.dropFirst(untilEnd)))
        }
        dropped += new.count
        oldest = (oldest + new.count) % limit
    }
}
