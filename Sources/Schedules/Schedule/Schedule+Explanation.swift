// SPDX-License-Identifier: Apache-2.0

extension Schedule {
    /// The schedule as one English sentence: "at 09:00 on Monday to Friday, Europe/Berlin".
    ///
    /// - Parameter zone: the zone of a one-shot's date; cron and calendar have their own.
    /// - Returns: the sentence, without a capital and a full stop.
    public func explanation(in zone: Zone) -> String {
        switch self {
        case .once(let date): "once, at \(zone.localTime(at: date)) \(zone.abbreviation(at: date))"
        case .every(let grid): "every \(grid.interval.wordsAfterEvery)"
        case .cron(let expression): expression.explanation
        case .calendar(let expression): expression.explanation
        case .reboot: "once at each start of the machine"
        }
    }
}

extension TimeSpan {
    /// "5 seconds", "1 hour 30 minutes".
    public var words: String {
        let names = [
            "y": "year", "month": "month", "w": "week", "d": "day", "h": "hour", "min": "minute",
            "s": "second", "ms": "millisecond", "us": "microsecond",
        ]
        let parts = description.split(separator: " ").map { part in
            let number = part.prefix { $0.isNumber || $0 == "." }
            let name = names[String(part.dropFirst(number.count))] ?? ""
            var amount = String(number)
            while amount.contains("."), amount.hasSuffix("0") { amount.removeLast() }
            return amount == "1" ? "1 \(name)" : "\(amount) \(name)s"
        }
        return parts.joined(separator: " ")
    }

    /// The same, but a single unit alone: "hour".
    fileprivate var wordsAfterEvery: String {
        let words = words
        let isOne = words.hasPrefix("1 ") && words.filter { $0 == " " }.count == 1
        return isOne ? String(words.dropFirst(2)) : words
    }
}

extension CronExpression {
    /// The expression as one English sentence.
    var explanation: String {
        let days = fields.days
        return Phrase.sentence(
            times: Phrase.times(
                hours: fields.hours,
                minutes: fields.minutes,
                seconds: fields.seconds
            ),
            days: days.words,
            isDate: days.isDate,
            months: fields.months == 0x1ffe ? "" : Phrase.months(fields.months),
            years: "",
            zone: zone
        )
    }
}

extension CronDays {
    var isAnyDate: Bool { daysOfMonth & 0xffff_fffe == 0xffff_fffe }

    /// Whether the words are days of a month alone.
    fileprivate var isDate: Bool { !isAnyDate && weekdays == 0x7f && !isEither }

    /// "Monday to Friday", "day 1 of the month or Sunday"; empty for every day.
    fileprivate var words: String {
        if isDate { return dateWords }
        let byWeek = weekdays == 0x7f ? [] : weekWords
        if isAnyDate { return isEither ? "" : Phrase.list(byWeek) }
        if byWeek.isEmpty { return "" }
        let byMonth = dateWords + " of the month"
        return isEither
            ? "\(byMonth) or \(Phrase.list(byWeek))"
            : "\(byMonth) if it is \(Phrase.list(byWeek, or: true))"
    }

    /// "days 1 to 7 and 15", "the last working day".
    var dateWords: String {
        var words: [String] = []
        if daysOfMonth != 0 { words.append(Phrase.days(daysOfMonth)) }
        if daysBeforeLast != 0 { words.append(Phrase.daysFromEnd(daysBeforeLast << 1)) }
        switch nearestWeekday {
        case .day(let day): words.append("the working day nearest to day \(day)")
        case .beforeLast(0): words.append("the last working day")
        case .beforeLast(let distance):
            words.append("the working day nearest to day \(distance + 1) from the end")
        case nil: break
        }
        return Phrase.list(words)
    }

    /// "Monday to Friday", "the last Friday of the month".
    var weekWords: [String] {
        var words = Phrase.weekdays(weekdays)
        for day in 0..<7 {
            let name = Phrase.weekdayNames[day]
            for nth in 1...5 where nthWeekdays & 1 << UInt64(7 * (nth - 1) + day) != 0 {
                words.append("the \(Phrase.ordinal(nth)) \(name) of the month")
            }
            if lastWeekdays & 1 << UInt8(day) != 0 {
                words.append("the last \(name) of the month")
            }
        }
        return words
    }
}

