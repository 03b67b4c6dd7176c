// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing

@Suite("Rules of a zone that change") struct ZoneRulesTests {
    private static let now = Timestamp(rfc3339: "2026-12-01T08:00:00Z") ?? .distantPast

    /// What takes the place of `date`, the next of `expression` by the rules of `old`, by those of `new`.
    struct Row: CustomTestStringConvertible, Sendable {
        var expression: String
        var old: String
        var new: String
        var date: String
        var expected: String
        var testDescription: String { "\(expression) \(old) \(new) \(date)" }

        init(_ expression: String, _ old: String, _ new: String, _ date: String, _ then: String) {
            (self.expression, self.old, self.new) = (expression, old, new)
            (self.date, expected) = (date, then)
        }
    }

    static let rows = [
        // The same local time, earlier and later.
        Row("0 12 * * *", "CET-1", "EET-2", "2026-12-01T11:00:00Z", "2026-12-01T10:00:00Z"),
        Row("0 12 * * *", "CET-1", "GMT0", "2026-12-01T11:00:00Z", "2026-12-01T12:00:00Z"),
        // It may have passed.
        Row("30 9 * * *", "CET-1", "EET-2", "2026-12-01T08:30:00Z", "2026-12-01T07:30:00Z"),
        // Today's has fired, and would come again.
        Row("0 8 * * *", "CET-1", "GMT0", "2026-12-02T07:00:00Z", "2026-12-02T08:00:00Z"),
        Row("0 9 * * *", "CET-1", "GMT0", "2026-12-02T08:00:00Z", "2026-12-02T09:00:00Z"),
        // A date that has passed while no daemon ran is still to come.
        Row("30 8 * * *", "CET-1", "GMT0", "2026-12-01T07:30:00Z", "2026-12-01T08:30:00Z"),
        // Over the date line: 1 December is not over twice, nor left out.
        Row("0 9 * * *", "AAA12", "BBB-12", "2026-12-01T21:00:00Z", "2026-11-30T21:00:00Z"),
        // What follows real time has no local time to keep.
        Row("*/10 * * * *", "CET-1", "EET-2", "2026-12-01T08:10:00Z", "2026-12-01T08:10:00Z"),
        Row("*/10 * * * *", "CET-1", "GMT0", "2026-12-01T07:50:00Z", "2026-12-01T07:50:00Z"),
        Row("0 */6 * * *", "CET-1", "GMT0", "2026-12-01T11:00:00Z", "2026-12-01T12:00:00Z"),
        // Dropped up to there.
        Row("*/10 * * * *", "CET-1", "EET-2", "2026-12-01T08:40:00Z", "2026-12-01T08:40:00Z"),
    ]

    @Test("The next local time stays the next local time", arguments: rows)
    func next(row: Row) throws {
        let old = Schedule.cron(try CronExpression(parsing: row.expression, zone: zone(row.old)))
        let new = old.inZone(try zone(row.new))
        let date = try #require(Timestamp(rfc3339: row.date))
        let then = new.date(inPlaceOf: date, of: old, at: Self.now)
        #expect(then == Timestamp(rfc3339: row.expected))
    }

    private func zone(_ name: String) throws -> Zone { try Zone(named: name) }

    @Test(
        "A zone reads back from what it was read from",
        arguments: ["Europe/Berlin", "CET-1CEST", "UTC"]
    )
    func source(name: String) throws {
        let zone = try Zone(named: name)
        #expect(Zone(named: name, source: zone.source) == zone)
        #expect(zone.isKnownByName)
        #expect(Zone(named: name, source: Array("no zone".utf8)) == nil)
    }
}
