// SPDX-License-Identifier: Apache-2.0

extension CalendarExpression {
    /// Reads an expression; a zone at its end goes before `zone`.
    ///
    /// `rules`: that zone, where it is known already.
    /// - Throws: `badCalendar`, and `unreadZone`; the message names the part that was not accepted.
    public init(parsing text: String, zone: Zone, rules: Zone? = nil) throws(ScheduleError) {
        let parts = text.wordsApart
        var words = parts.joined(separator: " ")
        var own: Zone?
        var zoneError: ScheduleError?
        // After the first word, only a zone begins with a letter.
        if let name = parts.dropFirst().last, name.first?.isLetter == true {
            do throws(ScheduleError) {
                own = rules
                if own == nil { own = try Zone(inDatabase: String(name)) }
            } catch {
                zoneError = error
            }
            words = parts.dropLast().joined(separator: " ")
        }
        var reader = CalendarReader(text: text, words: words)
        if try reader.readUnixTime() {
            if let own, own != .utc {
                throw ScheduleError(
                    .badCalendar,
                    "calendar '\(text)': a Unix time has no zone but UTC"
                )
            }
            own = .utc
        } else {
            try reader.readExpression()
        }
        // Thrown after the other errors: in "every day", the first word is the mistake.
        if let zoneError {
            let code = zoneError.code == .badZone ? ScheduleError.Code.badCalendar : zoneError.code
            throw ScheduleError(code, "calendar '\(text)': \(zoneError.message)")
        }
        fields = reader.fields
        self.zone = own ?? zone
        ownZone = own?.name
    }
}

/// One pass over an expression without its zone.
private struct CalendarReader {
    let text: String
    var rest: Substring.UTF8View
    var fields = CalendarExpression.Fields()

    init(text: String, words: String) {
        self.text = text
        rest = (Self.shorthands[words.lowercased()] ?? words)[...].utf8
    }

    private static let shorthands = [
        "minutely": "*-*-* *:*:00", "hourly": "*-*-* *:00:00", "daily": "*-*-* 00:00:00",
        "weekly": "Mon *-*-* 00:00:00", "monthly": "*-*-01 00:00:00",
        "quarterly": "*-01,04,07,10-01 00:00:00",
        "semiannually": "*-01,07-01 00:00:00", "semi-annually": "*-01,07-01 00:00:00",
        "biannually": "*-01,07-01 00:00:00", "bi-annually": "*-01,07-01 00:00:00",
        "yearly": "*-01-01 00:00:00", "annually": "*-01-01 00:00:00",
        // A misspelling that systemd accepts.
        "anually": "*-01-01 00:00:00",
    ]

    /// "@1493187147": one second, in UTC; false when the words are something else.
    mutating func readUnixTime() throws(ScheduleError) -> Bool {
        guard skip("@") else { return false }
        var reader = DigitReader(rest)
        let limit = Int(Timestamp.distantFuture.microseconds / 1_000_000)
        guard let seconds = reader.number(upTo: limit), reader.isAtEnd else {
            let reason = "a Unix time is '@' and seconds since 1970"
            let isWord = rest.first?.isLetter == true
            throw refused("time", isWord ? "\(reason); words such as 'daily' have no '@'" : reason)
        }
        let (days, time) = floorDivide(Int64(seconds), by: 86_400)
        let date = CivilDate(daysSince1970: Int(days))
        fields.years = .value(Int64(date.year))
        fields.monthsOfYear = .value(Int64(date.month))
        fields.daysOfMonth = .value(Int64(date.day))
        fields.hoursOfDay = .value(time / 3600)
        fields.minutesOfHour = .value(time / 60 % 60)
        fields.seconds = .value(time % 60 * 1_000_000, unit: 1_000_000)
        _ = fields.normalize()
        return true
    }

