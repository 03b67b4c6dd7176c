// SPDX-License-Identifier: Apache-2.0

import Schedules
import TimerControl

/// A line of the screen as it is sent, and how many columns it fills.
struct TopLine: Hashable {
    var text: String
    var width: Int

    /// Cut to `columns`, and free of control characters but those of the style.
    init(_ text: String, _ style: Terminal.Style? = nil, in terminal: Terminal) {
        let text = terminal.cut(Printable.escaped(text))
        width = Printable.width(text)
        self.text = terminal.styled(text, style)
    }
}

/// What the screen shows.
extension TopModel {
    /// Draws `height` lines, none wider than the terminal, and notes what stands on them.
    mutating func picture(for terminal: Terminal, height: Int) -> [TopLine] {
        let width = max(terminal.width ?? 80, 1)
        var terminal = terminal
        terminal.width = width
        let bottom = bottomLines(terminal, atMost: max(1, height / 2))
        var lines = headLines(terminal, height: height)
        room = max(1, height - lines.count - bottom.count)
        shown = [:]
        if let first = help {
            let all = TopHelp.lines.flatMap { Printable.wrapped($0, to: width, indent: 18) }
            let line = min(first, max(0, all.count - room))
            help = line
            lines += all[line...].prefix(room).map { TopLine($0, in: terminal) }
        } else if var page {
            lines += page.window(dates, width: width, room: room).map { TopLine($0, in: terminal) }
            self.page = page
        } else {
            lines += listLines(terminal, room: room)
        }
        let blank = max(0, height - lines.count - bottom.count)
        lines += Array(repeating: TopLine("", in: terminal), count: blank)
        question?.wasShown = true
        return Array(lines.prefix(max(0, height - bottom.count)) + bottom.suffix(height))
    }

    // MARK: - Above

    private func headLines(_ terminal: Terminal, height: Int) -> [TopLine] {
        var lines: [TopLine] = []
        if let lost {
            lines.append(TopLine("no daemon, trying again: \(lost)", .red, in: terminal))
        } else if let silent {
            lines.append(TopLine("waiting: \(silent)", .red, in: terminal))
        }
        if let lists {
            let frame = TopFrame(
                status: lists.status,
                runs: lists.runs,
                jobs: lists.jobs,
                dates: dates
            )
            var header = frame.header
            // A small screen has lines for jobs first.
            if height < 16 { header.remove(at: 1) }
            for (index, line) in header.enumerated() {
                let isTrouble = index > 0 && line.hasPrefix("trouble:")
                lines.append(TopLine(line, isTrouble ? .red : nil, in: terminal))
            }
        } else if lost == nil {
            lines.append(TopLine("asking the daemon ...", in: terminal))
        }
        if page == nil, help == nil { lines.append(tabs(terminal)) }
        return lines
    }

    /// "[1 running 2/3]  2 coming 14  3 failed 0  /back".
    private func tabs(_ terminal: Terminal) -> TopLine {
        let parts = TopView.allCases.map { view in
            let count = rows(of: view).count
            let more = view == .coming && lists?.hasMoreJobs == true ? "+" : ""
            guard view == self.view else { return "\(view.rawValue) \(view) \(count)\(more)" }
            let place = selectedIndex.map { "\($0 + 1)/" } ?? ""
            return "[\(view.rawValue) \(view) \(place)\(count)\(more)]"
        }
        let filtered = filter.isEmpty && !isFiltering ? [] : ["/\(filter)"]
        // What is typed has to be seen.
        let all = isFiltering ? filtered + parts : parts + filtered
        return TopLine(all.joined(separator: " "), .bold, in: terminal)
    }

    // MARK: - The list

    private mutating func listLines(_ terminal: Terminal, room: Int) -> [TopLine] {
        guard let lists else { return [] }
        let rows = rows
        if rows.isEmpty {
            let why = filter.isEmpty ? "" : " with '\(filter)' in its name or tags"
            let words =
                view == .coming && lists.hasMoreJobs && !filter.isEmpty
                ? "  none of the next \(lists.jobs.count) jobs has '\(filter)' in its name or tags; there are more"
                : "  nothing \(view.words)\(why)"
            return [TopLine(words, in: terminal)]
        }
        let height = max(1, room - 1)
        var offset = min(offsets[view] ?? 0, max(0, rows.count - height))
        if let index = selectedIndex {
            offset = max(min(offset, index), index - height + 1)
        }
        offsets[view] = offset
        // A mark and a blank stand before each line.
        var inner = terminal
        inner.width = max(1, (terminal.width ?? 80) - 2)
        let table = Table(columns: TopFrame.columns, rows: rows.map(\.cells))
        let styled = Self.split(table.text(for: inner))
        inner.hasColour = false
        let plain = Self.split(table.text(for: inner))
        self.room = height
        var lines = [TopLine("  " + plain[0], .bold, in: terminal)]
        for index in offset..<min(rows.count, offset + height) where room > 1 || index == offset {
            shown[rows[index].id] = rows[index]
            let isSelected = rows[index].id == selected[view]
            var line = TopLine("\(isSelected ? ">" : " ") \(plain[index + 1])", in: terminal)
            if isSelected {
                line.text = terminal.styled(line.text, .inverse)
            } else if (terminal.width ?? 80) > 2 {
                line.text = "  " + styled[index + 1]
            }
            lines.append(line)
        }
        return lines
    }

    private static func split(_ text: String) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line in String(line) }
    }

    // MARK: - Below

    /// The question, the last message, or what keys there are; wrapped, so that no word of them is lost.
    private func bottomLines(_ terminal: Terminal, atMost most: Int) -> [TopLine] {
        let columns = terminal.width ?? 80
        let (text, style): (String, Terminal.Style?)
        if let question {
            (text, style) = (question.text, .yellow)
        } else if let message {
            (text, style) = (message.text, message.isTrouble ? .red : .green)
        } else {
            let hints = isFiltering ? TopHelp.filterHints : TopHelp.hints
            let line = help != nil ? "any other key: back" : page == nil ? hints : TopHelp.pageHints
            return [TopLine(line, .dim, in: terminal)]
        }
        var lines = Printable.wrapped(Printable.escaped(text), to: columns)
        // The end of a question says how to answer it.
        if lines.count > most {
            lines = question == nil ? Array(lines.prefix(most)) : lines.suffix(most)
        }
        return lines.map { TopLine($0, style, in: terminal) }
    }
}

extension TopView {
    var words: String {
        switch self {
        case .running: "runs, waits or is late"
        case .coming: "is to come"
        case .failed: "has failed"
        }
    }
}
