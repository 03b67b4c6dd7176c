// SPDX-License-Identifier: Apache-2.0

/// English for sets of numbers: what `explanation` is put together from.
enum Phrase {
    /// "a", "a and b", "a, b and c".
    static func list(_ words: [String], or: Bool = false) -> String {
        guard let last = words.last, words.count > 1 else { return words.first ?? "" }
        return words.dropLast().joined(separator: ", ") + (or ? " or " : " and ") + last
    }

    /// The numbers whose bits are set, runs of three and more as "9 to 17".
    static func runs(_ bits: UInt64, name: (Int) -> String) -> [String] {
        var words: [String] = []
        var rest = bits
        while rest != 0 {
            let start = rest.trailingZeroBitCount
            let length = (~(rest >> UInt64(start))).trailingZeroBitCount
            if length > 2 {
                words.append("\(name(start)) to \(name(start + length - 1))")
            } else {
                words += (start..<start + length).map(name)
            }
            rest &= ~0 << UInt64(start + length)
        }
        return words
    }

    /// "day 1", "days 1 to 7 and 15", "every 2nd day from day 1".
    static func days(_ bits: UInt64) -> String {
        let first = bits.trailingZeroBitCount
        let step = (bits & (bits - 1)).trailingZeroBitCount - first
        if bits.nonzeroBitCount > 3, step > 1,
            bits == stride(from: first, through: 31, by: step).reduce(0, { $0 | 1 << UInt64($1) })
        {
            return "every \(ordinal(step)) day from day \(first)"
        }
        return (bits.nonzeroBitCount > 1 ? "days " : "day ") + list(runs(bits) { String($0) })
    }

    /// "the last day", "the last 7 days", "days 3 to 5 from the end"; bit 1 is the last day.
    static func daysFromEnd(_ bits: UInt64) -> String {
        let count = bits.nonzeroBitCount
        if bits == 2 { return "the last day" }
        if bits == (1 << UInt64(count + 1)) - 2 { return "the last \(count) days" }
        return (count > 1 ? "days " : "day ") + list(runs(bits) { String($0) }) + " from the end"
    }

    /// "2nd", "3rd", "11th".
    static func ordinal(_ number: Int) -> String {
        let suffixes = [1: "st", 2: "nd", 3: "rd"]
        let suffix = (11...13).contains(number % 100) ? "th" : suffixes[number % 10] ?? "th"
        return "\(number)\(suffix)"
    }

    /// Days of the week by name, Monday first; `bits` has Sunday in bit 0.
    static func weekdays(_ bits: UInt8) -> [String] {
        let fromMonday = UInt64(bits >> 1 | (bits & 1) << 6)
        return runs(fromMonday) { weekdayNames[($0 + 1) % 7] }
    }

    static let weekdayNames = [
        "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday",
    ]

    static func months(_ bits: UInt16) -> String {
        list(runs(UInt64(bits)) { monthNames[$0 - 1] })
    }

    static let monthNames = [
        "January", "February", "March", "April", "May", "June", "July", "August", "September",
        "October", "November", "December",
    ]
}

/// The values of one unit of the time of day, and how to say them.
struct TimeUnitPhrase {
    let name: String
    let bits: UInt64
    /// 60 or 24.
    let size: Int

    var isAll: Bool { bits.nonzeroBitCount == size }
    var isZero: Bool { bits == 1 }

    /// The step of `*/n` and `a/n`, which reach to the end of the unit; nil for other sets.
    private var step: Int? {
        let first = bits.trailingZeroBitCount
        let second = (bits & (bits - 1)).trailingZeroBitCount
        guard bits.nonzeroBitCount > 2 || bits.nonzeroBitCount == 2 && 2 * (second - first) == size
        else { return nil }
        let step = second - first
        let values = stride(from: first, to: size, by: step).reduce(UInt64(0)) {
            $0 | 1 << UInt64($1)
        }
        return step > 1 && first < step && values == bits ? step : nil
    }

