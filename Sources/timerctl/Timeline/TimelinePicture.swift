// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl
import TimerWords

/// The picture that `timeline` draws: a line for each job, the past on the left, the future on the right;
/// pure.
struct TimelinePicture {
    struct Row {
        var job: Job
        /// Newest first.
        var runs: [Run]
        /// The date before which its history is not known; nil if all of it is.
        var knownFrom: Timestamp?
    }

    var rows: [Row]
    var axis: TimelineAxis
    var dates: LocalDate
    /// All columns.
    var width: Int
    var isUnicode: Bool
    /// Whether they are several users' jobs.
    private var showsOwner: Bool

    /// `past`, `next`: how far back and ahead; at least a minute each.
    init(
        _ rows: [Row],
        past: TimeSpan,
        next: TimeSpan,
        dates: LocalDate,
        width: Int,
        isUnicode: Bool
    ) {
        self.rows = rows
        self.dates = dates
        self.width = width
        self.isUnicode = isUnicode
        let showsOwner = Set(rows.map(\.job.owner)).count > 1
        self.showsOwner = showsOwner
        let longest = rows.reduce(0) {
            max($0, Printable.width(Self.label($1.job, showsOwner: showsOwner)))
        }
        let label = min(longest, width / 4)
        axis = TimelineAxis(
            now: dates.now,
            past: past,
            next: next,
            label: max(label, 4),
            width: width
        )
    }

    func text(for terminal: Terminal) -> String {
        let lines = rows.map { ($0.job, cells(of: $0)) }
        var used: Set<TimelineSymbol> = []
        var text = line("", axis.scale(dates, mark: divider))
        for (job, cells) in lines {
            used.formUnion(cells.past + cells.next)
            text += line(label(job), drawn(cells, of: job, terminal))
        }
        return text + standing + legend(used)
    }

    private var divider: String { isUnicode ? "│" : "|" }

    private func line(_ label: String, _ rest: String) -> String {
        let cut = Printable.cut(label, to: axis.label, mark: isUnicode ? "…" : "~")
        let padding = String(repeating: " ", count: axis.label + 2 - Printable.width(cut))
        return Self.trimmed(cut + padding + rest) + "\n"
    }

    /// Without the blanks at its end.
    private static func trimmed(_ line: String) -> String {
        guard let last = line.lastIndex(where: { $0 != " " }) else { return "" }
        return String(line[...last])
    }

    private func label(_ job: Job) -> String { Self.label(job, showsOwner: showsOwner) }

    /// "12 backup": the id that commands take, and the name where it has one; "12 ann: backup" among several users' jobs.
    private static func label(_ job: Job, showsOwner: Bool) -> String {
        let number = showsOwner ? "\(job.id) \(job.owner):" : "\(job.id)"
        return Printable.escaped(job.definition.name.map { "\(number) \($0)" } ?? number)
    }

    /// Below the picture, why jobs are held and for what their fires wait: the mark of one is a column wide.
    private var standing: String {
        let lines = rows.compactMap { row -> String? in
            let waiting = row.runs.first { $0.waitsFor != nil || $0.state == .queued }
            let words =
                row.job.held.map { "held: \($0)" } ?? waiting.map { RunWords($0, dates).sentence }
            return words.map { "\(label(row.job)): \(Printable.escaped($0))" }
        }
        let wrapped = lines.flatMap { Printable.wrapped($0, to: width, indent: 2) }
        return wrapped.isEmpty ? "" : "\n" + wrapped.map { $0 + "\n" }.joined()
    }

    // MARK: - A job's line

    private typealias Cells = (past: [TimelineSymbol], next: [TimelineSymbol])

    private func cells(of row: Row) -> Cells {
        var past = Array(repeating: TimelineSymbol.nothing, count: axis.pastColumns)
        if let known = row.knownFrom {
            let begin = axis.pastColumn(max(row.job.addedAt, axis.start))
            for column in begin..<max(begin, axis.pastColumn(known)) { past[column] = .forgotten }
        }
        var busy = Array(repeating: 0, count: axis.pastColumns)
        for run in row.runs { draw(run, &past, &busy) }
        for column in past.indices where busy[column] > 1 {
            past[column] = max(past[column], .several)
        }
        // What runs is to be seen, also where a date was skipped for it, or another waits, in the same slice of time.
        let newest = past.count - 1
        if row.runs.contains(where: \.isInProgress), past[newest] < .failed {
            past[newest] = .running
        }
        return (past, coming(of: row))
    }

