// SPDX-License-Identifier: Apache-2.0

/// The symbol in a column of the picture; if several apply to its slice of time, the greatest.
enum TimelineSymbol: Int, CaseIterable, Comparable {
    case nothing, forgotten, working, ran, several, running, waiting, skipped, failed
    /// Symbols of the coming time.
    case date, dates

    static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }

    /// The symbol; understandable without colour, and ASCII if the terminal has nothing else.
    func text(isUnicode: Bool) -> String {
        switch self {
        case .nothing: " "
        case .forgotten: isUnicode ? "┄" : "~"
        case .working: isUnicode ? "━" : "="
        case .ran: isUnicode ? "●" : "o"
        case .running: isUnicode ? "▶" : ">"
        case .waiting: isUnicode ? "…" : "w"
        case .several: isUnicode ? "▓" : "#"
        case .skipped: isUnicode ? "○" : "-"
        case .failed: isUnicode ? "✗" : "x"
        case .date: isUnicode ? "◇" : "+"
        case .dates: isUnicode ? "◆" : "*"
        }
    }

    /// Its meaning, for the legend; nil if it needs none.
    var meaning: String? {
        switch self {
        case .nothing: nil
        case .forgotten: "no longer kept"
        case .working: "took that long"
        case .ran: "ran"
        case .running: "running"
        case .waiting: "waits"
        case .several: "several at once"
        case .skipped: "missed or skipped"
        case .failed: "failed"
        case .date: "will fire"
        case .dates: "several times"
        }
    }

    var style: Terminal.Style? {
        switch self {
        case .failed: .red
        case .skipped, .waiting: .yellow
        case .ran, .working, .running, .several: .green
        case .forgotten: .dim
        case .nothing, .date, .dates: nil
        }
    }
}
