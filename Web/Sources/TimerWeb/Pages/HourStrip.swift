// SPDX-License-Identifier: Apache-2.0

import HTML
import Schedules
import TimerControl
import TimerWords

/// A day back and a day ahead, an hour each, as a picture.
struct HourStrip: Sendable {
    struct Hour: Hashable, Sendable {
        var past = DueCounts()
        var planned = 0

        var total: Int {
            past.succeeded + past.failed + past.missed + past.skipped + past.open + planned
        }
    }

    private static let hours = 48
    private static let hour = TimeSpan.seconds(3600)

    private let from: Timestamp
    private let dates: LocalDate
    private var all = [Hour](repeating: Hour(), count: hours)

    init(_ client: ControlClient, _ dates: LocalDate, _ plan: PlanCache) async throws {
        self.dates = dates
        let local = dates.zone.localTime(at: dates.now).microseconds
        let sinceHour = TimeSpan(
            microseconds: (local % 3_600_000_000 + 3_600_000_000) % 3_600_000_000
        )
        // The hour that it is now ends in the middle.
        from = dates.now - sinceHour - .seconds(23 * 3600)
        let end = from + .seconds(Int64(Self.hours) * 3600)
        let calendar = CalendarReader(client, tag: nil, owner: nil, zone: dates.zone)
        for (date, counts) in try await calendar.past(from, dates.now, .hour) {
            if let index = index(date) { all[index].past += counts }
        }
        let future = try await plan.counts(from: from, before: end) {
            try await calendar.future(from, end, .hour, now: dates.now)
        }
        for (date, count) in future {
            if let index = index(date) { all[index].planned += count }
        }
    }

    private func index(_ date: Timestamp) -> Int? {
        let index = Int((date - from).microseconds / Self.hour.microseconds)
        return all.indices.contains(index) ? index : nil
    }

    func figure(_ parts: Parts) -> Node {
        let most = all.reduce(0) { max($0, $1.total) }
        return HTML.figure(.class("strip"), .data("live", "strip")) {
            svg(
                .named("viewBox", "0 0 480 40"),
                .named("preserveAspectRatio", "none"),
                .role("img"),
                .aria("label", sentence)
            ) {
                pageTitle { "Fires by the hour" }
                if most > 0 {
                    for (index, hour) in all.enumerated() { bars(hour, at: index * 10, most) }
                }
                line(.class("base"), x: 0, 480, y: 40, 40)
                line(.class("nowline"), x: nowX, nowX, y: -2, 40)
            }
            axis
        }
    }

    /// In the hour that it is now, by the minute.
    private var nowX: Int {
        Int((dates.now - from).microseconds / (Self.hour.microseconds / 10))
    }

    private func bars(_ hour: Hour, at x: Int, _ most: Int) -> [Node] {
        var top = 40
        let kinds = [
            ("b-ok", hour.past.succeeded), ("b-open", hour.past.open),
            ("b-skipped", hour.past.skipped),
            ("b-missed", hour.past.missed), ("b-failed", hour.past.failed),
            ("b-planned", hour.planned),
        ]
        return kinds.compactMap { name, count in
            guard count > 0 else { return nil }
            // By the square root, so that much does not flatten little; what is there can be seen in any case.
            let share = Double(count) / Double(hour.total)
            let whole = (Double(hour.total) / Double(most)).squareRoot() * 36
            let height = min(max(2, Int(whole * share)), top)
            top -= height
            return rect(
                .class(name),
                .named("x", x + 1),
                .named("y", top),
                .named("width", 8),
                .named("height", height)
            )
        }
    }

    private func line(_ name: Attribute, x x1: Int, _ x2: Int, y y1: Int, _ y2: Int) -> Node {
        HTML.line(name, .named("x1", x1), .named("y1", y1), .named("x2", x2), .named("y2", y2))
    }

    private var axis: Node {
        div(.class("axis hours"), .aria("hidden", "true")) {
            for step in 0...8 {
                let date = from + .seconds(Int64(step) * 6 * 3600)
                let time = dates.time(date)
                span {
                    switch step {
                    case 0: "\(ClockFace(date, in: dates.zone).weekdayName.prefix(3)) \(time)"
                    case 4: b { "now" }
                    case 8:
                        "\(ClockFace(date, in: dates.zone).weekdayName.prefix(3)) \(time) "
                        dates.abbreviation(at: date)
                    default: time
                    }
                }
            }
        }
    }

    private var sentence: String {
        var past = DueCounts()
        for hour in all { past += hour.past }
        let planned = all.reduce(0) { $0 + $1.planned }
        var words = [
            "\(past.succeeded.of("fire")) succeeded", "\(past.failed.grouped) failed",
        ]
        if past.missed > 0 { words.append("\(past.missed.of("date was", "dates were")) missed") }
        return
            "The last day: \(words.joined(separator: ", ")). The day to come: \(planned.of("date"))."
    }
}
