// SPDX-License-Identifier: Apache-2.0

extension CalendarExpression.Fields {
    /// Weekdays by name, Monday first; runs of three and more as ranges.
    static let weekdayNames = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]

    /// The normalised form without a zone.
    var text: String {
        let weekdays = weekdays == 0x7f ? "" : weekdayText + " "
        let date =
            years.text(width: 4) + "-" + monthsOfYear.text(width: 2)
            + (countsFromEnd ? "~" : "-") + daysOfMonth.text(width: 2)
        let time =
            hoursOfDay.text(width: 2) + ":" + minutesOfHour.text(width: 2) + ":"
            + seconds.text(width: 2)
        return weekdays + date + " " + time
    }

    private var weekdayText: String {
        var words: [String] = []
        for run in weekdayRuns {
            let names = run.map { Self.weekdayNames[$0] }
            words += names.count > 2 ? ["\(names[0])..\(names[names.count - 1])"] : names
        }
        return words.joined(separator: ",")
    }

    /// The weekdays that follow on one another; 0 is Monday.
    var weekdayRuns: [Range<Int>] {
        var runs: [Range<Int>] = []
        for day in 0..<7 where weekdays & 1 << UInt8((day + 1) % 7) != 0 {
            if let last = runs.last, last.upperBound == day {
                runs[runs.count - 1] = last.lowerBound..<(day + 1)
            } else {
                runs.append(day..<(day + 1))
            }
        }
        return runs
    }
}
