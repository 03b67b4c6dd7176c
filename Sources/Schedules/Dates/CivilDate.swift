// SPDX-License-Identifier: Apache-2.0

/// A day of the proleptic Gregorian calendar, and the arithmetic between days and dates.
struct CivilDate: Hashable, Sendable {
    var year: Int
    /// 1 to 12.
    var month: Int
    /// 1 to 31.
    var day: Int

    init(year: Int, month: Int, day: Int) {
        self.year = year
        self.month = month
        self.day = day
    }

    /// The date `days` after 1970-01-01.
    ///
    /// Years are counted from March, so that the leap day is a year's last and needs no case of its
    /// own.
    init(daysSince1970 days: Int) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// Whole days since 1970-01-01; negative before it.
    var daysSince1970: Int {
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    /// Whether there is such a day: 31 April is none.
    var exists: Bool {
        (1...12).contains(month) && day >= 1 && day <= Self.length(ofMonth: month, year: year)
    }

    static func isLeap(_ year: Int) -> Bool {
        year & 3 == 0 && (year % 100 != 0 || year % 400 == 0)
    }

    static func length(ofMonth month: Int, year: Int) -> Int {
        // April, June, September and November: the odd months from March to July, the even ones
        // after.
        if month == 2 { return isLeap(year) ? 29 : 28 }
        return 30 + ((month + month >> 3) & 1)
    }

    /// The day of the week of a day since 1970: 0 is Sunday, as cron counts.
    static func weekday(daysSince1970 days: Int) -> Int {
        let remainder = (days + 4) % 7
        return remainder < 0 ? remainder + 7 : remainder
    }
}

/// Division that rounds down, so that times before 1970 fall into the right day.
@inline(__always)
func floorDivide(_ value: Int64, by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
    let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
}
