// SPDX-License-Identifier: Apache-2.0

import HTML
import TimerControl

/// Makes markup of both streams of a run, in the order in which they came, reply by reply.
struct OutputDocument: Sendable {
    /// Nil for both.
    let only: StandardStream?
    /// Up to where each stream is known.
    private(set) var position: OutputPosition
    private var stdout = OutputPainter(.stdout)
    private var stderr = OutputPainter(.stderr)

    init(only: StandardStream?, after position: OutputPosition = OutputPosition()) {
        (self.only, self.position) = (only, position)
    }

    /// Up to where it is shown: what is behind would begin anew.
    var shown: OutputPosition {
        OutputPosition(
            stdout: position.stdout - Int64(stdout.held),
            stderr: position.stderr - Int64(stderr.held)
        )
    }

    mutating func paint(_ reply: OutputReply) -> Node {
        var nodes: [Node] = []
        for chunk in reply.chunks {
            let bytes = chunk.bytes
            let known = chunk.stream == .stdout ? position.stdout : position.stderr
            let isShown = only == nil || only == chunk.stream
            if isShown, let gap = chunk.gap(behind: known) {
                nodes.append(span(.class("gap")) { "\(gap)\n" })
            }
            let end = chunk.offset + Int64(bytes.count)
            switch chunk.stream {
            case .stdout: position.stdout = end
            case .stderr: position.stderr = end
            }
            guard isShown else { continue }
            nodes.append(chunk.stream == .stdout ? stdout.paint(bytes) : stderr.paint(bytes))
        }
        if reply.more != true {
            position = OutputPosition(stdout: reply.stdout.bytes, stderr: reply.stderr.bytes)
            if !reply.running {
                nodes += [stdout.paint([], isLast: true), stderr.paint([], isLast: true)]
            }
        }
        return .group(nodes)
    }
}

extension OutputReply.Chunk {
    /// What was written.
    var bytes: [UInt8] {
        if let text { return Array(text.utf8) }
        return base64.flatMap { Base64.decoded($0) } ?? []
    }

    /// What is said in place of bytes before it that are not kept; nil where it goes on from `known`.
    func gap(behind known: Int64) -> String? {
        let count = Int(offset - known)
        guard count > 0 else { return nil }
        let verb = count == 1 ? "is" : "are"
        return "here \(count.of("byte")) of \(stream.rawValue) \(verb) not kept"
    }
}
