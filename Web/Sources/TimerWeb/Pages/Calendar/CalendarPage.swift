// SPDX-License-Identifier: Apache-2.0

import HTML
import Schedules
import TimerControl
import TimerWords

/// The past with what became of it, the future with what will: as heat, by the hour or by the day.
struct CalendarPage {
    private let parts: Parts
    private let view: CalendarView
    private let cells: [CalendarCell]
    private let changes: [ClockChange.Change]
    /// What the address asks for that means nothing, or is refused.
    private let mistakes: [String]

    init(_ visit: Visit, _ session: Session) async throws {
        parts = Parts(visit)
        view = CalendarView(visit)
        guard view.mistakes.isEmpty else {
            (cells, changes, mistakes) = ([], [], view.mistakes)
            return
        }
        let zone = visit.dates.zone
        let days = view.days
        let from = view.first.start(in: zone)
        let before = (view.first + days.count).start(in: zone)
        changes = ClockChange.changes(from: from, before: before, in: zone)
        let isByDay = view.span == .month
        var cells: [CalendarCell] = []
        if isByDay {
            cells = days.map { day in
                CalendarCell(from: day.start(in: zone), before: (day + 1).start(in: zone))
            }
        } else {
            var hour = from
            while hour < before {
                let end = min(hour + .seconds(3600), before)
                cells.append(CalendarCell(from: hour, before: end))
                hour = end
            }
        }
        let bucket: ReadCalendar.Bucket = isByDay ? .day : .hour
        let reader = CalendarReader(session.client, tag: view.tag, owner: view.owner, zone: zone)
        var mistakes: [String] = []
        do {
            let past = try await reader.past(from, min(before, visit.dates.now), bucket)
            let future = try await reader.future(from, before, bucket, now: visit.dates.now)
            for index in cells.indices {
                cells[index].past = past[cells[index].from] ?? DueCounts()
                cells[index].planned = future[cells[index].from] ?? 0
            }
        } catch let error as ControlError where error.isOfAddress {
            mistakes.append(error.message)
        }
        (self.cells, self.mistakes) = (cells, mistakes)
    }

    private var dates: LocalDate { parts.dates }
}

extension CalendarPage: PageContent {
    var page: Page {
        // A fire that waits has come and will not come, and the day changes.
        Page(view.title, in: .calendar, atMost: .halfMinute, status: mistakes.status) {
            head
            filter
            note
            if mistakes.isEmpty {
                heat
            } else {
                section { parts.mistaken(mistakes, all: Link("calendar")) }
            }
        }
    }

    private var heat: Node {
        switch view.span {
        case .day: CalendarDay(parts: parts, view: view, cells: cells).section
        case .week: CalendarWeek(parts: parts, view: view, cells: cells).section
        case .month: CalendarMonth(parts: parts, view: view, cells: cells).section
        }
    }

    private var head: Node {
        let word = view.span.rawValue
        return div(.class("head"), .data("live", "head")) {
            h1 { view.title }
            " "
            nav(.class("views"), .aria("label", "View")) {
                for span in CalendarView.Span.allCases {
                    a(
                        .href(view.link(span)),
                        span == view.span ? .aria("current", "page") : nil
                    ) { span.rawValue.asTitle }
                    " "
                }
            }
            nav(.class("views"), .aria("label", "Go to")) {
                a(.href(view.moved(by: -1).link()), .named("rel", "prev")) {
                    "← \(word.asTitle) before"
                }
                " "
                a(.href(view.link(nil, dates.today))) { "Today" }
                " "
                a(.href(view.moved(by: 1).link()), .named("rel", "next")) {
                    "\(word.asTitle) after →"
                }
            }
        }
    }

    private var filter: Node {
        form(.class("filter"), .action(Link("calendar"))) {
            input(.type("hidden"), .name("view"), .value(view.span.rawValue))
            label {
                "From "
                input(.type("date"), .name("date"), .value(view.day.iso))
            }
            label {
                "Tag "
                input(.name("tag"), .value(view.tag ?? ""))
            }
            label {
                "Owner "
                input(.name("owner"), .value(view.owner ?? ""))
            }
            button { "Show" }
        }
    }

    private var note: Node {
        guard !changes.isEmpty else { return .empty }
        let sentences = changes.map { change in
            let day = dates.shortDay(change.date)
            let before = ClockFace(change.date - .seconds(1), in: dates.zone)
            // One second before, the clock has not yet come to the full minute.
            let old =
                "\(((before.hour * 60 + before.minute + 1) / 60 % 24).padded):\(((before.minute + 1) % 60).padded)"
            let new = dates.time(change.date)
            return change.shift > .zero
                ? "On \(day) clocks go forward from \(old) to \(new)."
                : "On \(day) clocks go back from \(old) to \(new): \(new) to \(old) comes twice."
        }
        return p(.class("shift note")) { sentences.joined(separator: " ") }
    }
}

extension Parts {
    /// What the colours of the calendar mean.
    var heatLegend: Node {
        p(.class("legend")) {
            for (kind, word) in [
                (StateWord.Kind.ok, "succeeded"), (.failed, "failed"), (.missed, "missed"),
                (.planned, "will fire"),
            ] {
                state(StateWord(word, kind))
                " "
            }
            span(.class("soft")) {
                "Each cell: how many; the darker the more. Dates in \(dates.zoneWords)."
            }
        }
    }
}
