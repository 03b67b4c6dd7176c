// SPDX-License-Identifier: Apache-2.0

extension ZoneRule {
    /// A rule and the names of its one or two local times.
    struct Named {
        var rule: ZoneRule
        var abbreviations: [String]
    }

    /// Reads a POSIX TZ string; nil when it is none, or when the changes of one year would come
    /// after those of the next ("AAA0BBB,J1/-167,J365/167").
    static func parse(_ text: String, firstAbbreviation: UInt8 = 0) -> Named? {
        var reader = ZoneRuleReader(text)
        guard let name = reader.name(), let offset = reader.offset() else { return nil }
        var named = Named(
            rule: ZoneRule(
                offset: -offset,
                daylight: nil,
                firstAbbreviation: firstAbbreviation
            ),
            abbreviations: [name]
        )
        if reader.isAtEnd { return named }
        guard let daylightName = reader.name() else { return nil }
        // Daylight saving is one hour ahead unless the string says otherwise.
        var daylightOffset = -offset + 3600
        if !reader.isAtEnd, reader.next != UInt8(ascii: ",") {
            guard let offset = reader.offset() else { return nil }
            daylightOffset = -offset
        }
        // Without dates, the rule of the United States holds, as in every C library.
        var start = Change(day: .weekday(month: 3, week: 2, weekday: 0), time: 7200)
        var end = Change(day: .weekday(month: 11, week: 1, weekday: 0), time: 7200)
        if !reader.isAtEnd {
            guard let first = reader.change(), let second = reader.change(), reader.isAtEnd else {
                return nil
            }
            (start, end) = (first, second)
        }
        let daylight = Daylight(offset: daylightOffset, start: start, end: end)
        guard daylight.isInOrder(besides: named.rule.offset) else { return nil }
        named.rule.daylight = daylight
        named.abbreviations.append(daylightName)
        return named
    }
}

extension ZoneRule.Daylight {
    /// Whether the changes of no year come before those of the year before, however far from their days they
    /// lie.
    fileprivate func isInOrder(besides offset: Int64) -> Bool {
        var last = Int64.min
        // Weekdays and leap days of the years repeat after 28 years.
        for year in 2000...2028 {
            let changes = (
                start.second(inYear: year) - offset, end.second(inYear: year) - self.offset
            )
            if min(changes.0, changes.1) < last { return false }
            last = max(changes.0, changes.1)
        }
        return true
    }
}

private struct ZoneRuleReader {
    private var digits: DigitReader<String.UTF8View>

    init(_ text: String) {
        digits = DigitReader(text.utf8)
    }

    var isAtEnd: Bool { digits.isAtEnd }
    var next: UInt8? { digits.next }

    /// Three or more letters, or letters, digits and signs between angle brackets.
    mutating func name() -> String? {
        let isQuoted = digits.skip("<")
        let name = digits.text { byte in
            byte.isLetter || isQuoted && (byte.isDigit || "+-".utf8.contains(byte))
        }
        if isQuoted, !digits.skip(">") { return nil }
        return name.utf8.count >= 3 ? name : nil
    }

    /// Hours, with minutes and seconds if given, as seconds; a sign may lead.
    mutating func offset(hoursUpTo limit: Int = 24) -> Int64? {
        let isNegative = digits.skip("-")
        if !isNegative { _ = digits.skip("+") }
        guard let hours = digits.number(upTo: limit) else { return nil }
        var seconds = hours * 3600
        if digits.skip(":") {
            guard let minutes = digits.number(upTo: 59) else { return nil }
            seconds += minutes * 60
            if digits.skip(":") {
                guard let rest = digits.number(upTo: 59) else { return nil }
                seconds += rest
            }
        }
        return Int64(isNegative ? -seconds : seconds)
    }

    /// ",M3.2.0/2", ",J60" or ",59".
    mutating func change() -> ZoneRule.Change? {
        guard digits.skip(",") else { return nil }
        let day: ZoneRule.Day
        if digits.skip("M") {
            guard let month = digits.number(upTo: 12), month >= 1, digits.skip("."),
                let week = digits.number(upTo: 5), week >= 1, digits.skip("."),
                let weekday = digits.number(upTo: 6)
            else { return nil }
            day = .weekday(month: month, week: week, weekday: weekday)
        } else if digits.skip("J") {
            guard let number = digits.number(upTo: 365), number >= 1 else { return nil }
            day = .julian(number)
        } else {
            guard let number = digits.number(upTo: 365) else { return nil }
            day = .ordinal(number)
        }
        var time: Int64 = 7200
        if digits.skip("/") {
            guard let seconds = offset(hoursUpTo: 167) else { return nil }
            time = seconds
        }
        return ZoneRule.Change(day: day, time: time)
    }
}
