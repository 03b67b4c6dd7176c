// SPDX-License-Identifier: Apache-2.0

import HTML
import Schedules
import TimerControl

/// A stretch of time of the calendar: what became of what was due in it, and what is to come.
struct CalendarCell: Hashable, Sendable {
    var from: Timestamp
    var before: Timestamp
    var past = DueCounts()
    var planned = 0

    var done: Int { past.succeeded + past.failed + past.missed + past.skipped + past.open }
    var total: Int { done + planned }

    /// How the cell is coloured: by what is worst in it, and how much of that there is.
    var kind: String {
        if done == 0 { return "planned" }
        if past.missed == done { return "missed" }
        return past.failed * 2 >= done ? "failed" : "ok"
    }

    /// "12 succeeded, 2 failed, 3 dates to come".
    var words: String {
        let all = [
            (past.succeeded, "succeeded"), (past.failed, "failed"), (past.missed, "missed"),
            (past.skipped, "skipped"), (past.open, "in progress"),
        ]
        var words = all.filter { $0.0 > 0 }.map { "\($0.0.grouped) \($0.1)" }
        if planned > 0 { words.append("\(planned.of("date")) to come") }
        return words.joined(separator: ", ")
    }

    /// Of hours: how many there are.
    var level: Int {
        switch total {
        case ..<10: 1
        case ..<50: 2
        case ..<1000: 3
        default: 4
        }
    }

    /// Of days: by the share of the largest.
    func level(of largest: Int) -> Int { largest == 0 ? 1 : min(4, 1 + total * 4 / (largest + 1)) }

    /// What went wrong, beside the number.
    var marks: [Node] {
        [(past.failed, "failed"), (past.missed, "missed")].flatMap { count, name -> [Node] in
            guard count > 0 else { return [] }
            return [
                " ",
                b(.class(name)) {
                    span(.class("mark"), .aria("hidden", "true"))
                    count.grouped
                },
            ]
        }
    }

    /// The link that the cell is.
    func link(_ view: CalendarView, level: Int, label: String, @Markup content: () -> Node) -> Node
    {
        var classes = "h-\(kind) l\(level)"
        if past.failed > 0, kind != "failed" { classes += " some-failed" }
        if past.missed > 0, kind != "missed" { classes += " some-missed" }
        return a(
            .class(classes),
            .href(view.dates(from: from, before: before)),
            .aria("label", "\(label): \(words)")
        ) {
            content()
            marks
        }
    }
}
