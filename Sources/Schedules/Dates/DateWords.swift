// SPDX-License-Identifier: Apache-2.0

/// Sorts the words of a date: those of at(1), and what else people write.
///
/// A time may stand before its day or after it, and a zone after one of both; what is added comes last.
struct DateWords {
    private(set) var parts: DateParts
    private var words: ArraySlice<String>
    /// "Dec 24 2026" and "24 Dec 2026", word by word.
    private var month: Int?
    private var dayOfMonth: Int?
    private var year: Int?

    /// The parts of a date; `text` is the whole, for messages.
    static func parts(of words: [String], text: String) throws(ScheduleError) -> DateParts {
        var reader = Self(parts: DateParts(text: text), words: words[...])
        try reader.read()
        return reader.parts
    }

    private init(parts: DateParts, words: ArraySlice<String>) {
        (self.parts, self.words) = (parts, words)
    }

    private mutating func read() throws(ScheduleError) {
        while let word = words.popFirst() {
            let lower = word.lowercased()
            if word.first == "+", hasPart, !isOffset(word) {
                try readIncrement(String(word.dropFirst()))
            } else if let number = Self.weekday(lower) {
                try set(weekday: number)
            } else if let distance = Self.dayWords[lower] {
                try set(.relative(distance))
            } else if let time = Self.timeWords[lower] {
                try set(time: time)
            } else if lower == "next" {
                try readNext()
            } else if let number = Self.month(lower) {
                if month != nil { throw notUnderstood() }
                month = number
            } else if word.first?.isNumber == true {
                try readNumber(word, lower)
            } else if hasPart {
                try readZone(word)
            } else {
                throw notUnderstood()
            }
        }
        try setNamedDay()
    }

    /// Whether there is a day or a time, which a zone and an increment follow.
    private var hasPart: Bool {
        parts.day != nil || parts.weekday != nil || parts.time != nil || dayOfMonth != nil
    }

    private static let dayWords = ["yesterday": -1, "today": 0, "tomorrow": 1]
    /// Hours.
    private static let timeWords: [String: Int64] = ["midnight": 0, "noon": 12, "teatime": 16]

    private static let weekdays = [
        "sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday",
    ]

    /// 0 for "sun" or "sunday", and so on.
    static func weekday(_ word: String) -> Int? {
        weekdays.firstIndex { $0 == word || word.utf8.count == 3 && $0.hasPrefix(word) }
    }

    /// 1 for "jan" or "january", and so on.
    private static func month(_ word: String) -> Int? {
        Phrase.monthNames.firstIndex { name in
            let name = name.lowercased()
            return name == word || word.utf8.count == 3 && name.hasPrefix(word)
        }.map { $0 + 1 }
    }

    private mutating func set(_ day: DateParts.Day) throws(ScheduleError) {
        if parts.day != nil { throw notUnderstood() }
        parts.day = day
    }

    private mutating func set(weekday: Int) throws(ScheduleError) {
        if parts.weekday != nil { throw notUnderstood() }
        parts.weekday = weekday
    }

    /// A time in whole hours.
    private mutating func set(time hours: Int64) throws(ScheduleError) {
        if parts.time != nil { throw notUnderstood() }
        parts.time = hours * 3_600_000_000
    }

    /// "next week", "next friday".
    private mutating func readNext() throws(ScheduleError) {
        guard let unit = words.popFirst()?.lowercased() else { throw notUnderstood() }
        if let number = Self.weekday(unit) {
            parts.isNextWeekday = true
            return try set(weekday: number)
        }
        switch unit {
        case "day": try set(.relative(1))
        case "week": try set(.relative(7))
        case "month": try set(.months(1))
        case "year": try set(.months(12))
        default: throw notUnderstood()
        }
    }

