// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Schedules

/// What a search or a count costs, in questions to the pattern: each is answered by a few shifts or a binary search.
@Suite("Steps of counting") struct CountedStepsTests {
    /// SECONDS and YEARS stand for as many entries as a list may have, no two of them alike.
    static let expressions = [
        "*:*:SECONDS", "*:*:0/0.01", "02:30:SECONDS", "YEARS-*-* 02:30", "Mon YEARS-02-29 *:30",
        "*-02-30 *:*", "*-02-30 02:30", "*-12-31 02:30", "9999-12-31 *:*:0/0.01", "*:*:*",
    ]

    @Test("Each question takes a few steps for each year, whatever matches", arguments: expressions)
    func steps(text: String) throws {
        let zone = try Zone(named: "Europe/Berlin")
        let seconds = (0..<240).map { "\($0 % 60).00\(100 + $0)" }.joined(separator: ",")
        let years = (0..<240).map { String(2026 + 2 * $0) }.joined(separator: ",")
        let long = text.split(separator: "SECONDS", omittingEmptySubsequences: false)
            .joined(separator: seconds).split(separator: "YEARS", omittingEmptySubsequences: false)
            .joined(separator: years)
        let fields = try CalendarExpression(parsing: long, zone: zone).fields
        let pattern = AskedPattern(fields: fields)
        let start = try instant("2026-11-29T03:00:00Z")
        let next = pattern.asked { zone.nextDate(after: start, matching: pattern) }
        #expect(next <= 30_000)
        for (end, years) in [("2126-11-29T03:00:00Z", 100), ("9999-12-30T03:00:00Z", 7973)] {
            let end = try instant(end)
            let count = pattern.asked { zone.count(of: pattern, after: start, through: end) }
            #expect(count <= 20 * years, "through \(end)")
            let passed = pattern.asked {
                PassedDates(of: pattern, in: zone, from: start, through: end, newest: 1)
            }
            // At the end it looks for a date that does not come any more.
            #expect(passed <= 20 * years + 30_000, "through \(end)")
        }
    }
}

/// A pattern that counts how often it is asked.
private struct AskedPattern: CivilPattern {
    private final class Questions { var count = 0 }

    let fields: CalendarExpression.Fields
    private let questions = Questions()

    init(fields: CalendarExpression.Fields) { self.fields = fields }

    /// How many questions `body` asks.
    func asked<Answer>(_ body: () -> Answer) -> Int {
        questions.count = 0
        _ = body()
        return questions.count
    }

    var months: UInt16 { fields.months }
    var followsRealTime: Bool { fields.followsRealTime }

    func year(atOrAfter year: Int) -> Int? {
        questions.count += 1
        return fields.year(atOrAfter: year)
    }

    func days(in month: CalendarMonth) -> UInt64 {
        questions.count += 1
        return fields.days(in: month)
    }

    func time(atOrAfter time: Int64) -> Int64? {
        questions.count += 1
        return fields.time(atOrAfter: time)
    }

    func countOfTimes(before time: Int64) -> Int {
        questions.count += 1
        return fields.countOfTimes(before: time)
    }
}
