// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl
import TimerWords

/// Both streams of a run as lines, each behind its date and its stream.
struct OutputLines {
    /// A longer line is cut, so that its beginning need not be kept for long.
    static let longest = 1 << 20

    let dates: LocalDate
    /// Whether what a terminal would obey is spelled out.
    let isForTerminal: Bool
    /// The lines whose ends have not come, with the dates of their first bytes.
    private var open: [StandardStream: (at: Timestamp, bytes: [UInt8])] = [:]

    init(dates: LocalDate, isForTerminal: Bool = false) {
        (self.dates, self.isForTerminal) = (dates, isForTerminal)
    }

    /// The lines that are complete with a chunk.
    mutating func take(_ chunk: OutputReply.Chunk) -> [UInt8] {
        var lines: [UInt8] = []
        var rest = chunk.bytes[...]
        while !rest.isEmpty {
            let part = rest.prefix { $0 != UInt8(ascii: "\n") }
            rest = rest.dropFirst(part.count)
            var line = open[chunk.stream] ?? (chunk.at, [])
            line.bytes += part
            open[chunk.stream] = line
            if rest.first == UInt8(ascii: "\n") || line.bytes.count >= Self.longest {
                lines += end(chunk.stream)
                if rest.first == UInt8(ascii: "\n") { rest = rest.dropFirst() }
            }
        }
        return lines
    }

    /// A line that says of bytes that are not there, behind what is left of the line before.
    mutating func gap(_ count: Int64, of stream: StandardStream, at date: Timestamp) -> [UInt8] {
        end(stream) + line(date, stream, Array("[\(OutputLines.words(count)) left out]".utf8))
    }

    /// "1 byte is", "5 bytes are".
    static func words(_ count: Int64) -> String {
        count == 1 ? "1 byte is" : "\(count) bytes are"
    }

    /// What has no end of line.
    mutating func end() -> [UInt8] { StandardStream.allCases.flatMap { end($0) } }

    private mutating func end(_ stream: StandardStream) -> [UInt8] {
        guard let open = open.removeValue(forKey: stream) else { return [] }
        return line(open.at, stream, isForTerminal ? Self.shown(open.bytes) : open.bytes)
    }

    /// A line as a terminal may have it: none writes over its own date.
    private static func shown(_ line: [UInt8]) -> [UInt8] {
        var text = TerminalText(keepsReturns: false)
        return text.take(line.last == UInt8(ascii: "\r") ? line.dropLast() : line[...]) + text.end()
    }

    private func line(_ date: Timestamp, _ stream: StandardStream, _ bytes: [UInt8]) -> [UInt8] {
        Array("\(dates.stamp(date)) \(stream == .stdout ? "out" : "err") ".utf8) + bytes
            + [UInt8(ascii: "\n")]
    }
}
