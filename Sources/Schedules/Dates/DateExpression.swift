// SPDX-License-Identifier: Apache-2.0

/// Reads the dates people write.
///
/// RFC 3339; `2026-12-01 09:00[:30[.5]] [ZONE]`, or the day alone for its midnight; `09:00`, the next one;
/// `today`, `tomorrow`, `yesterday` or a weekday with a time; `+10m` or `now + 10m`; `@1700000000`; `now`; and
/// what at(1) takes: `noon`, `9.30`, `4pm + 3 days`, `next friday`, `Dec 24 10:00`, `24.12.2026`. A zone is a
/// name, an offset, or an abbreviation of the default zone. Case matters in zone names and in `M` and `m` only.
public enum DateExpression {
    /// The instant `text` means, and a note when its local time does not exist or comes twice.
    ///
    /// `zone` is that of a local time that names none; it is evaluated only if it is needed.
    ///
    /// - Throws: `badDate`, or `badZone` for an unknown zone.
    public static func parse(
        _ text: String,
        now: Timestamp,
        zone: @autoclosure () -> Zone
    ) throws(ScheduleError) -> (date: Timestamp, note: String?) {
        // What programs write comes first: it needs no words.
        if let date = Timestamp(rfc3339: text) { return (try withinReach(date, text), nil) }
        var words = text.wordsApart.map(String.init)
        guard let first = words.first else {
            throw ScheduleError(.badDate, "a date must not be empty; try '2026-12-01 09:00'")
        }
        if first.hasPrefix("@") { return (try unixTime(text, words), nil) }
        let spoken = words.joined(separator: " ")
        let isFromNow = spoken.lowercased().hasPrefix("now")
        let ahead = isFromNow ? spoken.dropFirst(3) : spoken[...]
        if ahead.isEmpty { return (now, nil) }
        if let span = nextUnits[spoken.lowercased()] { return (now + span, nil) }
        let signed = ahead.drop { $0 == " " }
        if signed.first == "+" {
            let added = signed.dropFirst().drop { $0 == " " }
            if isFromNow {
                let increment = try DateIncrement(parsing: added, of: text, isFromNow: true)
                if 1...1200 ~= increment.months {
                    let parts = DateParts(text: text, adding: increment, to: now, zone: zone())
                    let (date, note) = try parts.resolve(now: now, zone: zone())
                    return (try withinReach(date, text), note)
                }
            }
            return try distance(text, added, from: now)
        }
        if let date = Timestamp(rfc3339: spoken) {
            return (try withinReach(date, text), nil)
        }
        words = words.flatMap { splitAtT($0) }.flatMap { splitAtIncrement($0) }
        let parts = try DateWords.parts(of: words, text: text)
        let (date, note) = try parts.resolve(now: now, zone: zone())
        return (try withinReach(date, text), note)
    }

    /// Lengths of real time that follow now.
    private static let nextUnits: [String: TimeSpan] = [
        "next minute": .seconds(60), "next hour": .seconds(3600),
    ]

    /// "@1700000000", with a fraction if wanted.
    private static func unixTime(
        _ text: String,
        _ words: [String]
    ) throws(ScheduleError) -> Timestamp {
        var reader = DigitReader(words[0].utf8.dropFirst())
        let limit = Int(Timestamp.distantFuture.microseconds / 1_000_000)
        if words.count == 1, let seconds = reader.number(upTo: limit) {
            let fraction = reader.skip(".") ? reader.fraction() : 0
            if let fraction, reader.isAtEnd {
                return Timestamp(microseconds: Int64(seconds) * 1_000_000 + Int64(fraction))
            }
        }
        throw ScheduleError(
            .badDate,
            "date '\(text)' is not a Unix time, such as '@1700000000' or '@1700000000.5'"
        )
    }

    /// The "10m" of "+10m"; with a note if it counts in months or years, whose length varies.
    private static func distance(
        _ text: String,
        _ words: Substring,
        from now: Timestamp
    ) throws(ScheduleError) -> (Timestamp, String?) {
        // Refused here, as `TimeSpan` accepts a sign.
        if words.isEmpty || words.contains("+") {
            throw ScheduleError(.badDate, "date '\(text)' is not a distance, such as '+10m'")
        }
        let words = DateIncrement.inLowerCase(words)
        let span = try TimeSpan(parsing: words)
        if span > .longestInterval {
            throw ScheduleError(.badDate, "date '\(text)' is too far away; at most 100 years")
        }
        let units = words.split { !$0.isLetter }
        let hasMonths = units.contains {
            ["M", "month", "months", "y", "year", "years"].contains($0)
        }
        let note = "'\(text)' counts 30.4375 days as a month and 365.25 as a year"
        return (now + span, hasMonths ? note : nil)
    }

    /// Refuses dates before 1970 and after 9999; a local time of 9999 west of Greenwich may lie after it.
    private static func withinReach(
        _ date: Timestamp,
        _ text: String
    ) throws(ScheduleError) -> Timestamp {
        if date.microseconds < 0 {
            throw ScheduleError(
                .badDate,
                "date '\(text)' lies before 1970; nothing can be due then"
            )
        }
        if date > .distantFuture { throw DateParts(text: text).tooFarAway() }
        return date
    }

    /// "4pm", "+3" and "days" of "4pm+3days"; any other word, "09:00+02" among them, alone.
    private static func splitAtIncrement(_ word: String) -> [String] {
        guard let plus = word.lastIndex(of: "+"), plus > word.startIndex else { return [word] }
        let digits = word[word.index(after: plus)...].prefix { $0.isNumber }
        let unit = word[digits.endIndex...]
        guard !digits.isEmpty, unit.utf8.count > 2, unit.allSatisfy(\.isLetter) else {
            return [word]
        }
        return [String(word[..<plus]), "+" + digits, String(unit)]
    }

    /// The day and the time of "2026-12-01T09:00"; any other word alone.
    private static func splitAtT(_ word: String) -> [String] {
        let parts = word.split(maxSplits: 1, omittingEmptySubsequences: false) {
            $0 == "T" || $0 == "t"
        }
        // "1630+5minu" of "1630+5minutes" has as many letters as a day.
        guard parts.count == 2, parts[0].utf8.count == 10, parts[0].first?.isNumber == true,
            !parts[0].contains(where: { $0.isLetter || $0 == "+" })
        else { return [word] }
        return parts.map(String.init)
    }
}
