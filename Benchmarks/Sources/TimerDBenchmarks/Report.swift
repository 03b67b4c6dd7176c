// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Prints figures: as tables for a reader, or as JSON lines.
struct Report: Sendable {
    var asJSON: Bool

    func machine(_ description: String) {
        if asJSON {
            FileHandle.standardError.write(Data((description + "\n").utf8))
        } else {
            write(description)
        }
    }

    /// What goes on, for whoever waits; on standard error.
    func progress(_ text: String) {
        FileHandle.standardError.write(Data("  \(text)\n".utf8))
    }

    func table(_ title: String, _ figures: [Figure], notes: [String] = []) throws {
        guard !asJSON else {
            let encoder = JSONEncoder()
            encoder.outputFormatting = .sortedKeys
            for figure in figures {
                write(String(decoding: try encoder.encode(figure), as: UTF8.self))
            }
            return
        }
        var rows = [["", "timerd", "rounds", "beside", "ratio", "beside what", "reached"]]
        rows += figures.map(Self.row)
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        write("\n\(title)")
        for row in rows {
            let cells = zip(row, widths).enumerated().map { column, cell in
                let blanks = String(repeating: " ", count: cell.1 - cell.0.count)
                return 1...4 ~= column ? blanks + cell.0 : cell.0 + blanks
            }
            write(("  " + cells.joined(separator: "  ")).trimmingTrailingBlanks)
        }
        for note in notes { write("  \(note)") }
    }

    private static func row(_ figure: Figure) -> [String] {
        let unit = figure.unit.rawValue.isEmpty ? "" : " \(figure.unit.rawValue)"
        let expected = figure.expectation.map { "\($0.words): \($0.verdict.rawValue)" }
        return [
            figure.name,
            number(figure.value) + unit,
            figure.spread.map { "\(number($0.lowerBound))..\(number($0.upperBound))" } ?? "",
            figure.limit.map { number($0.value) + unit } ?? "",
            figure.ratio.map { number($0) } ?? "",
            figure.limit?.name ?? "",
            expected ?? "",
        ]
    }

    /// Three digits that mean something, and thousands apart.
    private static func number(_ value: Double) -> String {
        guard value.isFinite else { return "-" }
        if abs(value) < 100 {
            let digits = abs(value) < 1 ? 3 : abs(value) < 10 ? 2 : 1
            let isWhole = value == value.rounded()
            return isWhole ? "\(Int(value))" : String(format: "%.\(digits)f", value)
        }
        var rest = String(Int(abs(value).rounded()))
        var groups: [String] = []
        while rest.count > 3 {
            groups.insert(String(rest.suffix(3)), at: 0)
            rest = String(rest.dropLast(3))
        }
        return (value < 0 ? "-" : "") + ([rest] + groups).joined(separator: ",")
    }

    private func write(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }
}

extension String {
    fileprivate var trimmingTrailingBlanks: String {
        String(reversed().drop { $0 == " " }.reversed())
    }
}