extension CalendarExpression {
    /// The expression as one English sentence.
    var explanation: String {
        let weekdays = fields.weekdays == 0x7f ? [] : Phrase.weekdays(fields.weekdays)
        var days = Phrase.list(weekdays)
        if !fields.daysOfMonth.isAny {
            days = fields.dateWords
            if !weekdays.isEmpty {
                days += " of the month if it is " + Phrase.list(weekdays, or: true)
            }
        }
        return Phrase.sentence(
            times: fields.timeWords,
            days: days,
            isDate: !fields.daysOfMonth.isAny && weekdays.isEmpty,
            months: fields.monthsOfYear.isAny ? "" : Phrase.months(fields.months),
            years: fields.years.isAny ? "" : fields.yearWords,
            zone: zone
        )
    }
}

extension CalendarExpression.Fields {
    fileprivate var timeWords: String {
        let isWhole = seconds.items.allSatisfy {
            $0.start % seconds.unit == 0 && $0.step % seconds.unit == 0
        }
        if isWhole {
            let items = seconds.items.map {
                CalendarComponent.Item(
                    start: $0.start / seconds.unit,
                    stop: $0.stop.map { $0 / seconds.unit },
                    step: $0.step / seconds.unit
                )
            }
            return Phrase.times(
                hours: hours,
                minutes: minutes,
                seconds: CalendarComponent(items: items, unit: 1).bits(in: 0...59)
            )
        }
        return finerTimeWords
    }

    /// "every 0.5 seconds", "at 09:00:01.5": for seconds with fractions.
    private var finerTimeWords: String {
        let isList = seconds.items.allSatisfy { $0.step == 0 }
        let count = hours.nonzeroBitCount * minutes.nonzeroBitCount * seconds.items.count
        if isList, count <= 6 {
            let seconds = seconds.items.map { Phrase.decimal($0.start, width: 2) }
            let words = Phrase.clockTimes(hours: hours, minutes: minutes, seconds: 1).flatMap {
                minute in seconds.map { "\(minute):\($0)" }
            }
            return "at " + Phrase.list(words)
        }
        var words = ["at " + (seconds.items.count > 1 || !isList ? "seconds " : "second ")]
        words[0] += Phrase.list(
            seconds.items.map { item in
                var text = Phrase.decimal(item.start)
                if let stop = item.stop { text += " to " + Phrase.decimal(stop) }
                return item.step == 0 ? text : text + " in steps of " + Phrase.decimal(item.step)
            }
        )
        if seconds.items.count == 1, let item = seconds.items.first, item.stop == nil,
            item.step > 0, 60_000_000 % item.step == 0, item.start < item.step
        {
            words[0] = "every \(Phrase.decimal(item.step)) seconds"
            if item.start > 0 { words[0] += " from second " + Phrase.decimal(item.start) }
        }
        let coarser = [
            TimeUnitPhrase(name: "minute", bits: minutes, size: 60),
            TimeUnitPhrase(name: "hour", bits: hours, size: 24),
        ]
        for (index, unit) in coarser.enumerated() {
            let isRestAll = coarser[index...].allSatisfy(\.isAll)
            if isRestAll, !words[0].hasPrefix("at ") || index > 0 { break }
            words.append(unit.tail)
        }
        return words.joined(separator: " of ")
    }

    /// "days 1 to 7", "the last day".
    var dateWords: String {
        countsFromEnd ? Phrase.daysFromEnd(days) : Phrase.days(days)
    }

    /// "2026 to 2028", "every 4th year from 2024".
    var yearWords: String {
        Phrase.list(
            years.items.map { item in
                var text = "\(item.start)"
                if let stop = item.stop { text += " to \(stop)" }
                if item.step > 1 || item.step == 1 && item.stop == nil {
                    text = "every \(Phrase.ordinal(Int(item.step))) year from " + text
                }
                return text
            }
        )
    }
}
