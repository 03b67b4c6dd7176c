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
            let live = scheduler.outputs[id]
            if request.wait == true { await live?.waitForMore(than: after) }
            // Others are not to wait for what this user has asked for.
            if live?.isStored != false { await scheduler.flush(for: caller) }
            // From here on until the reply is made it keeps others waiting.
            try await caller.place?.take()
            if let live, !live.isStored {
                let reading = live.read(after: after, most: OutputReply.most)
                try requireLead()
                return OutputReply(id, reading, running: true)
            }
            let (run, output) = try await readStored {
                (try $0.run(id), try $0.output(of: id, after: after, most: OutputReply.most))
            }
            guard let run else { throw ControlError.noRun(id) }
            let isOver = run.outcome != nil
            if isOver || request.wait != true {
                return OutputReply(id, output, running: !isOver)
            }
            caller.place?.giveBack()
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
            let count = count(of: piece.bytes, fitting: &room)
            let isWhole = count == piece.bytes.count
            chunk.text = isWhole ? text : String(decoding: piece.bytes[..<count], as: UTF8.self)
            return (chunk, count)
        }
        let bytes = piece.bytes.prefix(max(room, 0) / 4 * 3)
        room -= (bytes.count + 2) / 3 * 4
        chunk.base64 = Data(bytes).base64EncodedString()
        return (chunk, bytes.count)
    }

    /// How many bytes of a text there is room for, without a part of a character.
    private static func count(of text: [UInt8], fitting room: inout Int) -> Int {
        var end = 0
        while end < text.count {
            let cost = cost(of: text[end])
            guard cost <= room else { break }
            room -= cost
            end += 1
        }
        // Back to the first byte of the character that it ends in.
        while end < text.count, text[end] & 0b1100_0000 == 0b1000_0000 {
            end -= 1
            room += 1
        }
        return end
    }

    /// How many bytes JSON takes for a byte of UTF-8.
    private static func cost(of byte: UInt8) -> Int {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "\n"), UInt8(ascii: "\t"),
            UInt8(ascii: "\r"):
            2
        case 0..<0x20: 6
        default: 1
        }
    }
}
