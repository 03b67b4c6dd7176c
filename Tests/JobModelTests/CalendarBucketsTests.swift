// SPDX-License-Identifier: Apache-2.0

import Schedules
import Testing

@testable import JobModel

@Suite("Buckets of a calendar") struct CalendarBucketsTests {
    private func date(_ text: String) throws -> Timestamp { try #require(Timestamp(rfc3339: text)) }

    @Test("Hours go on from the first instant, and the last one is cut where the stretch ends")
    func hours() throws {
        let from = try date("2026-12-01T08:30:00Z")
        let buckets = try #require(
            CalendarBuckets(hoursFrom: from, before: from + .seconds(9000), atMost: 3)
        )
        #expect(
            buckets.bounds == [
                from, from + .seconds(3600), from + .seconds(7200), from + .seconds(9000),
            ]
        )
        #expect(CalendarBuckets(hoursFrom: from, before: from + .seconds(9000), atMost: 2) == nil)
        #expect(CalendarBuckets(hoursFrom: from, before: from, atMost: 2) == nil)
    }

    @Test("Days end at local midnight, and have 23 or 25 hours where the clocks are changed")
    func days() throws {
        let zone = try Zone(named: "Europe/Berlin")
        let lengths = { (from: String, before: String) throws -> [Int64] in
            let buckets = try #require(
                try CalendarBuckets(
                    daysFrom: self.date(from),
                    before: self.date(before),
                    in: zone,
                    atMost: 10
                )
            )
            return zip(buckets.bounds, buckets.bounds.dropFirst()).map {
                ($1 - $0).microseconds / 3_600_000_000
            }
        }
        #expect(try lengths("2026-10-23T22:00:00Z", "2026-10-26T23:00:00Z") == [24, 25, 24])
        #expect(try lengths("2026-03-27T23:00:00Z", "2026-03-30T22:00:00Z") == [24, 23, 24])
        // Where midnight itself is skipped, the day begins with the first instant that it has.
        let beirut = try #require(
            try CalendarBuckets(
                daysFrom: date("2026-03-27T22:00:00Z"),
                before: date("2026-03-29T21:00:00Z"),
                in: Zone(named: "Asia/Beirut"),
                atMost: 10
            )
        )
        #expect(beirut.bounds[1] == (try date("2026-03-28T22:00:00Z")))
    }

    @Test("A date is in the bucket that begins at it or before it, and in none outside of all")
    func index() throws {
        let from = try date("2026-12-01T08:00:00Z")
        let buckets = try #require(
            CalendarBuckets(hoursFrom: from, before: from + .seconds(36_000), atMost: 10)
        )
        let instant = TimeSpan(microseconds: 1)
        for bucket in 0..<10 {
            #expect(buckets.index(of: buckets.bounds[bucket]) == bucket)
            #expect(buckets.index(of: buckets.bounds[bucket + 1] - instant) == bucket)
        }
        #expect(buckets.index(of: from - instant) == nil)
        #expect(buckets.index(of: from + .seconds(36_000)) == nil)
    }

    @Test("Dates of which the ends alone are known are spread evenly, and none is lost or added")
    func spread() throws {
        let from = try date("2026-12-01T08:00:00Z")
        let buckets = try #require(
            CalendarBuckets(hoursFrom: from, before: from + .seconds(4 * 3600), atMost: 10)
        )
        let spread = { (number: Int, first: Int64, last: Int64) in
            buckets.spread(number, from: from + .seconds(first), through: from + .seconds(last))
                .map { [$0.bucket, $0.count] }
        }
        // Each minute of two hours, from 08:30 to 10:29.
        #expect(spread(120, 1800, 1800 + 119 * 60) == [[0, 30], [1, 60], [2, 30]])
        #expect(spread(1, 4000, 4000) == [[1, 1]])
        #expect(spread(2, 0, 3 * 3600) == [[0, 1], [3, 1]])
        // Half of it lies before the stretch, and some behind it.
        #expect(spread(9, -4 * 3600, 4 * 3600).map { $0[1] }.reduce(0, +) == 4)
        #expect(spread(3, -7200, -3600).isEmpty)
    }
}
