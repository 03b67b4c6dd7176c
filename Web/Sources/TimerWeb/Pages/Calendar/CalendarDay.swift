// SPDX-License-Identifier: Apache-2.0

import HTML
import Schedules
import TimerControl
import TimerWords

/// A day by its hours, 23 to 25 of them.
struct CalendarDay {
    let parts: Parts
    let view: CalendarView
    let cells: [CalendarCell]

    var section: Node {
        let largest = max(1, cells.reduce(0) { max($0, $1.total) })
        return HTML.section(.aria("label", "By the hour"), .data("live", "heat")) {
            table(.class("day")) {
                caption(.class("hush")) { "Fires by the hour, \(view.title)" }
                thead {
                    tr {
                        th(.named("scope", "col")) { "Hour" }
                        th(.named("scope", "col")) { span(.class("hush")) { "Picture" } }
                        th(.named("scope", "col")) { "What" }
                    }
                }
                tbody { cells.map { row($0, largest) } }
            }
            parts.heatLegend
        }
    }

    private func row(_ cell: CalendarCell, _ largest: Int) -> Node {
        let dates = parts.dates
        let isNow = cell.from <= dates.now && dates.now < cell.before
        return tr(isNow ? .class("now") : nil) {
            th(.named("scope", "row")) {
                "\(dates.time(cell.from)) \(dates.abbreviation(at: cell.from))"
            }
            td(.class("bars")) {
                if cell.total > 0 { bar(cell, largest) }
            }
            td {
                if cell.total > 0 {
                    a(.href(view.dates(from: cell.from, before: cell.before))) { words(cell) }
                    if cell.past.failed > 0 {
                        " "
                        parts.state(StateWord("\(cell.past.failed.grouped) failed", .failed))
                    }
                    if cell.past.missed > 0 {
                        " "
                        parts.state(StateWord("\(cell.past.missed.grouped) missed", .missed))
                    }
                }
            }
        }
    }

    private func words(_ cell: CalendarCell) -> String {
        let done = cell.done > 0 ? "\(cell.done.grouped) due" : nil
        let planned = cell.planned > 0 ? "\(cell.planned.grouped) will fire" : nil
        return [done, planned].compactMap(\.self).joined(separator: ", ")
    }

    private func bar(_ cell: CalendarCell, _ largest: Int) -> Node {
        let all = [
            ("b-ok", cell.past.succeeded), ("b-open", cell.past.open),
            ("b-skipped", cell.past.skipped),
            ("b-missed", cell.past.missed), ("b-failed", cell.past.failed),
            ("b-planned", cell.planned),
        ]
        var x = 0
        let bars = all.compactMap { name, count -> Node? in
            guard count > 0 else { return nil }
            // What is there can be seen, however much there is besides.
            let width = min(max(1, count * 100 / largest), 100 - x)
            guard width > 0 else { return nil }
            defer { x += width }
            return rect(
                .class(name),
                .named("x", x),
                .named("y", 0),
                .named("width", width),
                .named("height", 8)
            )
        }
        return svg(
            .class("bar"),
            .named("viewBox", "0 0 100 8"),
            .named("preserveAspectRatio", "none"),
            .aria("hidden", "true")
        ) { bars }
    }
}
