// SPDX-License-Identifier: Apache-2.0

extension Schedule {
    /// Why there is no fire date after `now`, as the rest of "… never fires: ".
    func reasonNotToFire(after now: Timestamp) -> String {
        let reason: String? =
            switch self {
            case .cron(let expression): expression.fields.reasonNeverToFire
            case .calendar(let expression): expression.reasonNotToFire
            case .once, .every, .reboot: nil
            }
        return reason ?? "no date after '\(now)' matches"
    }
}

extension CronExpression.Fields {
    /// Why no day ever matches; nil when the fields alone do not tell.
    fileprivate var reasonNeverToFire: String? {
        if days.isEither { return nil }
        var dates = days
        dates.weekdays = 0x7f
        guard Phrase.anyMonth(of: months, has: dates.days) else {
            return Phrase.missing(dates.dateWords, in: Phrase.months(months))
        }
        // Each weekday will do: the dates that match lie too far away.
        if days.weekdays == 0x7f { return nil }
        return Phrase.never(
            dates.isAnyDate ? "a day" : dates.dateWords + " of the month",
            days.weekWords
        )
    }
}

extension CalendarExpression {
    /// Why its dates have passed, or never come; nil when the fields alone do not tell.
    fileprivate var reasonNotToFire: String? {
        // Early enough for every zone.
        let start = Timestamp(microseconds: -2 * 86_400_000_000)
        if let first = nextFireDate(after: start) {
            return nextFireDate(after: first) == nil
                ? "its only date, \(zone.localTime(at: first)) \(zone.abbreviation(at: first)), has passed"
                : "its last date has passed"
        }
        var dates = fields
        dates.weekdays = 0x7f
        guard Phrase.anyMonth(of: fields.months, has: dates.days) else {
            return Phrase.missing(fields.dateWords, in: Phrase.months(fields.months))
        }
        let years = fields.years.isAny ? "" : " " + fields.yearWords
        let months = fields.monthsOfYear.isAny ? "a month" : Phrase.months(fields.months)
        guard CalendarExpression(fields: dates, zone: zone).nextFireDate(after: start) != nil
        else { return Phrase.missing(fields.dateWords, in: months + years) }
        return Phrase.never(
            "\(fields.dateWords) of \(months)\(years)",
            Phrase.weekdays(fields.weekdays)
        )
    }

    private init(fields: Fields, zone: Zone) {
        self.fields = fields
        self.zone = zone
        ownZone = nil
    }
}

extension Phrase {
    /// Whether one of the months, at its longest, has one of the days.
    fileprivate static func anyMonth(
        of months: UInt16,
        has days: (CalendarMonth) -> UInt64
    ) -> Bool {
        (1...12).contains { month in
            let length = CivilDate.length(ofMonth: month, year: 2000)
            return months & 1 << UInt16(month) != 0
                && (0..<7).contains {
                    days(CalendarMonth(length: length, firstWeekday: $0)) != 0
                }
        }
    }

    /// "there is no day 30 in February".
    fileprivate static func missing(_ days: String, in months: String) -> String {
        // If the day is missing, so is the working day nearest to it.
        let nearest = "the working day nearest to "
        let days = days.hasPrefix(nearest) ? String(days.dropFirst(nearest.count)) : days
        return "there \(days.hasPrefix("days ") ? "are" : "is") no \(days) in \(months)"
    }

    /// "day 24 of November 2026 is never Monday".
    fileprivate static func never(_ days: String, _ weekdays: [String]) -> String {
        "\(days) \(days.hasPrefix("days ") ? "are" : "is") never \(list(weekdays, or: true))"
    }
}
