// SPDX-License-Identifier: Apache-2.0

/// A component of a calendar expression with a number that does not exist, such as hour 24.
struct CalendarMistake: Hashable {
    /// "hour".
    var name: String
    /// The item as it was written, or nearly: "24", "5..1".
    var item: String
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
        return CalendarMistake(
            name: name,
            item: CalendarComponent(items: [item], unit: component.unit).text(width: 1),
            reason: reason
        )
    }
}
