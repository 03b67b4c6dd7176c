// SPDX-License-Identifier: Apache-2.0

import TimerControl

/// How far a run's output has been read, over several replies.
struct OutputReader {
    /// The end of what has been read.
    private(set) var position = OutputPosition()

    /// What comes next.
    enum Item: Hashable {
        case chunk(OutputReply.Chunk)
        /// So many bytes of a stream are not there.
        case gap(StandardStream, Int64)
    }

    /// Goes on to the end of a reply; returns what is in it, with what is missing.
    mutating func read(_ reply: OutputReply) -> [Item] {
        var items: [Item] = []
        for chunk in reply.chunks {
            items += gap(before: chunk.offset, of: chunk.stream)
            items.append(.chunk(chunk))
            position[chunk.stream] = chunk.offset + Int64(chunk.bytes.count)
        }
        // Behind the last of it there is nothing that is kept.
        guard reply.more != true else { return items }
        items += gap(before: reply.stdout.bytes, of: .stdout)
        items += gap(before: reply.stderr.bytes, of: .stderr)
        return items
    }

    /// Whether all is read that had been written then.
    func isBehind(_ reply: OutputReply) -> Bool {
        position.stdout >= reply.stdout.bytes && position.stderr >= reply.stderr.bytes
    }

    private mutating func gap(before offset: Int64, of stream: StandardStream) -> [Item] {
        let count = offset - position[stream]
        guard count > 0 else { return [] }
        position[stream] = offset
        return [.gap(stream, count)]
    }
}
