// SPDX-License-Identifier: Apache-2.0

package import JobModel
import TimerControl

/// Cuts both streams of a run into lines, for where they go as they are written.
package struct RunEcho: Sendable {
    /// A longer line is cut, so that its beginning need not be kept for long.
    static let longest = 8192
    private static let newline = UInt8(ascii: "\n")

    /// A line without its end.
    struct Line: Sendable {
        var stream: StandardStream
        var bytes: [UInt8]
        /// Up to where of the stream it goes, with its end.
        var end: Int64
    }

    private let write: @Sendable (Line) -> Bool
    private let leaveOut: @Sendable (Int) -> Void
    /// Whether what is kept of a run that goes on is written again: no daemon before has noted how far it came with that.
    private let repeats: Bool
    /// The lines whose ends have not come.
    private var open: [StandardStream: [UInt8]] = [:]
    /// Up to where of each stream it has been told.
    private var position: OutputPosition

    /// `position`: up to where another has written it already; `write`: false where there is no room for the line, then
    /// `leaveOut` is told how many of those behind it have none either.
    init(
        from position: OutputPosition = OutputPosition(),
        repeats: Bool = false,
        write: @escaping @Sendable (Line) -> Bool,
        leaveOut: @escaping @Sendable (Int) -> Void = { _ in }
    ) {
        self.position = position
        self.repeats = repeats
        self.write = write
        self.leaveOut = leaveOut
    }

    /// What is up to `position` has been passed on already, to the journal: what goes elsewhere may not have come as far.
    mutating func goOn(from position: OutputPosition) {
        if !repeats { self.position = position }
    }

    /// Takes bytes that begin at `offset`; those that it has are left out, and those between are said to be missing.
    ///
    /// Where there is no room for a line, those behind it in these bytes that are as long or longer are counted and no more:
    /// the thread that calls this serves everybody's runs, and a flood of lines would have it make records that nobody keeps.
    /// For a shorter one there may be room.
    mutating func take(
        _ bytes: some BidirectionalCollection<UInt8>,
        of stream: StandardStream,
        from offset: Int64
    ) {
        let known = position[stream]
        let end = offset + Int64(bytes.count)
        guard end > known else { return }
        if offset > known { miss(stream, from: known, to: offset) }
        var line = open[stream] ?? []
        var at = max(offset, known)
        var index = bytes.index(bytes.startIndex, offsetBy: Int(at - offset))
        /// The length of the shortest line for which there was no room.
        var refused: Int?
        while index < bytes.endIndex {
            let byte = bytes[index]
            bytes.formIndex(after: &index)
            at += 1
            if byte != Self.newline { line.append(byte) }
            guard byte == Self.newline || line.count == Self.longest else { continue }
            if !write(Line(stream: stream, bytes: line, end: at)) {
                refused = min(refused ?? .max, line.count)
            }
            line = []
            guard let refused else { continue }
            let count = leaveOutLines(of: bytes[index...], from: refused)
            bytes.formIndex(&index, offsetBy: count)
            at += Int64(count)
        }
        open[stream] = line
        position[stream] = end
    }

    /// Has the whole lines that these bytes begin with counted, and no more, up to one that is shorter than `length`; returns
    /// how many bytes they are.
    private func leaveOutLines(
        of bytes: some BidirectionalCollection<UInt8>,
        from length: Int
    ) -> Int {
        var (lines, size) = (0, 0)
        var rest = bytes[...]
        while let end = rest.firstIndex(of: Self.newline) {
            let count = rest.distance(from: rest.startIndex, to: end)
            guard count >= length else { break }
            lines += 1
            size += count + 1
            rest = rest[rest.index(after: end)...]
        }
        if lines > 0 { leaveOut(lines) }
        return size
    }

    /// The run is over, and has written so much: what it wrote last may have no end of line, or not be there.
    mutating func finish(at end: OutputPosition) {
        for stream in StandardStream.allCases {
            let (known, end) = (position[stream], end[stream])
            if end > known { miss(stream, from: known, to: end) }
            endLine(of: stream, at: known)
        }
    }

    private mutating func miss(_ stream: StandardStream, from known: Int64, to offset: Int64) {
        endLine(of: stream, at: known)
        let words = offset - known == 1 ? "1 byte is" : "\(offset - known) bytes are"
        let line = Array("[\(words) left out]".utf8)
        _ = write(Line(stream: stream, bytes: line, end: offset))
        position[stream] = offset
    }

    private mutating func endLine(of stream: StandardStream, at end: Int64) {
        guard let line = open.removeValue(forKey: stream), !line.isEmpty else { return }
        _ = write(Line(stream: stream, bytes: line, end: end))
    }
}

extension RunEcho {
    /// To the daemon's standard output, behind the job's name; its number where it has none, or one with a bracket,
    /// behind which the number of another's run could stand.
    package init(_ echo: OutputEcho, name: String?, job: String, run: String, owner: Owner) {
        let isPlain = name?.unicodeScalars.contains("[") == false
        let title = Array("\(isPlain ? name ?? job : job)[\(run)]: ".utf8)
        self.init(repeats: true) {
            echo.write(title + $0.bytes + [UInt8(ascii: "\n")], of: owner)
        } leaveOut: {
            echo.leaveOut($0, of: owner)
        }
    }

    /// To the journal.
    package init(_ journal: RunJournal, of job: StoredJob, run: RunID) {
        let fields = RunJournal.Fields(of: job, run: run)
        self.init { line in
            journal.write(
                RunJournal.Line(
                    record: fields.record(line),
                    owner: job.owner,
                    run: run.rawValue,
                    stream: line.stream,
                    end: line.end
                )
            )
        } leaveOut: {
            journal.leaveOut($0, of: job.owner)
        }
    }
}