    mutating func readExpression() throws(ScheduleError) {
        if rest.isEmpty {
            throw ScheduleError(
                .badCalendar,
                "calendar '\(text)' is empty; try 'Mon..Fri 09:00' or 'daily'"
            )
        }
        try readWeekdays()
        try readDate()
        try readTime()
        if let mistake = fields.normalize() {
            throw ScheduleError(
                .badCalendar,
                "calendar '\(text)': \(mistake.subject) is not accepted; \(mistake.reason)"
            )
        }
    }

    /// "Mon..Fri,Sun " in front of the date; a comma may trail.
    private mutating func readWeekdays() throws(ScheduleError) {
        var bits: UInt8 = 0
        var rangeStart: Int?
        while let day = weekday() {
            // Monday is the first of a range, so that "Sat..Sun" rises.
            for number in (rangeStart ?? day)...max(day, rangeStart ?? day) {
                bits |= 1 << UInt8((number + 1) % 7)
            }
            if let rangeStart, rangeStart > day { throw refused("weekdays", "a range must rise") }
            let wasRange = rangeStart != nil
            rangeStart = nil
            if skip("..") || skip("-") {
                if wasRange { throw refused("weekdays", "a range has two ends") }
                rangeStart = day
            } else if !skip(",") {
                guard rest.isEmpty || rest.first == UInt8(ascii: " ") else {
                    throw refused("weekdays", "days are Mon to Sun")
                }
            }
            if rest.isEmpty || rest.first == UInt8(ascii: " ") {
                if rangeStart != nil { throw refused("weekdays", "a range has two ends") }
                skipSpaces()
                fields.weekdays = bits
                return
            }
        }
        if bits != 0 { throw refused("weekdays", "days are Mon to Sun") }
        if rest.first.map({ $0.isLetter || $0 >= 0x80 }) ?? false { throw strangeWord() }
    }

    /// What is wrong with a word in front that is no weekday.
    private func strangeWord() -> ScheduleError {
        let word = String(Substring(rest.prefix { !" ,.-:~*/".utf8.contains($0) }))
        let accepted =
            Self.shorthands[word.lowercased()] == nil
            ? "it takes Mon to Sun, minutely, hourly, daily, weekly, monthly, quarterly, "
                + "semiannually and yearly"
            : "it stands alone, or before a zone"
        return ScheduleError(
            .badCalendar,
            "calendar '\(text)': word '\(word)' is not accepted; \(accepted)"
        )
    }

    /// 0 for Monday, spelled in three letters or in full.
    private mutating func weekday() -> Int? {
        let end = rest.firstIndex { !$0.isLetter } ?? rest.endIndex
        guard let day = DateWords.weekday(Substring(rest[..<end]).lowercased()) else { return nil }
        rest = rest[end...]
        return (day + 6) % 7
    }

    /// "YEAR-MONTH-DAY" or "MONTH-DAY", "~" before a day that counts from the end; nothing before a
    /// time.
    private mutating func readDate() throws(ScheduleError) {
        if rest.isEmpty { return }
        let start = rest
        let first = try component("date")
        if rest.isEmpty || rest.first == UInt8(ascii: ":") {
            rest = start
            return
        }
        var parts = [first]
        while parts.count < 3, !fields.countsFromEnd {
            if skip("~") {
                fields.countsFromEnd = true
            } else if !skip("-") {
                break
            }
            parts.append(try component("date"))
        }
        guard parts.count > 1, rest.isEmpty || rest.first == UInt8(ascii: " ") else {
            throw refused("date", "a date is 'YEAR-MONTH-DAY' or 'MONTH-DAY'")
        }
        if parts.count == 3 { fields.years = fullYears(parts.removeFirst()) }
        fields.monthsOfYear = parts[0]
        fields.daysOfMonth = parts[1]
        skipSpaces()
    }

    /// Years below 100 are those around 2000.
    private func fullYears(_ years: CalendarComponent) -> CalendarComponent {
        func full(_ year: Int64) -> Int64 {
            year >= 100 ? year : year + (year < 70 ? 2000 : 1900)
        }
        var years = years
        for index in years.items.indices {
            years.items[index].start = full(years.items[index].start)
            years.items[index].stop = years.items[index].stop.map(full)
        }
        return years
    }