    /// At the head of a sentence: "every 5 minutes", "at minutes 0 and 30".
    ///
    /// A step that does not divide the unit starts anew with it: "at every 7th minute".
    var head: String {
        if isAll { return "every \(name)" }
        if let step {
            if size % step != 0 { return "at \(tail)" }
            let first = bits.trailingZeroBitCount
            return "every \(step) \(name)s" + (first == 0 ? "" : " from \(name) \(first)")
        }
        return "at \(values)"
    }

    /// After a finer unit: "every hour", "every 2nd hour", "the hours 9 to 17".
    var tail: String {
        if isAll { return "every \(name)" }
        if let step {
            let first = bits.trailingZeroBitCount
            return "every \(Phrase.ordinal(step)) \(name)"
                + (first == 0 ? "" : " from \(name) \(first)")
        }
        return bits.nonzeroBitCount == 1 ? values : "the \(values)"
    }

    private var values: String {
        let plural = bits.nonzeroBitCount > 1 ? "s" : ""
        return "\(name)\(plural) \(Phrase.list(Phrase.runs(bits) { String($0) }))"
    }
}

extension Phrase {
    /// The times of a day: "at 09:00", "every 5 minutes of the hours 9 to 17".
    static func times(hours: UInt64, minutes: UInt64, seconds: UInt64) -> String {
        let count = hours.nonzeroBitCount * minutes.nonzeroBitCount * seconds.nonzeroBitCount
        if count <= 6 {
            return "at " + list(clockTimes(hours: hours, minutes: minutes, seconds: seconds))
        }
        let units = [
            TimeUnitPhrase(name: "second", bits: seconds, size: 60),
            TimeUnitPhrase(name: "minute", bits: minutes, size: 60),
            TimeUnitPhrase(name: "hour", bits: hours, size: 24),
        ]
        // Seconds of 0 are not named, nor minutes of 0 after them, nor hours of 0 after those.
        let said = Array(units.drop { $0.isZero })
        guard let first = said.first else { return "at 00:00" }
        var words = [first.head]
        for (index, unit) in said.enumerated().dropFirst() {
            let isRestAll = said[index...].allSatisfy(\.isAll)
            if isRestAll, !words[0].hasPrefix("at ") || index > 1 { break }
            words.append(unit.tail)
        }
        return words.joined(separator: " of ")
    }

    /// "1.5" for 1,500,000 µs; the whole seconds at least `width` digits wide.
    static func decimal(_ microseconds: Int64, width: Int = 1) -> String {
        let (whole, part) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
        var fraction = String(part + 1_000_000).dropFirst()
        while fraction.hasSuffix("0") { fraction.removeLast() }
        let digits = String(whole)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
            + (fraction.isEmpty ? "" : "." + fraction)
    }

    /// Times, days and months together, each of the last two if there are any.
    static func sentence(
        times: String,
        days: String,
        isDate: Bool,
        months: String,
        years: String,
        zone: Zone
    ) -> String {
        var text = times
        let season = [months, years].filter { !$0.isEmpty }.joined(separator: " ")
        if days.isEmpty {
            let isClockTime = times.dropFirst(3).first?.isNumber == true && times.contains(":")
            if !season.isEmpty {
                text += " in " + season
            } else if isClockTime {
                text += " every day"
            }
        } else if isDate, !months.isEmpty {
            text += " on \(days) of \(season)"
        } else {
            text += " on " + days + (isDate ? " of the month" : "")
            if !season.isEmpty { text += " in " + season }
        }
        return "\(text), \(zone.name)"
    }

    /// "09:00", "09:00:05": each time of the day; the seconds only where there are some.
    static func clockTimes(hours: UInt64, minutes: UInt64, seconds: UInt64) -> [String] {
        var times: [String] = []
        for hour in 0..<24 where hours & 1 << UInt64(hour) != 0 {
            for minute in 0..<60 where minutes & 1 << UInt64(minute) != 0 {
                for second in 0..<60 where seconds & 1 << UInt64(second) != 0 {
                    let local = LocalTime(
                        microseconds: Int64(hour * 3600 + minute * 60 + second) * 1_000_000
                    )
                    // "1970-01-01 09:00:00": the seconds only where there are some.
                    times.append(
                        String(local.description.dropFirst(11).dropLast(seconds == 1 ? 3 : 0))
                    )
                }
            }
        }
        return times
    }
}
