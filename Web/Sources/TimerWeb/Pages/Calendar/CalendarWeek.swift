// SPDX-License-Identifier: Apache-2.0

import HTML
import Schedules
import TimerWords

/// A week by the hours of its days.
struct CalendarWeek {
    let parts: Parts
    let view: CalendarView
    /// By what the clocks show: one, none where clocks go forward over an hour, two where they go back.
    private let cells: [Hour: [CalendarCell]]

    private struct Hour: Hashable {
        var day: Int
        var hour: Int
    }

    init(parts: Parts, view: CalendarView, cells: [CalendarCell]) {
        (self.parts, self.view) = (parts, view)
        self.cells = Dictionary(grouping: cells) { cell in
            let clock = ClockFace(cell.from, in: parts.dates.zone)
            return Hour(day: clock.dayNumber, hour: clock.hour)
        }
    }

    private var dates: LocalDate { parts.dates }

    var section: Node {
        HTML.section(.aria("label", "By the hour"), .data("live", "heat")) {
            table(.class("heat")) {
                caption(.class("hush")) { "Fires by the hour, \(view.title)" }
                thead {
                    tr {
                        th(.named("scope", "col")) { span(.class("hush")) { "Hour" } }
                        view.days.map(title)
                    }
                }
                tbody {
                    for hour in 0..<24 {
                        tr {
                            th(.named("scope", "row")) { "\(hour.padded):00" }
                            for day in view.days { cell(day, hour) }
                        }
                    }
                }
            }
            parts.heatLegend
        }
    }

    private func title(_ day: LocalDay) -> Node {
        let isToday = day == dates.today
        return th(
            .named("scope", "col"),
            isToday ? .class("today") : nil,
            isToday ? .aria("current", "date") : nil
        ) {
            a(.href(view.link(.day, day))) {
                "\(ClockFace.weekdays[day.weekday].prefix(3)) \(day.day)"
            }
        }
    }

    private func cell(_ day: LocalDay, _ hour: Int) -> Node {
        let all = cells[Hour(day: day.number, hour: hour)] ?? []
        if all.isEmpty {
            return td(.class("gone")) {
                span(.class("hush")) { "This hour is not there: " }
                "clocks +\(shift(over: day, hour).length)"
            }
        }
        if all.count > 1 {
            return td(.class("split")) { all.map { link($0, isOneOfTwo: true) } }
        }
        let isNow = all[0].from <= dates.now && dates.now < all[0].before
        return td(isNow ? .class("now") : nil) {
            if all[0].total > 0 { link(all[0], isOneOfTwo: false) }
        }
    }

    /// How far clocks go forward over an hour that is not there.
    private func shift(over day: LocalDay, _ hour: Int) -> TimeSpan {
        let hours = Int64(day.number) * 24 + Int64(hour)
        let local = LocalTime(microseconds: hours * 3_600_000_000)
        let date = dates.zone.resolve(local).date
        let before = dates.zone.offset(at: date - .seconds(1))
        return .seconds(Int64(dates.zone.offset(at: date) - before))
    }

    private func link(_ cell: CalendarCell, isOneOfTwo: Bool) -> Node {
        let zone = isOneOfTwo ? " \(dates.abbreviation(at: cell.from))" : ""
        let label =
            "\(dates.shortDay(cell.from)), \(dates.time(cell.from)) to \(dates.time(cell.before))\(zone)"
        return cell.link(view, level: cell.level, label: label) { "\(cell.total.grouped)\(zone)" }
    }
}
