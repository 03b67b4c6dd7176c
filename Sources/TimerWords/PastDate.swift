// SPDX-License-Identifier: Apache-2.0

public import Schedules

/// A date that has passed, as people say it: "8h" for eight hours ago, "22:00" for the last one, "yesterday" for
/// its midnight, "2026-11-22 03:00".
///
/// "9.30" is a time, as everywhere else; "9h30" a duration, of 9 h 30 s.
public enum PastDate {
    /// What is accepted, to follow the word that was not.
    public static let accepted =
        "accepted are a duration such as '8h', and a date such as '22:00' or 'yesterday 03:00'"

    /// - Throws: `ScheduleError` for what is neither a duration nor a date that has passed.
    public static func parse(_ words: String, _ dates: LocalDate) throws(ScheduleError) -> Timestamp
    {
        // A duration behind "+" lies ahead. try?: what is no duration may be a date.
        if !words.contains("+"), !isTimeWithPoint(words), let span = try? TimeSpan(parsing: words),
            span >= .zero
        {
            return dates.now - span
        }
        // A day begins at its midnight, also that of a date alone.
        let isDay = ["today", "yesterday"].contains(words.lowercased())
        let text = isDay ? "\(words) 00:00" : words
        func read(at moment: Timestamp) throws(ScheduleError) -> Timestamp {
            do throws(ScheduleError) {
                return try DateExpression.parse(text, now: moment, zone: dates.zone).date
            } catch {
                // Without the list of dates that are usual for what lies ahead.
                let reason = error.message.split(separator: "; accepted are ").first ?? ""
                throw ScheduleError(error.code, "\(reason); \(accepted)")
            }
        }
        let soon = try read(at: dates.now)
        // A time of day means the next one; of a day earlier, by the clock, that is the last one. try?: a day of
        // the year, without a time, may be none on that day.
        let isTimeOfDay = soon > dates.now && !isFromNow(words)
        var date = isTimeOfDay ? (try? read(at: dayEarlier(dates))) ?? soon : soon
        // Where clocks were set back it has come once more since. try?: then there is none.
        if isTimeOfDay, let later = try? read(at: date), later <= dates.now { date = later }
        guard date <= dates.now else {
            throw ScheduleError(.badDate, "'\(words)' is still to come; \(accepted)")
        }
        return date
    }

    /// Whether the words count from now, or from today: "+1h", "now + 1h", "tomorrow", "next day", "today 22:00".
    private static func isFromNow(_ words: String) -> Bool {
        let parts = words.lowercased().split(whereSeparator: \.isWhitespace)
        return parts.first.map { $0.hasPrefix("+") || $0.hasPrefix("now") } == true
            || parts.contains { $0 == "today" || $0 == "tomorrow" || $0 == "next" }
    }

    /// "9.30": nobody means 9.3 s.
    private static func isTimeWithPoint(_ words: String) -> Bool {
        let parts = words.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 2 && 1...2 ~= parts[0].count && parts[1].count == 2
            && parts.allSatisfy { $0.allSatisfy { "0"..."9" ~= $0 } }
    }

    /// When the clock showed the same the day before, which may have had 23 or 25 hours.
    private static func dayEarlier(_ dates: LocalDate) -> Timestamp {
        let date = dates.now - .seconds(86_400)
        let change = dates.zone.offset(at: date) - dates.zone.offset(at: dates.now)
        return date - .seconds(Int64(change))
    }
}
