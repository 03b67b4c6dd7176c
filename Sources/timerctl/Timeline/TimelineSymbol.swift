// SPDX-License-Identifier: Apache-2.0

/// What a column of the picture shows of its slice of time; where there is more than one, the
/// greatest.
enum TimelineSymbol: Int, CaseIterable, Comparable {
    case nothing, forgotten, working, ran, several, running, waiting, skipped, failed
    /// Of the coming time.
    case date, dates

    static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }

    /// Each tells what it is without colour; ASCII where the terminal has nothing else.
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

    /// For the legend; nil for what needs no word.
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
