// SPDX-License-Identifier: Apache-2.0

import Foundation
import TimerControl

extension CommandHandler {
    /// `run.output`: what a run has written, now or once there is more of it.
    ///
    /// Asks the runs in progress first and then the store: a run's output leaves the first only after it is
    /// in the second. A cancelled task stops waiting.
    func readOutput(_ request: ReadOutput, _ caller: Caller) async throws -> Answer {
        let id = request.id
        _ = try await run(id, caller)
        let after = request.after ?? OutputPosition()
        while true {
            let begun = scheduler.outputs.begun
            if let output = scheduler.outputs[id] {
                if request.wait == true { await output.waitForMore(than: after) }
                if !output.isStored {
                    return OutputReply(id, output.captured, after: after, running: true)
                }
            }
            let (run, output) = try await read(for: caller) {
                (try $0.run(id), try $0.output(of: id))
            }
            guard let run else { throw ControlError.noRun(id) }
            let isOver = run.outcome != nil
            if isOver || request.wait != true {
                return OutputReply(id, output, after: after, running: !isOver)
            }
            // The row of a run is stored some milliseconds before its date, and it begins at that date.
            await scheduler.outputs.waitForBegin(after: begun, within: .seconds(1))
            try Task.checkCancellation()
        }
    }
}

extension OutputReply {
    init(_ run: RunID, _ output: CapturedOutput, after: OutputPosition, running: Bool) {
        self.init(
            run: run,
            running: running,
            stdout: Stream(output.stdout, dropped: output.stdoutDropped, after: after.stdout),
            stderr: Stream(output.stderr, dropped: output.stderrDropped, after: after.stderr)
        )
    }
}

extension OutputReply.Stream {
    /// Text where the bytes are UTF-8, else base64.
    ///
    /// `kept` came after `dropped` bytes; those up to `after` are not wanted.
    init(_ kept: [UInt8], dropped: Int, after: Int64) {
        let end = Int64(dropped + kept.count)
        let offset = min(max(Int64(dropped), after), end)
        let bytes = kept.suffix(Int(end - offset))
        let text = String(validating: bytes, as: UTF8.self)
        self.init(
            text: text,
            base64: text == nil ? Data(bytes).base64EncodedString() : nil,
            offset: offset,
            dropped: Int64(dropped)
        )
    }
}
