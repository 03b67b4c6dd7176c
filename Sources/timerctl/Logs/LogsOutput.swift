// SPDX-License-Identifier: Apache-2.0

import Glibc
import Schedules
import TimerControl
import TimerWords

/// Where `timerctl logs` writes what a run wrote: each stream to the one of the same name, or both as lines with dates.
struct LogsOutput {
    /// Nil where the bytes are written without dates.
    private var lines: OutputLines?
    /// Those of this process's streams that are terminals, and not to have the bytes as they are.
    private var terminals: [StandardStream: TerminalText] = [:]

    /// `isRaw`: whether terminals have the bytes as they are, too.
    init(timestamps: Bool, isRaw: Bool) {
        if timestamps {
            let isForTerminal = !isRaw && isatty(STDOUT_FILENO) == 1
            lines = OutputLines(
                dates: LocalDate(now: .now, zone: .local),
                isForTerminal: isForTerminal
            )
        } else if !isRaw {
            let descriptors = [StandardStream.stdout: STDOUT_FILENO, .stderr: STDERR_FILENO]
            for (stream, descriptor) in descriptors where isatty(descriptor) == 1 {
                terminals[stream] = TerminalText(keepsReturns: true)
            }
        }
    }

    mutating func write(_ chunk: OutputReply.Chunk) throws(Failure) {
        if let bytes = lines?.take(chunk) { return try Output.write(bytes, toError: false) }
        try write(terminals[chunk.stream]?.take(chunk.bytes) ?? chunk.bytes, chunk.stream)
    }

    /// Says how many bytes are missing here.
    ///
    /// `date`: that of what is beside them.
    mutating func writeGap(
        _ count: Int64,
        of stream: StandardStream,
        at date: Timestamp
    ) throws(Failure) {
        if let line = lines?.gap(count, of: stream, at: date) {
            return try Output.write(line, toError: false)
        }
        try end(stream)
        let name = stream == .stdout ? "standard output" : "standard error"
        Output.complain("\(OutputLines.words(count)) left out of \(name) here")
    }

    /// Writes what has been waiting for more.
    mutating func end() throws(Failure) {
        if let bytes = lines?.end() { try Output.write(bytes, toError: false) }
        for stream in StandardStream.allCases { try end(stream) }
    }

    private mutating func end(_ stream: StandardStream) throws(Failure) {
        if let bytes = terminals[stream]?.end() { try write(bytes, stream) }
    }

    private func write(_ bytes: [UInt8], _ stream: StandardStream) throws(Failure) {
        try Output.write(bytes, toError: stream == .stderr)
    }
}
