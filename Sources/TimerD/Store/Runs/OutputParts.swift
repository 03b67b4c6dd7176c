// SPDX-License-Identifier: Apache-2.0

import JobModel
import SQLite
import TimerControl

/// A row of table `run_output`: some pieces of what a run wrote, one behind the other.
///
/// A piece is its stream (0 stdout, 1 stderr), its date and its offset, of 8 bytes each, how many bytes it has, of 4,
/// and these bytes. Numbers are little-endian.
struct OutputPart: Sendable {
    /// Up to where of each stream this part and those before it reach.
    var end: OutputPosition
    /// How many bytes of each stream are in it.
    var kept = OutputPosition()
    var bytes: [UInt8] = []

    /// A part has no more bytes, but for those of the last piece's head: so that a reader need not read all of a run.
    static let size = 65_536
    /// No write stores more parts of a run: others' changes wait for it.
    static let storedAtOnce = 4
    fileprivate static let headSize = 21

    /// All that is kept of a run.
    ///
    /// `date`, in µs since 1970, is for what has none.
    static func parts(of output: CapturedOutput, orAt date: Int64) -> [OutputPart] {
        Array(OutputParts(of: output, orAt: date))
    }

    fileprivate mutating func append(
        _ bytes: ArraySlice<UInt8>,
        of span: OutputSpan,
        from offset: Int64
    ) {
        func put(_ value: some FixedWidthInteger) {
            withUnsafeBytes(of: value.littleEndian) { self.bytes.append(contentsOf: $0) }
        }
        put(span.stream == .stdout ? 0 : 1 as UInt8)
        put(span.atMicroseconds)
        put(offset)
        put(UInt32(bytes.count))
        self.bytes += bytes
        end[span.stream] = offset + Int64(bytes.count)
        kept[span.stream] += Int64(bytes.count)
    }

    /// Calls `body` with each piece of a row, while it returns true; false if the row cannot be read.
    static func forEach(
        in row: [UInt8],
        _ body: (OutputSpan, ArraySlice<UInt8>) throws -> Bool
    ) rethrows -> Bool {
        var rest = row[...]
        func take<Value: FixedWidthInteger>(_: Value.Type) -> Value {
            let size = MemoryLayout<Value>.size
            defer { rest = rest.dropFirst(size) }
            return rest.prefix(size).reversed().reduce(0) {
                $0 << 8 | Value(truncatingIfNeeded: $1)
            }
        }
        while !rest.isEmpty {
            guard rest.count >= headSize else { return false }
            let (stream, date) = (take(UInt8.self), take(Int64.self))
            let (offset, count) = (take(Int64.self), Int(take(UInt32.self)))
            guard stream < 2, count <= rest.count, offset >= 0, offset < .max - Int64(count)
            else { return false }
            let span = OutputSpan(
                stream: stream == 0 ? .stdout : .stderr,
                at: date,
                offset: offset,
                count: count
            )
            guard try body(span, rest.prefix(count)) else { return true }
            rest = rest.dropFirst(count)
        }
        return true
    }
}

/// What is kept of a run, part by part: all of it may be 32 MiB, and is not to be in memory once more.
struct OutputParts: Sequence, IteratorProtocol, Sendable {
    private let output: CapturedOutput
    /// What is left of them, the first in part.
    private var spans: ArraySlice<OutputSpan>
    /// How many bytes of the first of them are in the parts before.
    private var taken = 0
    /// Up to where of each stream the parts before reach.
    private var end = OutputPosition()
    /// The number of the next part, from 0.
    private(set) var number = 0

    /// `date`, in µs since 1970, is for what has none.
    init(of output: CapturedOutput, orAt date: Int64) {
        self.output = output
        spans = output.ordered(orAt: date)[...]
    }

    /// Whether that is more than one write stores.
    static func areMany(of output: CapturedOutput) -> Bool {
        let heads = OutputPart.headSize * output.spans.count
        return output.stdout.count + output.stderr.count + heads
            > OutputPart.storedAtOnce * OutputPart.size
    }

    var isOver: Bool { spans.isEmpty }

    mutating func next() -> OutputPart? {
        var part = OutputPart(end: end)
        while let span = spans.first, part.bytes.count < OutputPart.size - OutputPart.headSize {
            let room = OutputPart.size - part.bytes.count
            let bytes = output.bytes(of: span).dropFirst(taken).prefix(room)
            if !bytes.isEmpty { part.append(bytes, of: span, from: span.offset + Int64(taken)) }
            taken += bytes.count
            guard taken == span.count else { continue }
            spans.removeFirst()
            taken = 0
        }
        guard !part.bytes.isEmpty else { return nil }
        end = part.end
        number += 1
        return part
    }
}

extension Queries {
    /// What is kept of a run's output behind a position: `most` bytes of it.
    ///
    /// What is damaged of it is missing, as is what was dropped.
    func output(
        of run: RunID,
        after: OutputPosition = OutputPosition(),
        most: Int = .max
    ) throws -> OutputReading {
        var page = OutputPage(after: after, most: most)
        _ = try database.prepare(SQL.outputParts).page(run, after.stdout, after.stderr) { row in
            let bytes = try row.get(0, as: [UInt8].self)
            _ = OutputPart.forEach(in: bytes) { span, bytes in
                page.take(span) { offset, count in
                    Array(bytes.dropFirst(Int(offset - span.offset)).prefix(count))
                }
            }
            return page.hasMore ? nil : ()
        }
        var reading = OutputReading(pieces: page.pieces, hasMore: page.hasMore)
        try database.prepare(SQL.outputTotals).forEach(run) { row in
            reading.stdout = Self.total(try row.get(0), kept: try row.get(2))
            reading.stderr = Self.total(try row.get(1), kept: try row.get(3))
        }
        return reading
    }

    /// How much was written is stored with the run's end, and much output ahead of it.
    private static func total(_ bytes: Int64, kept: Int64) -> OutputReply.Total {
        OutputReply.Total(bytes: max(bytes, kept), dropped: max(bytes - kept, 0))
    }
}

extension Queries.SQL {
    static let outputParts = """
        SELECT bytes FROM run_output
        WHERE run_id = ?1 AND (stdout_end > ?2 OR stderr_end > ?3) ORDER BY part
        """
    static let outputTotals = """
        SELECT coalesce(stdout_bytes, 0), coalesce(stderr_bytes, 0),
            (SELECT coalesce(sum(stdout_kept), 0) FROM run_output WHERE run_id = ?1),
            (SELECT coalesce(sum(stderr_kept), 0) FROM run_output WHERE run_id = ?1)
        FROM runs WHERE id = ?1
        """
}
