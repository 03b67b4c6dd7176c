// SPDX-License-Identifier: Apache-2.0

/// A component of a calendar expression with a number that does not exist, such as hour 24, or a list of too many
/// values.
struct CalendarMistake: Hashable {
    /// "hour '24'", the item as it was written, or nearly; "the list of seconds".
    var subject: String
    /// Why it is not accepted: "it takes 0 to 23".
    var reason: String
}

extension CalendarExpression.Fields {
    /// The first of the normalised components that is not accepted.
    var mistake: CalendarMistake? {
        // Every month has 28 days: a day further from the end would be missing in some.
        let days: ClosedRange<Int64> = countsFromEnd ? 1...28 : 1...31
        let dayName = countsFromEnd ? "day before the month's end" : "day of month"
        return Self.mistake("year", years, Self.yearRange)
            ?? Self.mistake("month", monthsOfYear, 1...12)
            ?? Self.mistake(dayName, daysOfMonth, days, countsDown: countsFromEnd)
            ?? Self.mistake("hour", hoursOfDay, 0...23)
            ?? Self.mistake("minute", minutesOfHour, 0...59)
            ?? Self.mistake("second", seconds, 0...Self.lastOfMinute)
            ?? Self.excess("years", years, limit: Self.yearRange.upperBound)
            ?? Self.excess("seconds", seconds, limit: Self.lastOfMinute)
    }

    /// A list whose valid entries have too many values together.
    private static func excess(
        _ name: String,
        _ component: CalendarComponent,
        limit: Int64
    ) -> CalendarMistake? {
        let most = CalendarComponent.mostListed
        guard component.items.count > 1 else { return nil }
        let count = component.countOfAll(limit: limit)
        guard count > most else { return nil }
        return CalendarMistake(
            subject: "the list of \(name)",
            reason: "its \(component.items.count) different entries have \(count) values together, "
                + "and those of a list may have \(most); a single range or step may have any number"
        )
    }

    private static func mistake(
        _ name: String,
        _ component: CalendarComponent,
        _ range: ClosedRange<Int64>,
        countsDown: Bool = false
    ) -> CalendarMistake? {
        guard let item = component.invalidItem(in: range, countsDown: countsDown) else {
            return nil
        }
        let (first, last) = (range.lowerBound / component.unit, range.upperBound / component.unit)
        let ends = [item.start, item.stop ?? item.start]
        let reason: String
        if !ends.allSatisfy(range.contains) {
            reason = "it takes \(first) to \(last)"
        } else if let stop = item.stop, stop < item.start {
            reason = "a range must rise"
        } else {
            reason = "its step must reach a second value from \(first) to \(last)"
        }
        let text = CalendarComponent(items: [item], unit: component.unit).text(width: 1)
        return CalendarMistake(
            subject: "\(name) '\(text)'",
            reason: reason
        )
    }
}
