// SPDX-License-Identifier: Apache-2.0

package import JobModel

/// A part of what a run wrote, and how much that is in all.
package struct OutputReading: Sendable {
    package var pieces: [OutputPiece] = []
    /// Whether more is kept behind these.
    package var hasMore = false
    package var stdout: OutputReply.Total
    package var stderr: OutputReply.Total

    package init(
        pieces: [OutputPiece] = [],
        hasMore: Bool = false,
        stdout: OutputReply.Total = OutputReply.Total(),
        stderr: OutputReply.Total = OutputReply.Total()
    ) {
        self.pieces = pieces
        self.hasMore = hasMore
        self.stdout = stdout
        self.stderr = stderr
    }
}

/// The next part of what a run wrote, in the order in which it came.
package struct OutputPage {
    /// Up to where the reader has it.
    package let after: OutputPosition
    /// How many bytes are read at most.
    package let most: Int
    package private(set) var pieces: [OutputPiece] = []
    package private(set) var hasMore = false
    private var count = 0

    package init(after: OutputPosition, most: Int) {
        self.after = after
        self.most = most
    }

    /// Takes what is wanted of a span, whose bytes `copy` has from an offset on; false once there is more than is read.
    package mutating func take(
        _ span: OutputSpan,
        _ copy: (_ offset: Int64, _ count: Int) -> [UInt8]
    ) -> Bool {
        let known = after[span.stream]
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
