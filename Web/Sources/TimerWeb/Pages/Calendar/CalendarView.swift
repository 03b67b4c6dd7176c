// SPDX-License-Identifier: Apache-2.0

import HTML
import Schedules
import TimerControl

/// What of the calendar is looked at: a day, a week or a month, and of whose jobs.
struct CalendarView: Hashable, Sendable {
    var span: Span
    /// A day in it.
    var day: LocalDay
    var tag: String?
    var owner: String?
    /// What the address says that means nothing: no date is shown then.
    let mistakes: [String]

    enum Span: String, CaseIterable, Sendable {
        case day, week, month
    }

    init(_ visit: Visit) {
        var address = AddressReader(
            visit.link.query,
            once: ["view", "date", "tag", "owner", "from", "before", "cursor"]
        )
        span = address.word("view", "view", of: Span.allCases.map(\.rawValue), Span.init) ?? .week
        let day = address.value("date", expected: "a day from 1970 to 9990, such as 2026-12-01") {
            LocalDay($0).flatMap { 1970...9990 ~= $0.year ? $0 : nil }
        }
        self.day = day ?? visit.dates.today
        mistakes = address.mistakes
        (tag, owner) = (visit.query("tag"), visit.query("owner"))
    }

    /// The first day that is shown, and how many are.
    var first: LocalDay {
        switch span {
        case .day: day
        case .week: day.monday
        case .month: day.firstOfMonth.monday
        }
    }

    var count: Int {
        switch span {
        case .day: 1
        case .week: 7
        case .month: ((day.firstOfMonth(after: 1) - 1).monday.number + 7) - first.number
        }
    }

    var days: [LocalDay] { (0..<count).map { first + $0 } }

    /// So many of its kind on, or back.
    func moved(by steps: Int) -> Self {
        var view = self
        switch span {
        case .day: view.day = day + steps
        case .week: view.day = first + 7 * steps
        case .month: view.day = day.firstOfMonth(after: steps)
        }
        return view
    }

    func link(_ span: Span? = nil, _ day: LocalDay? = nil) -> Link {
        Link("calendar").with("view", (span ?? self.span).rawValue)
            .with("date", (day ?? self.day).iso).with("tag", tag).with("owner", owner)
    }

    /// The jobs' dates within a stretch of time.
    func dates(from: Timestamp, before: Timestamp) -> Link {
        Link("calendar", "dates").with("from", from.rfc3339).with("before", before.rfc3339)
            .with("tag", tag).with("owner", owner)
    }

    var title: String {
        let last = first + (count - 1)
        func month(_ day: LocalDay) -> String { ClockFace.months[day.month - 1] }
        switch span {
        case .day:
            return "\(ClockFace.weekdays[day.weekday]) \(day.day) \(month(day)) \(day.year)"
        case .month: return "\(month(day)) \(day.year)"
        case .week:
            if first.year != last.year {
                return
                    "\(first.day) \(month(first)) \(first.year) to \(last.day) \(month(last)) \(last.year)"
            }
            return first.month == last.month
                ? "\(first.day) to \(last.day) \(month(last)) \(last.year)"
                : "\(first.day) \(month(first)) to \(last.day) \(month(last)) \(last.year)"
        }
    }
}