    /// "HOUR:MINUTE" or "HOUR:MINUTE:SECOND"; midnight when there is none.
    private mutating func readTime() throws(ScheduleError) {
        if rest.isEmpty { return }
        let form = "a time is 'HOUR:MINUTE' or 'HOUR:MINUTE:SECOND'"
        fields.hoursOfDay = try component("time")
        guard skip(":") else { throw refused("time", form) }
        fields.minutesOfHour = try component("time")
        if skip(":") { fields.seconds = try component("time", unit: 1_000_000) }
        guard rest.isEmpty else { throw refused("time", form) }
    }

    /// `*`, or a list of values, ranges and steps.
    private mutating func component(
        _ part: String,
        unit: Int64 = 1
    ) throws(ScheduleError) -> CalendarComponent {
        if skip("*") {
            // `*` of seconds means every whole second.
            let every = CalendarComponent.Item(start: 0, stop: nil, step: unit)
            return CalendarComponent(items: unit > 1 ? [every] : [], unit: unit)
        }
        var items: [CalendarComponent.Item] = []
        repeat {
            let start = try number(part, unit)
            var item = CalendarComponent.Item(start: start, stop: nil, step: 0)
            if skip("..") {
                item.stop = try number(part, unit)
                item.step = unit
            }
            if skip("/") {
                item.step = try number(part, unit)
                // Steps below 10 ms would only make the search slow; an interval serves for them.
                if item.step == 0 || unit > 1 && item.step < 10_000 {
                    throw refused(part, "a step is at least 1, of seconds at least 0.01")
                }
            } else if unit > 1, let stop = item.stop, start + unit > stop {
                throw refused(part, "a range of less than a second needs a step")
            }
            items.append(item)
            // Each reading sorts the entries; systemd has the same limit.
            if items.count > 240 { throw refused(part, "a list has at most 240 entries") }
        } while skip(",")
        guard rest.first.map({ " -~:".utf8.contains($0) }) ?? true else {
            if rest.first == UInt8(ascii: "T") {
                throw refused(part, "a blank, not 'T', stands between date and time")
            }
            throw refused(part, "'\(Substring(rest))' is not understood")
        }
        return CalendarComponent(items: items, unit: unit)
    }

    /// Digits; with a unit above 1 also a fraction, rounded to a µs.
    private mutating func number(_ part: String, _ unit: Int64) throws(ScheduleError) -> Int64 {
        let digits = rest.prefix { $0.isDigit }
        guard let whole = Int64(Substring(digits)), whole <= 999_999 else {
            throw refused(
                part,
                digits.isEmpty ? "a number is missing" : "'\(Substring(digits))' is too large"
            )
        }
        rest = rest[digits.endIndex...]
        guard unit > 1, rest.first == UInt8(ascii: "."),
            rest.dropFirst().first?.isDigit == true
        else { return whole * unit }
        let fraction = rest.dropFirst().prefix { $0.isDigit }
        rest = rest[fraction.endIndex...]
        var value: Int64 = 0
        for (index, digit) in fraction.prefix(7).enumerated() {
            let amount = Int64(digit - UInt8(ascii: "0"))
            value = index < 6 ? value * 10 + amount : value + (amount >= 5 ? 1 : 0)
        }
        for _ in min(fraction.count, 6)..<6 { value *= 10 }
        return whole * unit + value
    }

    private mutating func skip(_ mark: String) -> Bool {
        guard rest.starts(with: mark.utf8) else { return false }
        rest = rest.dropFirst(mark.utf8.count)
        return true
    }

    private mutating func skipSpaces() {
        rest = rest.drop { $0 == UInt8(ascii: " ") }
    }

    private func refused(_ part: String, _ reason: String) -> ScheduleError {
        let verb = part.hasSuffix("s") ? "are" : "is"
        return ScheduleError(
            .badCalendar,
            "calendar '\(text)': the \(part) \(verb) not accepted: \(reason)"
        )
    }
}
