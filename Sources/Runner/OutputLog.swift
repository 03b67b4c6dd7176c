// SPDX-License-Identifier: Apache-2.0

import JobModel
import TimerControl

/// Both streams of a run, as far as they are kept, with the order in which the pieces came.
struct OutputLog: Sendable {
    let limit: Int
    private(set) var stdout: OutputCapture
    private(set) var stderr: OutputCapture
    private var notes: OutputNotes

    /// `limit`: how many bytes of each stream are kept.
    init(limit: Int) {
        self.limit = limit
        stdout = OutputCapture(limit: limit)
        stderr = OutputCapture(limit: limit)
        notes = OutputNotes(limit: OutputNotes.limit(for: limit))
    }

    subscript(stream: StandardStream) -> OutputCapture {
        stream == .stdout ? stdout : stderr
    }

    /// How many bytes came of both streams.
    var end: OutputPosition { OutputPosition(stdout: stdout.end, stderr: stderr.end) }

    /// Appends bytes that begin at `position` of the stream; returns those that are new.
    ///
    /// Those that are there already are left out, and those between were lost on the way here.
    mutating func append(
        _ bytes: ArraySlice<UInt8>,
        from position: Int64,
        at date: Int64,
        to stream: StandardStream
    ) -> ArraySlice<UInt8> {
        skip(to: position, of: stream)
        let end = self[stream].end
        let news = bytes.dropFirst(Int(min(max(end - position, 0), Int64(bytes.count))))
        guard !news.isEmpty else { return news }
        if limit > 0 {
            notes.add(
                OutputNotes.Note(stream: stream, at: date, position: end),
                beside: (stdout.gap, stderr.gap),
                to: self.end
            )
        }
        news.withUnsafeBytes { bytes in
            if stream == .stdout { stdout.append(bytes) } else { stderr.append(bytes) }
        }
        return news
    }

    /// Bytes up to `position` came and are not kept.
    mutating func skip(to position: Int64, of stream: StandardStream) {
        if stream == .stdout { stdout.skip(to: position) } else { stderr.skip(to: position) }
    }

    /// All that is kept and shown, in the order in which it came.
    private var spans: [OutputSpan] {
        let shown = (stdout.shown, stderr.shown)
        var spans: [OutputSpan] = []
        for (note, end) in notes.pieces(to: self.end) {
            let (headEnd, tailStart) = note.stream == .stdout ? shown.0 : shown.1
            for (start, end) in [
                (note.position, min(end, headEnd)), (max(note.position, tailStart), end),
            ] where start < end {
                spans.append(
                    OutputSpan(
                        stream: note.stream,
                        at: note.at,
                        offset: start,
                        count: Int(end - start)
                    )
                )
            }
        }
        return spans
    }

    /// What is kept behind a position, in the order in which it came: `most` bytes, and whether there is more.
    func read(after: OutputPosition, most: Int) -> (pieces: [OutputPiece], hasMore: Bool) {
        var page = OutputPage(after: after, most: most)
        for span in spans {
            let isTaken = page.take(span) { [self] offset, count in
                self[span.stream].copy(from: offset, count: count)
            }
            guard isTaken else { break }
        }
        return (page.pieces, page.hasMore)
    }

    var captured: CapturedOutput {
        var captured = CapturedOutput()
        let spans = spans
        for stream in StandardStream.allCases {
            let own = spans.lazy.filter { $0.stream == stream }
            let capture = self[stream]
            let shown = capture.shown
            var bytes: [UInt8] = []
            bytes.reserveCapacity(own.reduce(0) { $0 + $1.count })
            for span in own { bytes += capture.copy(from: span.offset, count: span.count) }
            let dropped = Int(capture.end) - bytes.count
            let head = dropped > 0 ? min(Int(shown.headEnd), bytes.count) : 0
            switch stream {
            case .stdout:
                (captured.stdout, captured.stdoutDropped, captured.stdoutHead) =
                    (bytes, dropped, head)
            case .stderr:
                (captured.stderr, captured.stderrDropped, captured.stderrHead) =
                    (bytes, dropped, head)
            }
        }
        captured.spans = spans
        return captured
    }
}
