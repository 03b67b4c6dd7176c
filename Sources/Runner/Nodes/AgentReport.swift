// SPDX-License-Identifier: Apache-2.0

/// What the agent of a node says beside what its runner does: docs/runner-protocol.md.
enum AgentReport {
    case ready(run: Int64)
    case declined(run: Int64, RunnerReport.Refusal, reason: String)
    case words(run: Int64, String)
    case room(Int)

    /// The frame, complete.
    var frame: [UInt8] {
        switch self {
        case .ready(let run):
            var frame = FrameWriter(kind: 192)
            frame.put(run)
            return frame.complete
        case .declined(let run, let refusal, let reason):
            var frame = FrameWriter(kind: 193)
            frame.put(run)
            frame.put(refusal.rawValue)
            frame.put(Array(reason.utf8))
            return frame.complete
        case .words(let run, let words):
            var frame = FrameWriter(kind: 194)
            frame.put(run)
            frame.put(Array(words.utf8))
            return frame.complete
        case .room(let limit):
            var frame = FrameWriter(kind: 195)
            frame.put(UInt32(clamping: limit))
            return frame.complete
        }
    }
}