    private func draw(
        _ run: Run,
        _ past: inout [TimelineSymbol],
        _ busy: inout [Int]
    ) {
        func mark(_ date: Timestamp, _ symbol: TimelineSymbol) {
            guard date >= axis.start, date <= dates.now else { return }
            let column = axis.pastColumn(date)
            past[column] = max(past[column], symbol)
        }
        switch run.state {
        case .claimed: return
        // An unreadable run is shown as failed, since nothing says that it succeeded.
        case .unreadable: mark(run.fireDate, .failed)
        // The fire is kept longer than the record of its run's end.
        case .done where run.outcome == nil: mark(run.firedAt ?? run.fireDate, .forgotten)
        case .fired: mark(run.firedAt ?? run.fireDate, .ran)
        case .dead: mark(run.firedAt ?? run.fireDate, .failed)
        case .waiting, .queued: mark(run.firedAt ?? run.fireDate, .waiting)
        case .skipped:
            mark(run.fireDate, .skipped)
            guard let last = run.through else { return }
            let range = max(run.fireDate, axis.start)...max(last, run.fireDate, axis.start)
            guard range.upperBound > range.lowerBound, range.lowerBound <= dates.now else { return }
            // A range of skipped dates: all columns from the first to the last are marked.
            for column in axis.pastColumn(range.lowerBound)...axis.pastColumn(range.upperBound) {
                past[column] = max(past[column], .skipped)
            }
        case .running, .reserved, .done:
            let end = run.endedAt ?? dates.now
            guard end >= axis.start else { return }
            // The recorded start of a short run may lie after its end.
            let start = max(min(run.startedAt ?? run.firedAt ?? end, end), axis.start)
            for column in axis.pastColumn(start)...axis.pastColumn(end) {
                past[column] = max(past[column], .working)
                // A run that starts where another ended does not overlap it.
                if axis.lasts(from: start, to: end) { busy[column] += 1 }
            }
            let isSuccess = LastResult.isSuccess(run)
            mark(end, run.isInProgress ? .running : isSuccess ? .ran : .failed)
        }
    }

    private func coming(of row: Row) -> [TimelineSymbol] {
        var next = Array(repeating: TimelineSymbol.nothing, count: axis.nextColumns)
        // The picture distinguishes one and several dates only, so two for each slice do; a job with a
        // `count` needs all.
        let isCounted = row.job.definition.count != nil
        var column: Int?
        let coming = row.job.comingDates(
            dates,
            until: axis.end - .milliseconds(1),
            atMost: 5000,
            without: row.runs
        ) {
            let isSecond = axis.nextColumn($0) == column
            column = axis.nextColumn($0)
            return isSecond && !isCounted ? axis.lastMoment(ofNext: column ?? 0) : nil
        }
        for date in coming {
            let column = axis.nextColumn(date)
            next[column] = next[column] == .nothing ? .date : .dates
        }
        return next
    }

    private func drawn(_ cells: Cells, of job: Job, _ terminal: Terminal) -> String {
        let past = cells.past.map { terminal.styled($0.text(isUnicode: isUnicode), $0.style) }
        var next = cells.next.map { terminal.styled($0.text(isUnicode: isUnicode), $0.style) }
        let word: String? =
            switch job.state {
            case .paused where job.maintenance: "paused for maintenance"
            case _ where job.state != .scheduled: job.state.rawValue
            case _ where job.held != nil: "held"
            default: job.nextFire == nil ? "at start-up" : nil
            }
        if let word { next = [String(" \(word)".prefix(axis.nextColumns))] }
        return past.joined() + divider + next.joined()
    }

    // MARK: - The legend

    /// What each symbol of the picture means, in lines no wider than the picture.
    private func legend(_ used: Set<TimelineSymbol>) -> String {
        var lines: [String] = []
        for symbol in used.sorted() {
            guard let meaning = symbol.meaning else { continue }
            let entry = "\(symbol.text(isUnicode: isUnicode)) \(meaning)"
            if let last = lines.last, Printable.width(last) + 3 + Printable.width(entry) <= width {
                lines[lines.count - 1] = last + "   " + entry
            } else {
                lines.append(entry)
            }
        }
        return lines.isEmpty ? "" : "\n" + lines.map { $0 + "\n" }.joined()
    }
}
