// SPDX-License-Identifier: Apache-2.0

/// What is added to a date, as in "4pm + 3 days": by the calendar, or in real time.
struct DateIncrement {
    /// Of the calendar: the time of day stays.
    var months = 0
    var days = 0
    /// Real time, behind these.
    var span = TimeSpan.zero

    /// Whether it leads from `day` into a month before that of `today`.
    func endsBefore(_ today: CivilDate, from day: CivilDate) -> Bool {
        let distance = (today.year - day.year) * 12 + today.month - day.month
        return months < distance && days == 0 && span == .zero
    }

    /// Reads numbers with their units, such as "1 month 2 days" or "1h30min".
    ///
    /// Whole months and years are the calendar's. So are days and weeks, but behind "now" (`isFromNow`) they
    /// are lengths of time, as in a duration. `text` is the whole date, for messages.
    init(
        parsing words: Substring,
        of text: String,
        isFromNow: Bool = false
    ) throws(ScheduleError) {
        // A second sign is refused here, as `TimeSpan` accepts one.
        if words.isEmpty || words.contains("+") { throw Self.notAnIncrement(text) }
        let words = Self.inLowerCase(words)
        // From here on each part is a number, with a unit of time or none.
        _ = try TimeSpan(parsing: words)
        var rest = words[...]
        while !rest.isEmpty {
            let number = rest.prefix { !$0.isLetter && $0 != " " }
            rest = rest.dropFirst(number.count).drop { $0 == " " }
            let unit = rest.prefix { $0.isLetter }
            if unit.isEmpty { throw Self.notAnIncrement(text) }
            rest = rest.dropFirst(unit.count).drop { $0 == " " }
            // A part of one, as "1.5 days", is a length of time.
            if let count = Int(number), let length = Self.calendar[String(unit)],
                length.months > 0 || !isFromNow
            {
                months += count * length.months
                days += count * length.days
            } else {
                span = span + (try TimeSpan(parsing: "\(number)\(unit)"))
            }
        }
        if span > .longestInterval {
            throw ScheduleError(.badDate, "date '\(text)' is too far away; at most 100 years")
        }
    }

    /// What the units of the calendar are.
    private static let calendar: [String: (months: Int, days: Int)] = [
        "d": (0, 1), "day": (0, 1), "days": (0, 1),
        "w": (0, 7), "week": (0, 7), "weeks": (0, 7),
        "M": (1, 0), "month": (1, 0), "months": (1, 0),
        "y": (12, 0), "year": (12, 0), "years": (12, 0),
    ]

    /// The units of time as `TimeSpan` has them, "hours" for "HOURS"; "M" and "m" stay what they are.
    static func inLowerCase(_ words: Substring) -> String {
        var text = ""
        var rest = words
        while !rest.isEmpty {
            let number = rest.prefix { !$0.isLetter }
            rest = rest.dropFirst(number.count)
            let unit = rest.prefix { $0.isLetter }
            rest = rest.dropFirst(unit.count)
            text += String(number)
            text += unit == "M" ? "M" : unit.lowercased()
        }
        return text
    }

    private static func notAnIncrement(_ text: String) -> ScheduleError {
        ScheduleError(
            .badDate,
            "date '\(text)': what is added is a number with its unit, such as '+ 2 hours' or "
                + "'+ 3 days'; a zone is '+02:00'"
        )
    }
}
