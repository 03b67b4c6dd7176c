// SPDX-License-Identifier: Apache-2.0

/// Where a command writes to.
public enum StandardStream: String, Codable, Hashable, Sendable, CaseIterable {
    case stdout, stderr
}

/// Bytes of one stream that follow each other and came at about one time.
package struct OutputPiece: Hashable, Sendable {
    package var stream: StandardStream
    /// µs since 1970 on the wall clock: when the first of what came together with them came.
    package var atMicroseconds: Int64
    /// Counted from the stream's first byte.
    package var offset: Int64
    package var bytes: [UInt8]

    package init(stream: StandardStream, at date: Int64, offset: Int64, bytes: [UInt8]) {
        self.stream = stream
        atMicroseconds = date
        self.offset = offset
        self.bytes = bytes
    }

    package var end: Int64 { offset + Int64(bytes.count) }
}

/// A piece without its bytes.
package struct OutputSpan: Hashable, Sendable {
    package var stream: StandardStream
    /// µs since 1970 on the wall clock.
    package var atMicroseconds: Int64
    package var offset: Int64
    package var count: Int

    package init(stream: StandardStream, at date: Int64, offset: Int64, count: Int) {
        self.stream = stream
        atMicroseconds = date
        self.offset = offset
        self.count = count
    }
}

/// What is kept of a run's output: of each stream its head and its tail, and how many bytes lay between them.
package struct CapturedOutput: Sendable, Hashable {
    package var stdout: [UInt8] = []
    package var stdoutDropped = 0
    /// How many bytes of `stdout` came before those that are dropped.
    package var stdoutHead = 0
    package var stderr: [UInt8] = []
    package var stderrDropped = 0
    package var stderrHead = 0
    /// In the order in which they came; none where that is not known.
    package var spans: [OutputSpan] = []

    package init(
        stdout: [UInt8] = [],
        stdoutDropped: Int = 0,
        stderr: [UInt8] = [],
        stderrDropped: Int = 0
    ) {
        self.stdout = stdout
        self.stdoutDropped = stdoutDropped
        self.stderr = stderr
        self.stderrDropped = stderrDropped
    }

    /// How much it was, and nothing of it.
    package var withoutBytes: Self {
        Self(stdoutDropped: total(of: .stdout), stderrDropped: total(of: .stderr))
    }

    /// How many bytes the run has written to a stream.
    package func total(of stream: StandardStream) -> Int {
        switch stream {
        case .stdout: stdout.count + stdoutDropped
        case .stderr: stderr.count + stderrDropped
        }
    }

    /// All that is kept, in the order in which it came; with that date where none is known.
    package func ordered(orAt date: Int64) -> [OutputSpan] {
        if !spans.isEmpty { return spans }
        return StandardStream.allCases.flatMap { stream -> [OutputSpan] in
            let (bytes, dropped, head) = kept(of: stream)
            return [(0, head), (Int64(head + dropped), bytes.count - head)].compactMap {
                $1 > 0 ? OutputSpan(stream: stream, at: date, offset: $0, count: $1) : nil
            }
        }
    }

    /// The bytes of one of its spans.
    package func bytes(of span: OutputSpan) -> ArraySlice<UInt8> {
        let (bytes, dropped, head) = kept(of: span.stream)
        let start = Int(span.offset) < head ? Int(span.offset) : Int(span.offset) - dropped
        return bytes[start..<start + span.count]
    }

    private func kept(of stream: StandardStream) -> (bytes: [UInt8], dropped: Int, head: Int) {
        switch stream {
        case .stdout: (stdout, stdoutDropped, stdoutHead)
        case .stderr: (stderr, stderrDropped, stderrHead)
        }
    }
}
