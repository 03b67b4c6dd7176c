// SPDX-License-Identifier: Apache-2.0

import HTML
import Schedules

/// A month by its days.
struct CalendarMonth {
    let parts: Parts
    let view: CalendarView
    /// A day each, whole weeks.
    let cells: [CalendarCell]

    var section: Node {
        let largest = cells.reduce(0) { max($0, $1.total) }
        return HTML.section(.aria("label", "By the day"), .data("live", "heat")) {
            table(.class("heat month")) {
                caption(.class("hush")) { "Fires by the day, \(view.title)" }
                thead {
                    tr {
                        th(.named("scope", "col")) { span(.class("hush")) { "Week" } }
                        for name in ClockFace.weekdays {
                            th(.named("scope", "col")) { String(name.prefix(3)) }
                        }
                    }
                }
                tbody {
                    for week in 0..<(cells.count / 7) {
                        tr {
                            th(.named("scope", "row")) {
                                a(.href(view.link(.week, view.first + week * 7))) {
                                    "week \((view.first + week * 7).week)"
                                }
                            }
                            for index in 0..<7 {
                                cell(
                                    cells[week * 7 + index],
                                    view.first + (week * 7 + index),
                                    largest
                                )
                            }
                        }
                    }
                }
            }
            parts.heatLegend
        }
    }

    private func cell(_ cell: CalendarCell, _ day: LocalDay, _ largest: Int) -> Node {
        let classes = [
            day.month == view.day.month ? nil : "other",
            day == parts.dates.today ? "now" : nil,
        ].compactMap(\.self).joined(separator: " ")
        return td(classes.isEmpty ? nil : .class(classes)) {
            if cell.total == 0 {
                span(.class("soft-day")) { "\(day.day)" }
            } else {
                cell.link(
                    view,
                    level: cell.level(of: largest),
                    label: parts.dates.shortDay(cell.from)
                ) {
                    span(.class("soft-day")) { "\(day.day)" }
                    " "
                    span { cell.total.grouped }
                }
            }
        }
    }
}
