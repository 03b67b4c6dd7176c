// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing

/// A zone, and a year in which its clocks do something that programs trip over.
struct AwkwardZone: Sendable, CustomTestStringConvertible {
    var name: String
    var year: Int

    var testDescription: String { "\(name) \(year)" }
    var start: Timestamp { Timestamp(rfc3339: "\(year)-01-01T00:00:00Z") ?? .distantPast }

    /// When its clocks are set: the noons that are not a day before the next one.
    let shifts: [Timestamp]

    init(_ name: String, _ year: Int) {
        (self.name, self.year) = (name, year)
        var shifts: [Timestamp] = []
        let words = ScheduleWords(cron: "0 12 * * *", tz: name)
        // try?: a zone that cannot be read fails the year itself, with the reason.
        if let noons = try? words.schedule(anchor: .distantPast, zone: .utc) {
            var date = Timestamp(rfc3339: "\(year)-01-01T00:00:00Z") ?? .distantPast
            for _ in 0..<365 {
                guard let noon = noons.nextFireDate(after: date) else { break }
                if noon - date != .days(1) { shifts.append(date) }
                date = noon
            }
        }
        self.shifts = Array(shifts.dropFirst())
    }

    static let all = [
        Self("Australia/Lord_Howe", 2026),  // half an hour of daylight saving
        Self("America/Santiago", 2027),  // a gap at midnight
        Self("Pacific/Apia", 2011),  // 30 December left out
        Self("America/Havana", 2026),  // midnight comes twice
        Self("Africa/Casablanca", 2026),  // back for Ramadan
        Self("Asia/Gaza", 2028),  // by Ramadan too
        Self("Antarctica/Troll", 2026),  // two hours
        Self("Asia/Kathmandu", 2026),  // 5 h 45 min
        Self("America/St_Johns", 2029),  // 3 h 30 min
        Self("Europe/Dublin", 2026),  // winter is the exception
        Self("Asia/Tehran", 2022),  // the last daylight saving, at midnight
        Self("Africa/Cairo", 2027),  // a gap on Friday's midnight
        Self("America/Sao_Paulo", 2018),  // a gap at midnight, in November
        Self("Asia/Pyongyang", 2018),  // half an hour ahead, for good
        Self("Europe/Berlin", 2030),
        Self("America/New_York", 2026),
        Self("Pacific/Chatham", 2027),  // 12 h 45 min, at 2:45
        Self("Europe/Volgograd", 2018),  // an hour ahead, for good
        Self("Asia/Beirut", 2026),  // a gap at midnight
        Self("America/Asuncion", 2024),  // daylight saving for good
    ]
}
