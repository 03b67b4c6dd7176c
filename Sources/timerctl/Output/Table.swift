// SPDX-License-Identifier: Apache-2.0

/// Rows below each other in aligned columns, two blanks apart.
struct Table {
    struct Column {
        var title: String
        var isRightAligned = false
        /// The width to which it may be cut for a terminal; nil for a column that is never cut.
        var narrowest: Int?
        /// How soon it is left out where a terminal is too narrow for all: the highest first; 0 for never.
        var rank = 0
    }

    struct Cell: ExpressibleByStringInterpolation {
        /// Without control characters.
        var text: String
        var style: Terminal.Style?

        init(_ text: String, _ style: Terminal.Style? = nil) {
            self.text = Printable.escaped(text)
            self.style = style
        }

        init(stringLiteral text: String) { self.init(text) }
    }

    var columns: [Column]
    /// Each with a cell for each column.
    var rows: [[Cell]] = []

    /// The narrowest that the last column is cut to, while there is something else to give way.
    private static let narrowest = 12

    /// The lines, each with its newline; on a terminal none is longer than its width.
    ///
    /// For a terminal the last column is cut; if that is not enough, the columns that may be cut are, the
    /// widest first; then those with a rank are left out; then each is cut. Output to a file or a pipe stays
    /// whole.
    func text(for terminal: Terminal) -> String {
        guard let width = terminal.width else { return fitted(to: nil, terminal) }
        var table = self
        while table.leastWidth > width, table.columns.count > 1,
            let rank = table.columns.lazy.map(\.rank).max(), rank > 0,
            let column = table.columns.lastIndex(where: { $0.rank == rank })
        {
            table.removeColumn(column)
        }
        // With two blanks between them, and a column of text each.
        while table.columns.count > 1, table.columns.count * 3 - 2 > width {
            table.removeColumn(table.columns.count - 1)
        }
        return table.fitted(to: width, terminal)
    }

    private func fitted(to width: Int?, _ terminal: Terminal) -> String {
        let titles = columns.map { Cell($0.title, .bold) }
        let lines = [titles] + rows
        var widths = naturalWidths
        if let width {
            narrow(&widths, to: width - lastNarrowest) { $0.narrowest ?? .max }
            narrow(&widths, to: width - min(lastNarrowest, 4)) {
                $0.narrowest.map { min($0, 4) } ?? .max
            }
            narrow(&widths, to: width - 1) { _ in 1 }
        }
        let lastWidth = width.map { $0 - widths.reduce(0) { $0 + $1 + 2 } }
        return lines.map { cells in
            line(cells, widths: widths, lastWidth: lastWidth, terminal) + "\n"
        }.joined()
    }

    /// How wide all columns but the last are, uncut.
    private var naturalWidths: [Int] { columns.indices.dropLast().map(naturalWidth) }

    private func naturalWidth(_ column: Int) -> Int {
        rows.reduce(Printable.width(columns[column].title)) {
            max($0, Printable.width($1[column].text))
        }
    }

    private var lastNarrowest: Int { min(Self.narrowest, naturalWidth(columns.count - 1)) }

    /// The width below which columns that may not be cut would be.
    private var leastWidth: Int {
        zip(columns, naturalWidths).reduce(lastNarrowest) { sum, column in
            sum + min(column.1, column.0.narrowest ?? .max) + 2
        }
    }

    private mutating func removeColumn(_ index: Int) {
        columns.remove(at: index)
        for row in rows.indices { rows[row].remove(at: index) }
    }

    /// Takes columns away from the widest, one by one, until all fit in front of the last.
    private func narrow(_ widths: inout [Int], to room: Int, _ narrowest: (Column) -> Int) {
        while widths.reduce(0, { $0 + $1 + 2 }) > room {
            let widest = widths.indices.filter { widths[$0] > narrowest(columns[$0]) }
                .max { widths[$0] < widths[$1] }
            guard let widest else { return }
            widths[widest] -= 1
        }
    }

    private func line(
        _ cells: [Cell],
        widths: [Int],
        lastWidth: Int?,
        _ terminal: Terminal
    ) -> String {
        var line = ""
        for (index, cell) in cells.enumerated() {
            guard index < widths.count else {
                let text = lastWidth.map { terminal.cut(cell.text, to: $0) } ?? cell.text
                line += terminal.styled(text, cell.style)
                continue
            }
            let cut = terminal.cut(cell.text, to: widths[index])
            let padding = String(
                repeating: " ",
                count: max(widths[index] - Printable.width(cut), 0)
            )
            let text = terminal.styled(cut, cell.style)
            line += (columns[index].isRightAligned ? padding + text : text + padding) + "  "
        }
        return line
    }
}
