// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import TimerControl

/// How far a run's output has been read, over several replies.
struct OutputReader {
    /// The end of what has been read.
    private(set) var position = OutputPosition()

    /// Goes on to the end of a reply; returns how many bytes of each stream before it are lost.
    mutating func read(_ reply: OutputReply) -> OutputPosition {
        let lost = OutputPosition(
            stdout: max(reply.stdout.offset - position.stdout, 0),
            stderr: max(reply.stderr.offset - position.stderr, 0)
        )
        position.stdout = reply.stdout.offset + Int64(reply.stdout.bytes.count)
        position.stderr = reply.stderr.offset + Int64(reply.stderr.bytes.count)
        return lost
    }
}

extension OutputReply.Stream {
    /// The bytes that the command wrote.
    var bytes: [UInt8] {
        if let text { return Array(text.utf8) }
        return base64.flatMap { Data(base64Encoded: $0) }.map(Array.init) ?? []
    }
}
