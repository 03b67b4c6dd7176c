// SPDX-License-Identifier: Apache-2.0

import HTML
import TimerControl

/// Makes markup of both streams of a run, in the order in which they came, reply by reply.
struct OutputDocument: Sendable {
    /// Nil for both.
    let only: StandardStream?
    /// Up to where each stream is known.
    private(set) var position: OutputPosition
    /// From where on what is not kept is still to be told of: of a run that goes on more may follow at once.
    private var untold: [StandardStream: Int64] = [:]
    private var stdout = OutputPainter(.stdout)
    private var stderr = OutputPainter(.stderr)

    init(only: StandardStream?, after position: OutputPosition = OutputPosition()) {
        (self.only, self.position) = (only, position)
    }

    /// Up to where it is shown: what is behind would begin anew.
    var shown: OutputPosition {
        OutputPosition(
            stdout: (untold[.stdout] ?? position.stdout) - Int64(stdout.held),
            stderr: (untold[.stderr] ?? position.stderr) - Int64(stderr.held)
        )
    }

    mutating func paint(_ reply: OutputReply) -> Node {
        var nodes: [Node] = []
        for chunk in reply.chunks {
            let bytes = chunk.bytes
            nodes.append(gap(to: chunk.offset, of: chunk.stream))
            position[chunk.stream] += Int64(bytes.count)
            nodes.append(paint(bytes, of: chunk.stream))
        }
        // Behind the last of it there is nothing that is kept.
        guard reply.more != true else { return .group(nodes) }
        for stream in StandardStream.allCases {
            let end = reply.end(of: stream)
            guard !reply.running else {
                pass(to: end, of: stream)
                continue
            }
            nodes.append(gap(to: end, of: stream))
            nodes.append(paint([], of: stream, isLast: true))
        }
        return .group(nodes)
    }

    /// Goes on to an offset, and says how many bytes up to there are not kept.
    private mutating func gap(to offset: Int64, of stream: StandardStream) -> Node {
        let words = stream.gap(from: untold[stream] ?? position[stream], to: offset)
        (position[stream], untold[stream]) = (offset, nil)
        guard let words, only == nil || only == stream else { return .empty }
        // What is held is not continued behind it.
        return .group([
            paint([], of: stream, isLast: true), span(.class("gap")) { "\(words)\n" },
        ])
    }

    /// Goes on to an offset up to where nothing is kept, which is told with what follows.
    private mutating func pass(to offset: Int64, of stream: StandardStream) {
        guard offset > position[stream] else { return }
        untold[stream] = untold[stream] ?? position[stream]
        position[stream] = offset
    }

    private mutating func paint(
        _ bytes: [UInt8],
        of stream: StandardStream,
        isLast: Bool = false
    ) -> Node {
        guard only == nil || only == stream else { return .empty }
        return stream == .stdout
            ? stdout.paint(bytes, isLast: isLast) : stderr.paint(bytes, isLast: isLast)
    }
}

extension OutputReply {
    /// How many bytes the run has written to a stream.
    func end(of stream: StandardStream) -> Int64 {
        stream == .stdout ? stdout.bytes : stderr.bytes
    }
}

extension StandardStream {
    /// What is said in place of bytes that are not kept; nil where there are none between.
    func gap(from known: Int64, to offset: Int64) -> String? {
        let count = Int(offset - known)
        guard count > 0 else { return nil }
        let verb = count == 1 ? "is" : "are"
        return "here \(count.of("byte")) of \(rawValue) \(verb) not kept"
    }
}
