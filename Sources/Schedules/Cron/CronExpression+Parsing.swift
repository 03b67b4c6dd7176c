// SPDX-License-Identifier: Apache-2.0

extension CronExpression {
    /// Reads five fields, six with seconds first, or a word such as `@daily`.
    ///
    /// - Throws: `badCron`; the message names the field and what it accepts.
    public init(parsing text: String, zone: Zone) throws(ScheduleError) {
        let words = text.wordsApart
        self.text = words.joined(separator: " ")
        self.zone = zone
        var fields = words
        if let word = words.first, word.hasPrefix("@") {
            guard words.count == 1, let expansion = Self.macros[word.lowercased()] else {
                let hint =
                    word.lowercased() == "@every" ? "; for an interval take 'every' instead" : ""
                throw ScheduleError(
                    .badCron,
                    "cron '\(self.text)' is unknown; words are "
                        + Self.macros.keys.sorted().joined(separator: ", ") + " and @reboot" + hint
                )
            }
            fields = expansion.split(separator: " ")
        }
        if let first = fields.first, first.contains("=") {
            throw ScheduleError(
                .badCron,
                "cron '\(self.text)' begins with a variable, '\(first)'; a zone is given apart, as 'tz'"
            )
        }
        guard fields.count == 5 || fields.count == 6 else {
            throw ScheduleError(
                .badCron,
                "cron '\(self.text)' has \(fields.count) fields; five are needed (minute, hour, "
                    + "day of month, month, day of week), or six with seconds first"
            )
        }
        var reader = CronReader(text: self.text)
        if fields.count == 6 {
            reader.fields.seconds = try reader.bits(fields.removeFirst(), .second)
        }
        reader.fields.minutes = try reader.bits(fields[0], .minute)
        reader.fields.hours = try reader.bits(fields[1], .hour)
        try reader.readDaysOfMonth(fields[2])
        reader.fields.months = UInt16(try reader.bits(fields[3], .month))
        try reader.readDaysOfWeek(fields[4])
        reader.fields.days.isEither = !isUnrestricted(fields[2]) && !isUnrestricted(fields[4])
        // By the first character, as in Debian's cron.
        reader.fields.followsRealTime = fields[0...1].contains { $0.hasPrefix("*") }
        self.fields = reader.fields
    }

    /// Whether the words ask for a run at each start of the machine.
    static func isReboot(_ text: String) -> Bool {
        text.utf8.contains(UInt8(ascii: "@"))
            && text.wordsApart.map { $0.lowercased() } == ["@reboot"]
    }

    /// The fields that each word stands for.
    static let macros = [
        "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *",
        "@weekly": "0 0 * * 0", "@daily": "0 0 * * *", "@midnight": "0 0 * * *",
        "@hourly": "0 * * * *", "@every_minute": "* * * * *", "@every_second": "* * * * * *",
    ]
}

/// Whether a day field restricts nothing, so that the other one decides.
///
/// By its first character, as in Vixie's cron.
private func isUnrestricted(_ field: Substring) -> Bool {
    field.hasPrefix("*") || field == "?"
}

/// The fields read so far, and the text for messages.
private struct CronReader {
    let text: String
    var fields = CronExpression.Fields()

    init(text: String) {
        self.text = text
    }

    /// A field of plain items.
    func bits(_ field: Substring, _ kind: CronField) throws(ScheduleError) -> UInt64 {
        var bits: UInt64 = 0
        for item in field.split(separator: ",", omittingEmptySubsequences: false) {
            guard let mask = kind.bits(item) else { throw refused(item, in: field, kind) }
            bits |= mask
        }
        return bits
    }

    mutating func readDaysOfMonth(_ field: Substring) throws(ScheduleError) {
        if field == "?" {
            // As `*` has it.
            fields.days.daysOfMonth = 0xffff_fffe
            return
        }
        let upper = field.uppercased()
        // `W` stands alone, not in a list: it means one day of the month, and a list would look like several.
        if upper.hasSuffix("W") {
            guard let nearest = nearestWeekday(upper.dropLast()) else {
                throw refused(field, in: field, .dayOfMonth)
            }
            fields.days.nearestWeekday = nearest
            return
        }
        for item in field.split(separator: ",", omittingEmptySubsequences: false) {
            if let distance = distanceFromLast(item.uppercased()[...]) {
                fields.days.daysBeforeLast |= 1 << UInt64(distance)
            } else if let mask = CronField.dayOfMonth.bits(item) {
                fields.days.daysOfMonth |= mask
            } else {
                throw refused(item, in: field, .dayOfMonth)
            }
        }
    }

    mutating func readDaysOfWeek(_ field: Substring) throws(ScheduleError) {
        if field == "?" {
            fields.days.weekdays = 0x7f
            return
        }
        for item in field.split(separator: ",", omittingEmptySubsequences: false) {
            let parts = item.split(separator: "#", omittingEmptySubsequences: false)
            if parts.count == 2, let weekday = CronField.dayOfWeek.value(parts[0]),
                let nth = CronField.number(parts[1]), (1...5).contains(nth), parts[1].count == 1
            {
                fields.days.nthWeekdays |= 1 << UInt64(7 * (nth - 1) + weekday % 7)
            } else if item.hasSuffix("L") || item.hasSuffix("l"),
                let weekday = CronField.number(item.dropLast()), weekday <= 7
            {
                fields.days.lastWeekdays |= 1 << UInt8(weekday % 7)
            } else if let mask = CronField.dayOfWeek.bits(item) {
                fields.days.weekdays |= UInt8(truncatingIfNeeded: mask)
            } else {
                throw refused(item, in: field, .dayOfWeek)
            }
        }
    }

    /// "15" or "L" or "L-3" of a field that ends with W.
    private func nearestWeekday(_ word: Substring) -> CronDays.NearestWeekday? {
        if let distance = distanceFromLast(word) { return .beforeLast(distance) }
        guard let day = CronField.number(word), (1...31).contains(day) else { return nil }
        return .day(day)
    }

    /// 0 for "L", 3 for "L-3".
    private func distanceFromLast(_ word: Substring) -> Int? {
        if word == "L" { return 0 }
        guard word.hasPrefix("L-"), let distance = CronField.number(word.dropFirst(2)),
            (0...30).contains(distance)
        else { return nil }
        return distance
    }

    private func refused(
        _ item: Substring,
        in field: Substring,
        _ kind: CronField
    ) -> ScheduleError {
        let place = item == field ? "" : " in '\(field)'"
        return ScheduleError(
            .badCron,
            "cron '\(text)': \(kind.rawValue) '\(item)'\(place) is not accepted; it takes "
                + kind.accepted
        )
    }
}