    /// What begins with a digit: a time, a day, or a number of either.
    private mutating func readNumber(_ word: String, _ lower: String) throws(ScheduleError) {
        if let clock = Self.withColon(word) { return try readTime(clock, as: word) }
        if word.contains(":") || lower.hasSuffix("am") || lower.hasSuffix("pm") {
            return try readTime(word)
        }
        if ["am", "pm"].contains(words.first?.lowercased()) { return try readTime(word) }
        if word.contains("-") || word.contains(".") || word.contains("/") {
            return try set(numericDate(word))
        }
        if word.utf8.count == 8, word.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) {
            let year = word.dropFirst(4)
            return try set(numericDate("\(word.prefix(2))/\(word.dropFirst(2).prefix(2))/\(year)"))
        }
        var reader = DigitReader(word.hasSuffix(",") ? word.utf8.dropLast() : word.utf8[...])
        guard let number = reader.number(upTo: 9999), reader.isAtEnd else { throw notUnderstood() }
        let length = word.utf8.count
        if dayOfMonth == nil, length <= 3,
            month != nil || words.first.flatMap({ Self.month($0.lowercased()) }) != nil
        {
            dayOfMonth = number
        } else if month != nil, dayOfMonth != nil, year == nil, length == 4 {
            year = number
        } else if month != nil, dayOfMonth != nil, year == nil, length == 2 {
            throw shortYear(word)
        } else if length == 4, parts.time == nil {
            // "1630"
            parts.time = try time(hour: number / 100, minute: number % 100, word)
        } else {
            throw notUnderstood()
        }
    }

    /// "9:30" for "9.30", "9,30", "9h30" and "9'30", as at(1) has them, also with "am" or "pm" behind; nil for another word.
    private static func withColon(_ word: String) -> String? {
        let parts = word.split(maxSplits: 1, omittingEmptySubsequences: false) {
            ".,h'".contains($0)
        }
        guard parts.count == 2, 1...2 ~= parts[0].utf8.count, parts[0].utf8.allSatisfy(\.isDigit)
        else { return nil }
        let minute = parts[1].prefix(2)
        let half = parts[1].dropFirst(2).lowercased()
        guard minute.utf8.count == 2, minute.utf8.allSatisfy(\.isDigit),
            ["", "am", "pm"].contains(half)
        else { return nil }
        return "\(parts[0]):\(parts[1])"
    }

    /// "2026-12-24", "24.12.2026", "12/24/2026"; a year of two digits could be read two ways.
    private func numericDate(_ word: String) throws(ScheduleError) -> DateParts.Day {
        var reader = DigitReader(word.utf8)
        let date: CivilDate
        let numbers = word.split(omittingEmptySubsequences: false) { "-./".contains($0) }
        let areShort = numbers.allSatisfy {
            1...2 ~= $0.utf8.count && $0.utf8.allSatisfy(\.isDigit)
        }
        if numbers.count == 3, areShort {
            throw shortYear(String(numbers[word.contains("-") ? 0 : 2]))
        }
        if word.contains("-") {
            guard let year = reader.number(digits: 4), reader.skip("-"),
                let month = reader.number(digits: 2), reader.skip("-"),
                let day = reader.number(digits: 2)
            else { throw notUnderstood() }
            date = CivilDate(year: year, month: month, day: day)
        } else {
            let mark: Unicode.Scalar = word.contains("/") ? "/" : "."
            guard let first = reader.number(upTo: 99), reader.skip(mark),
                let second = reader.number(upTo: 99), reader.skip(mark),
                let year = reader.number(digits: 4)
            else { throw notUnderstood() }
            let (month, day) = mark == "/" ? (first, second) : (second, first)
            date = CivilDate(year: year, month: month, day: day)
        }
        guard reader.isAtEnd, date.year >= 1 else { throw notUnderstood() }
        guard date.exists else { throw noSuchDay(word) }
        return .date(date, isISO: word.contains("-"))
    }

    /// Puts "Dec", "24" and perhaps "2026" together.
    private mutating func setNamedDay() throws(ScheduleError) {
        guard month != nil || dayOfMonth != nil else { return }
        guard let month, let dayOfMonth else { throw notUnderstood() }
        guard let year else { return try set(.inYear(month: month, day: dayOfMonth)) }
        let date = CivilDate(year: year, month: month, day: dayOfMonth)
        guard date.exists else {
            throw noSuchDay("\(Phrase.monthNames[month - 1]) \(dayOfMonth) \(year)")
        }
        try set(.date(date, isISO: false))
    }

    private func shortYear(_ year: String) -> ScheduleError {
        ScheduleError(
            .badDate,
            "date '\(parts.text)': '\(year)' is no year, which has four digits"
        )
    }

    private func noSuchDay(_ day: String) -> ScheduleError {
        ScheduleError(.badDate, "date '\(parts.text)': there is no day '\(day)'")
    }

    /// "09:00", "09:00:30.5", "4pm", "4:30 pm", with "Z" or an offset directly behind it if wanted.
    ///
    /// `stated`: how it stands there, for messages.
    private mutating func readTime(
        _ word: String,
        as stated: String? = nil
    ) throws(ScheduleError) {
        let stated = stated ?? word
        if parts.time != nil { throw notUnderstood() }
        var clock = word
        var half: String?
        if let suffix = ["am", "pm"].first(where: { word.lowercased().hasSuffix($0) }) {
            half = suffix
            clock.removeLast(2)
        } else if let next = words.first?.lowercased(), ["am", "pm"].contains(next) {
            half = next
            words.removeFirst()
        }
        let end = clock.utf8.firstIndex { "Zz+-".utf8.contains($0) } ?? clock.endIndex
        if end != clock.endIndex { try readZone(String(clock[end...])) }
        var reader = DigitReader(clock.utf8[..<end])
        guard let hour = reader.number(upTo: 99) else { throw notUnderstood() }
        var (minute, second, fraction) = (0, 0, 0)
        if reader.skip(":") {
            guard let number = reader.number(digits: 2) else { throw notUnderstood() }
            minute = number
            if reader.skip(":") {
                guard let number = reader.number(digits: 2) else { throw notUnderstood() }
                second = number
                if reader.skip(".") {
                    guard let digits = reader.fraction() else { throw notUnderstood() }
                    fraction = digits
                }
            }
        } else if half == nil {
            throw notUnderstood()
        }
        guard reader.isAtEnd else { throw notUnderstood() }
        if half != nil, !(1...12 ~= hour) { throw noSuchTime(stated, "1am to 12pm") }
        // 12am is midnight, 12pm is noon.
        let hours = half.map { hour % 12 + ($0 == "pm" ? 12 : 0) } ?? hour
        guard second <= 59 else { throw noSuchTime(stated) }
        parts.time =
            try time(hour: hours, minute: minute, stated) + Int64(second) * 1_000_000
            + Int64(fraction)
    }

    private func time(hour: Int, minute: Int, _ word: String) throws(ScheduleError) -> Int64 {
        guard hour <= 23, minute <= 59 else { throw noSuchTime(word) }
        return Int64(hour * 3600 + minute * 60) * 1_000_000
    }

    private func noSuchTime(
        _ word: String,
        _ range: String = "00:00 to 23:59:59"
    ) -> ScheduleError {
        ScheduleError(
            .badDate,
            "date '\(parts.text)': there is no time '\(word)'; times are \(range)"
        )
    }

    private mutating func readZone(_ word: String) throws(ScheduleError) {
        if parts.zone != nil { throw notUnderstood() }
        if word == "Z" || word == "z" {
            parts.zone = .zone(.utc)
        } else if word.first == "+" || word.first == "-" {
            guard let fixed = Zone(offset: word) else { throw notUnderstood() }
            parts.zone = .zone(fixed)
        } else {
            parts.zone = .name(word)
        }
    }

    /// Whether "+02" is an offset of a zone, not the "+2" of "+2 days".
    private func isOffset(_ word: String) -> Bool {
        guard Zone(offset: word) != nil else { return false }
        // try?: what is no unit of time is another word.
        return words.first.flatMap { try? TimeSpan(parsing: "1\($0.lowercased())") } == nil
    }

    /// "3 days", to the end of the words.
    private mutating func readIncrement(_ first: String) throws(ScheduleError) {
        let rest = ([first] + words).filter { !$0.isEmpty }
        words = []
        parts.increment = try DateIncrement(
            parsing: rest.joined(separator: " ")[...],
            of: parts.text
        )
    }

    private func notUnderstood() -> ScheduleError { parts.notUnderstood() }
}
