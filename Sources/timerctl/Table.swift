// SPDX-License-Identifier: Apache-2.0

/// Rows below each other in aligned columns, two blanks apart.
struct Table {
    struct Column {
        var title: String
        var isRightAligned = false
        /// The width to which it may be cut for a terminal; nil for a column that is never cut.
        var narrowest: Int?
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

    /// The narrowest that the last column is cut to; a terminal without even that wraps its lines.
    private static let narrowest = 12

    /// The lines, each with its newline.
    ///
    /// For a terminal the last column is cut; if that is not enough, the columns that may be cut are, the
    /// widest first. Output to a file or a pipe stays whole.
    func text(for terminal: Terminal) -> String {
        let titles = columns.map { Cell($0.title, .bold) }
        let lines = [titles] + rows
        var widths = columns.indices.dropLast().map { column in
            lines.reduce(0) { max($0, Printable.width($1[column].text)) }
        }
        if let width = terminal.width { narrow(&widths, to: width - Self.narrowest) }
        let lastWidth = terminal.width.map { width in
            max(Self.narrowest, width - widths.reduce(0) { $0 + $1 + 2 })
        }
        return lines.map { cells in
            line(cells, widths: widths, lastWidth: lastWidth, terminal) + "\n"
        }.joined()
    }

    /// Takes columns away from the widest, one by one, until all fit in front of the last.
    private func narrow(_ widths: inout [Int], to room: Int) {
        while widths.reduce(0, { $0 + $1 + 2 }) > room {
            let widest = widths.indices.filter { widths[$0] > columns[$0].narrowest ?? .max }
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
                let text = lastWidth.map { Printable.cut(cell.text, to: $0) } ?? cell.text
                line += terminal.styled(text, cell.style)
                continue
            }
            let cut = Printable.cut(cell.text, to: widths[index])
            let padding = String(repeating: " ", count: widths[index] - Printable.width(cut))
            let text = terminal.styled(cut, cell.style)
            line += (columns[index].isRightAligned ? padding + text : text + padding) + "  "
        }
        return line
    }
}
