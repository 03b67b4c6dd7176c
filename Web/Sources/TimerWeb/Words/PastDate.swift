// SPDX-License-Identifier: Apache-2.0

import Schedules

/// A date that has passed, as people say it: "8h" for eight hours ago, "22:00" for the last one, "yesterday".
enum PastDate {
    /// - Throws: `ScheduleError` for what is neither a duration nor a date that has passed.
    static func parse(_ words: String, _ dates: Dates) throws(ScheduleError) -> Timestamp {
        // try?: what is no duration may be a date.
        if let span = try? TimeSpan(parsing: words), span >= .zero { return dates.now - span }
        let soon = try DateExpression.parse(words, now: dates.now, zone: dates.zone).date
        if soon <= dates.now { return soon }
        // A time of day means the next one; of a day earlier that is the last one.
        let yesterday = dates.now - .seconds(86_400)
        let date = try DateExpression.parse(words, now: yesterday, zone: dates.zone).date
        guard date <= dates.now else {
            throw ScheduleError(
                .badDate,
                "date '\(words)' is still to come; accepted are a duration such as '8h', and a date such as "
                    + "'22:00' or 'yesterday 03:00'"
            )
        }
        return date
    }
}
