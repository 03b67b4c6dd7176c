// SPDX-License-Identifier: Apache-2.0

import Schedules

/// A day of a calendar, wherever that hangs.
struct LocalDay: Hashable, Comparable, Sendable {
    /// Days since 1970-01-01.
    var number: Int

    init(number: Int) { self.number = number }

    /// "2026-12-01"; nil for what is none.
    init?(_ text: some StringProtocol) {
        guard text.utf8.count == 10, let date = Timestamp(rfc3339: "\(text)T00:00:00Z") else {
            return nil
        }
        number = Self.number(of: date)
    }

    init(year: Int, month: Int, day: Int) {
        // Beyond the years that dates have there is nothing to show.
        let text = "\(min(max(year, 1), 9999).padded(to: 4))-\(month.padded)-\(day.padded)"
        number = Self(text)?.number ?? 0
    }

    private static func number(of date: Timestamp) -> Int {
        let (days, rest) = date.microseconds.quotientAndRemainder(dividingBy: 86_400_000_000)
        return Int(rest < 0 ? days - 1 : days)
    }

    static func < (left: Self, right: Self) -> Bool { left.number < right.number }
    static func + (day: Self, days: Int) -> Self { Self(number: day.number + days) }
    static func - (day: Self, days: Int) -> Self { Self(number: day.number - days) }

    /// "2026-12-01": of its midnight in UTC, whose text has the parts of the day.
    ///
    /// Taken apart from its end: beyond the range of dates a year has a sign, or more than four digits.
    var iso: String {
        let text = Timestamp(microseconds: Int64(number) * 86_400_000_000).rfc3339
        return String(text.dropLast("T00:00:00.000000Z".utf8.count))
    }

    var year: Int { Int(iso.dropLast("-12-01".utf8.count)) ?? 1970 }
    var month: Int { Int(iso.dropLast("-01".utf8.count).suffix(2)) ?? 1 }
    var day: Int { Int(iso.suffix(2)) ?? 1 }
    /// 0 for Monday; 1970 began on a Thursday.
    var weekday: Int { ((number + 3) % 7 + 7) % 7 }
    var monday: Self { self - weekday }
    var firstOfMonth: Self { self - (day - 1) }
    /// The first of a month so many months on.
    func firstOfMonth(after months: Int) -> Self {
        let count = year * 12 + month - 1 + months
        return Self(year: count / 12, month: count % 12 + 1, day: 1)
    }

    /// The first instant of the day in a zone.
    func start(in zone: Zone) -> Timestamp {
        let midnight = LocalTime(microseconds: Int64(number) * 86_400_000_000)
        return zone.resolve(midnight).date
    }
}

extension LocalDay {
    /// The week of the year by ISO 8601: that of its Thursday.
    var week: Int {
        let thursday = monday + 3
        let newYear = LocalDay(year: thursday.year, month: 1, day: 1)
        return (thursday.number - newYear.number) / 7 + 1
    }
}
