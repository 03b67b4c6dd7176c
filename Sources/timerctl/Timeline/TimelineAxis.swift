// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerWords

/// Maps the columns of the picture to slices of time.
struct TimelineAxis: Hashable {
    var now: Timestamp
    var past: TimeSpan
    var next: TimeSpan
    /// The width of the jobs' names, without the two blanks after them.
    var label: Int
    var pastColumns: Int
    var nextColumns: Int

    /// Divides the columns that names and "now" leave of `width` in proportion to the two lengths of time.
    init(now: Timestamp, past: TimeSpan, next: TimeSpan, label: Int, width: Int) {
        self.now = now
        self.past = past
        self.next = next
        self.label = label
        let columns = max(width - label - 3, 2)
        let share = Double(past.microseconds) / Double(past.microseconds + next.microseconds)
        pastColumns = min(max(Int((share * Double(columns)).rounded()), 1), columns - 1)
        nextColumns = columns - pastColumns
    }

    var start: Timestamp { now - past }
    var end: Timestamp { now + next }

    /// The column of a date from `start` on; the last one for later dates.
    func pastColumn(_ date: Timestamp) -> Int {
        Self.column(date - start, of: past, pastColumns)
    }

    func nextColumn(_ date: Timestamp) -> Int {
        Self.column(date - now, of: next, nextColumns)
    }

    /// The last moment that falls into a column of the coming time.
    func lastMoment(ofNext column: Int) -> Timestamp {
        let part = Double(column + 1) / Double(nextColumns)
        let end = now + TimeSpan(microseconds: Int64(Double(next.microseconds) * part))
        return end - .milliseconds(1)
    }

    /// Whether a run is at least a column long; only such runs are counted as overlapping.
    func lasts(from start: Timestamp, to end: Timestamp) -> Bool {
        end - start >= TimeSpan(microseconds: past.microseconds / Int64(pastColumns))
    }

    private static func column(_ time: TimeSpan, of whole: TimeSpan, _ columns: Int) -> Int {
        let part = Double(time.microseconds) / Double(whole.microseconds)
        return min(max(Int(part * Double(columns)), 0), columns - 1)
    }

    // MARK: - The scale

    /// The times above the columns, each after its mark: "|06:00   |09:00  |now".
    func scale(_ dates: LocalDate, mark: String) -> String {
        var cells = Array(repeating: " ", count: pastColumns + 1 + nextColumns)
        func write(_ text: String, at column: Int) {
            let letters = [mark] + text.map(String.init)
            // A time is written whole or not at all, with a blank between two.
            let room = column - (column > 0 ? 1 : 0)..<column + letters.count
            guard room.upperBound <= cells.count, cells[room].allSatisfy({ $0 == " " }) else {
                return
            }
            cells.replaceSubrange(column..<column + letters.count, with: letters)
        }
        write("now", at: pastColumns)
        let step = step
        // Full hours and midnights are the clock's, behind a change of it too.
        var tick = dates.zone.localTime(at: start).microseconds / step * step
        while tick < Timestamp.distantFuture.microseconds {
            let date = dates.zone.resolve(LocalTime(microseconds: tick)).date
            guard date <= end else { break }
            if date >= start {
                let text = dates.clock(date)
                let isDay = step >= 86_400_000_000
                write(
                    String(isDay ? text.dropFirst(5).prefix(5) : text.dropFirst(11).prefix(5)),
                    at: date < now ? pastColumn(date) : pastColumns + 1 + nextColumn(date)
                )
            }
            tick += step
        }
        return cells.joined()
    }

    /// How far apart the times are, in µs: at least ten columns.
    private var step: Int64 {
        let minute: Int64 = 60_000_000
        let steps = [1, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 10_080, 43_200]
            .map { $0 * minute }
        let columns = Int64(pastColumns + nextColumns)
        let least = (past.microseconds + next.microseconds) / columns * 10
        return steps.first { $0 >= least } ?? least
    }
}
