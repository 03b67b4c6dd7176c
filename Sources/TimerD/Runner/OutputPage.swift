// SPDX-License-Identifier: Apache-2.0

import JobModel
import TimerControl

/// A part of what a run wrote, and how much that is in all.
struct OutputReading: Sendable {
    var pieces: [OutputPiece] = []
    /// Whether more is kept behind these.
    var hasMore = false
    var stdout = Total()
    var stderr = Total()

    struct Total: Hashable, Sendable {
        var bytes: Int64 = 0
        var dropped: Int64 = 0
    }
}

/// The next part of what a run wrote, in the order in which it came.
struct OutputPage {
    /// Up to where the reader has it.
    let after: OutputPosition
    /// How many bytes are read at most.
    let most: Int
    private(set) var pieces: [OutputPiece] = []
    private(set) var hasMore = false
    private var count = 0

    init(after: OutputPosition, most: Int) {
        self.after = after
        self.most = most
    }

    /// Takes what is wanted of a span, whose bytes `copy` has from an offset on; false once there is more than is read.
    mutating func take(
        _ span: OutputSpan,
        _ copy: (_ offset: Int64, _ count: Int) -> [UInt8]
    ) -> Bool {
        let known = span.stream == .stdout ? after.stdout : after.stderr
        let offset = max(span.offset, known)
        let wanted = Int(span.offset) + span.count - Int(offset)
        guard wanted > 0 else { return true }
        let bytes = copy(offset, min(wanted, most - count))
        hasMore = bytes.count < wanted
        count += bytes.count
        if let last = pieces.indices.last, pieces[last].stream == span.stream,
            pieces[last].atMicroseconds == span.atMicroseconds, pieces[last].end == offset
        {
            pieces[last].bytes += bytes
        } else if !bytes.isEmpty {
            pieces.append(
                OutputPiece(
                    stream: span.stream,
                    at: span.atMicroseconds,
                    offset: offset,
                    bytes: bytes
                )
            )
        }
        return !hasMore
    }
}
