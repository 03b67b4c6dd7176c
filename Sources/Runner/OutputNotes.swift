// SPDX-License-Identifier: Apache-2.0

import JobModel
import TimerControl

/// In which order and when the pieces of both streams came: bounded in number.
///
/// The runner has the same (output.c): what follows within some ms is one piece, and where there would be too many,
/// those that are nearest to each other in time join.
struct OutputNotes: Sendable {
    /// A piece goes on to the next note of the same stream.
    struct Note: Sendable {
        var stream: StandardStream
        /// µs since 1970 on the wall clock.
        var at: Int64
        var position: Int64
    }

    /// Of a stream that is silent, and goes on, its next piece has a date of its own.
    private static let join: UInt64 = 5000

    private let limit: Int
    private var notes: [Note] = []
    private var window = Self.join

    init(limit: Int) { self.limit = max(limit, 4) }

    /// As many as the runner has where so many bytes are kept.
    static func limit(for kept: Int) -> Int { min(max(kept / 32, 64), 8192) }

    /// Of clocks that may say anything.
    private static func distance(_ one: Int64, _ other: Int64) -> UInt64 {
        UInt64(bitPattern: max(one, other)) &- UInt64(bitPattern: min(one, other))
    }

    /// Adds a piece that begins at the end of its stream; `gaps` are what is not kept, `end` where the streams end.
    mutating func add(
        _ note: Note,
        beside gaps: (stdout: Range<Int64>, stderr: Range<Int64>),
        to end: OutputPosition
    ) {
        if let last = notes.last, last.stream == note.stream,
            Self.distance(note.at, last.at) <= window
        {
            return
        }
        if notes.count == limit { thinOut(beside: gaps, to: end) }
        notes.append(note)
    }

    private mutating func thinOut(
        beside gaps: (stdout: Range<Int64>, stderr: Range<Int64>),
        to end: OutputPosition
    ) {
        notes = pieces(to: end).compactMap { note, end in
            let gap = note.stream == .stdout ? gaps.stdout : gaps.stderr
            return note.position >= gap.lowerBound && end <= gap.upperBound ? nil : note
        }
        if notes.count > limit / 2 { joinNeighbours() }
        while notes.count > limit / 2 {
            window = window > .max / 2 ? .max : window * 2
            joinNeighbours()
        }
    }

    /// Of those within the window one of each stream is left.
    private mutating func joinNeighbours() {
        var joined: [Note] = []
        var start: Int64?
        var streams: Set<StandardStream> = []
        for note in notes {
            if start.map({ Self.distance(note.at, $0) > window }) ?? true {
                start = note.at
                streams = []
            }
            if streams.insert(note.stream).inserted { joined.append(note) }
        }
        notes = joined
    }

    /// Each with the end of its piece.
    func pieces(to end: OutputPosition) -> [(note: Note, end: Int64)] {
        var ends = end
        var pieces: [(note: Note, end: Int64)] = []
        pieces.reserveCapacity(notes.count)
        for note in notes.reversed() {
            pieces.append((note, ends[note.stream]))
            ends[note.stream] = note.position
        }
        return pieces.reversed()
    }
}
