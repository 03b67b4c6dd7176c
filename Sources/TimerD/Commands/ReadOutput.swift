// SPDX-License-Identifier: Apache-2.0

import Foundation
import Runner
import Schedules
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
                    let reading = output.read(after: after, most: OutputReply.most)
                    return OutputReply(id, reading, running: true)
                }
            }
            let (run, output) = try await read(for: caller) {
                (try $0.run(id), try $0.output(of: id, after: after, most: OutputReply.most))
            }
            guard let run else { throw ControlError.noRun(id) }
            let isOver = run.outcome != nil
            if isOver || request.wait != true {
                return OutputReply(id, output, running: !isOver)
            }
            // The row of a run is stored some milliseconds before its date, and it begins at that date.
            await scheduler.outputs.waitForBegin(after: begun, within: .seconds(1))
            try Task.checkCancellation()
        }
    }
}

extension OutputReply {
    /// How many bytes a reply tells at most, as they are written there.
    static let most = 262_144

    init(_ run: RunID, _ reading: OutputReading, running: Bool) {
        var room = Self.most
        var chunks: [Chunk] = []
        var isCut = false
        for piece in reading.pieces where !isCut {
            let (chunk, count) = Chunk.fitting(piece, into: &room)
            isCut = count < piece.bytes.count
            if count > 0 { chunks.append(chunk) }
        }
        self.init(
            run: run,
            running: running,
            chunks: chunks,
            more: reading.hasMore || isCut ? true : nil,
            stdout: reading.stdout,
            stderr: reading.stderr
        )
    }
}

extension OutputReply.Chunk {
    /// What the fields of a chunk take besides its bytes.
    private static let overhead = 100

    /// As much of a piece as there is room for: text where the bytes are UTF-8, else base64; and how many of its bytes
    /// these are.
    static func fitting(_ piece: OutputPiece, into room: inout Int) -> (chunk: Self, count: Int) {
        var chunk = Self(
            stream: piece.stream,
            at: Timestamp(microseconds: piece.atMicroseconds),
            offset: piece.offset,
            text: nil
        )
        room -= overhead
        if let text = String(validating: piece.bytes, as: UTF8.self) {
            let whole = text.unicodeScalars.prefix { scalar in
                let cost = cost(of: scalar)
                guard cost <= room else { return false }
                room -= cost
                return true
            }
            chunk.text = String(whole)
            return (chunk, whole.reduce(0) { $0 + UTF8.width($1) })
        }
        let bytes = piece.bytes.prefix(max(room, 0) / 4 * 3)
        room -= (bytes.count + 2) / 3 * 4
        chunk.base64 = Data(bytes).base64EncodedString()
        return (chunk, bytes.count)
    }

    /// How many bytes JSON takes for it.
    private static func cost(of scalar: Unicode.Scalar) -> Int {
        switch scalar {
        case "\"", "\\", "\n", "\t", "\r": 2
        case "\u{0}"..<"\u{20}": 6
        default: UTF8.width(scalar)
        }
    }
}
