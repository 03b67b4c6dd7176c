// SPDX-License-Identifier: Apache-2.0

import Foundation
import Schedules
import TestRandom
import Testing

@Suite("Timestamp") struct TimestampTests {
    @Test(
        "RFC 3339 is read with any offset and to the microsecond",
        arguments: [
            ("2026-12-01T08:00:00Z", 1_796_112_000_000_000),
            ("2026-12-01T09:00:00+01:00", 1_796_112_000_000_000),
            ("2026-12-01t08:00:00.5z", 1_796_112_000_500_000),
            ("2026-12-01 08:00:00.1234567Z", 1_796_112_000_123_456),
            ("2026-12-01T08:00:00.000001-00:00", 1_796_112_000_000_001),
            ("1970-01-01T00:00:00Z", 0),
            ("1969-12-31T23:59:59.999999Z", -1),
            ("1990-12-31T15:59:60-08:00", 662_688_000_000_000),
            ("0001-01-01T00:00:00Z", Timestamp.distantPast.microseconds),
            ("9999-12-31T23:59:59.999999Z", Timestamp.distantFuture.microseconds),
            ("2000-02-29T00:00:00Z", 951_782_400_000_000),
        ]
    )
    func reads(text: String, microseconds: Int64) {
        #expect(Timestamp(rfc3339: text)?.microseconds == microseconds)
    }

    @Test(
        "Anything else is not a date",
        arguments: [
            "", "2026-12-01", "2026-12-01T08:00Z", "2026-12-01T08:00:00", "2026-02-29T00:00:00Z",
            "2026-04-31T00:00:00Z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z",
            "2026-12-01T24:00:00Z", "2026-12-01T10:60:00Z", "2026-12-01T10:00:60Z",
            "2026-12-01T08:00:00.Z", "2026-12-01T08:00:00+1:00", "2026-12-01T08:00:00+24:00",
            "2026-12-01T08:00:00Z ", "+2026-12-01T08:00:00Z", "10000-01-01T00:00:00Z",
            "0000-01-01T00:00:00Z", "9999-12-31T23:59:59-01:00", "2026-12-01T08:00:0aZ",
            "٢٠٢٦-12-01T08:00:00Z",
        ]
    )
    func refuses(text: String) {
        #expect(Timestamp(rfc3339: text) == nil)
    }

    @Test("RFC 3339 is written in UTC with six digits, and reads back")
    func writes() {
        #expect(Timestamp(microseconds: 0).rfc3339 == "1970-01-01T00:00:00.000000Z")
        #expect(Timestamp(microseconds: -1).rfc3339 == "1969-12-31T23:59:59.999999Z")
        #expect(Timestamp.distantFuture.description == "9999-12-31T23:59:59.999999Z")
        var generator = SplitMix(seed: 1)
        let range = Timestamp.distantPast.microseconds...Timestamp.distantFuture.microseconds
        for _ in 0..<2000 {
            let date = Timestamp(microseconds: .random(in: range, using: &generator))
            #expect(Timestamp(rfc3339: date.rfc3339) == date)
            #expect(Timestamp(rfc3339: Substring(date.rfc3339)) == date)
        }
    }

    @Test("A value beyond the years of RFC 3339 is still written with its year")
    func writesFarYears() {
        #expect(Timestamp(microseconds: .max).rfc3339 == "294247-01-10T04:00:54.775807Z")
        #expect(Timestamp(microseconds: .min).rfc3339 == "-290308-12-21T19:59:05.224192Z")
    }

    @Test("Arithmetic is exact and stays in range")
    func arithmetic() {
        let date = Timestamp(microseconds: 1_796_112_000_123_456)
        #expect((date + .seconds(1) - date) == .seconds(1))
        #expect(date + TimeSpan(microseconds: 1) - TimeSpan(microseconds: 1) == date)
        #expect(date + TimeSpan(microseconds: .max) == .distantFuture)
        #expect(date - TimeSpan(microseconds: .max) == .distantPast)
        #expect(date - TimeSpan(microseconds: .min) == .distantFuture)
        #expect(Timestamp.distantFuture + .seconds(1) == .distantFuture)
        #expect(
            Timestamp(microseconds: .max) - Timestamp(microseconds: .min)
                == TimeSpan(microseconds: .max)
        )
    }

    @Test("Foundation's dates convert to the nearest microsecond and back")
    func foundation() throws {
        let date = try instant("2026-12-01T08:00:00.123456Z")
        #expect(Timestamp(date.date) == date)
        #expect(Timestamp(Date(timeIntervalSince1970: 0.25)).microseconds == 250_000)
        #expect(Timestamp(Date.distantFuture) == (try instant("4001-01-01T00:00:00Z")))
        #expect(Timestamp(Date(timeIntervalSince1970: .infinity)) == .distantFuture)
        #expect(Timestamp(Date(timeIntervalSince1970: -.infinity)) == .distantPast)
        #expect(Timestamp(Date(timeIntervalSince1970: .nan)) == .distantPast)
    }
}
