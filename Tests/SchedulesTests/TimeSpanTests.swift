// SPDX-License-Identifier: Apache-2.0

import Schedules
import TestRandom
import Testing

@Suite("TimeSpan") struct TimeSpanTests {
    @Test("The canonical form reads back as the same span")
    func roundTrip() throws {
        var generator = SplitMix(seed: 2)
        for _ in 0..<2000 {
            let digits = Int.random(in: 1...18, using: &generator)
            let limit = (0..<digits).reduce(Int64(1)) { value, _ in value * 10 }
            let span = TimeSpan(microseconds: .random(in: 0...limit, using: &generator))
            #expect(try TimeSpan(parsing: span.description) == span)
        }
        #expect(TimeSpan(microseconds: -90_000_000).description == "-1min 30s")
    }

    @Test(
        "An interval out of range, or no number at all, gets a message that says so",
        arguments: [
            ("0", "duration '0' is too short; accepted are 1ms to 100 years"),
            ("999us", "duration '999us' is too short; accepted are 1ms to 100 years"),
            ("-1", "duration '-1' is negative; try '5s'"),
            ("101y", "duration '101y' is too long; accepted are 1ms to 100 years"),
            ("600000y", "duration '600000y' is too long; at most 100 years"),
            ("NaN", "'NaN' is not a duration, such as '5s', '1h 30min' or '250ms'"),
            ("", "'' is not a duration, such as '5s', '1h 30min' or '250ms'"),
            (
                "1e300",
                "duration '1e300' has the unknown unit 'e'; "
                    + "units are us, ms, s, min, h, d, w, month and y"
            ),
        ]
    )
    func refused(words: String, message: String) {
        #expect(throws: ScheduleError(.badDuration, message)) {
            try TimeSpan(parsing: words).validatedInterval(words: words)
        }
    }

    @Test("Bounds are accepted", arguments: ["1ms", "0.001", "100y", "5s", "1w"])
    func accepted(words: String) throws {
        _ = try TimeSpan(parsing: words).validatedInterval(words: words)
    }

    @Test(
        "In two units at most, the rest is left out",
        arguments: [
            (0, "0"), (7, "7us"), (698_252, "698ms"), (55_300_000, "55s"), (120_000_000, "2min"),
            (125_698_252, "2min 5s"), (5_400_000_000, "1h 30min"), (93_784_698_252, "1d 2h"),
            (31_557_599_999_999, "11month 4w"),
            (189_345_600_000_000 + 26_298_000_000_000, "6y 10month"),
            (-90_500_000, "-1min 30s"),
        ] as [(Int64, String)]
    )
    func twoUnits(microseconds: Int64, words: String) {
        #expect(TimeSpan(microseconds: microseconds).inTwoUnits == words)
    }

    @Test("Fractions of long units are exact")
    func fractions() throws {
        #expect(try TimeSpan(parsing: "0.125month").microseconds == 328_725_000_000)
        #expect(try TimeSpan(parsing: "0.000001s").microseconds == 1)
        #expect(try TimeSpan(parsing: "0.0000000000000000000001y").microseconds == 0)
    }

    @Test("Sums and differences saturate")
    func saturation() {
        let most = TimeSpan(microseconds: .max)
        #expect(most + .seconds(1) == most)
        #expect(.zero - most - .seconds(1) == TimeSpan(microseconds: .min))
        #expect(TimeSpan.seconds(.max) == most)
        #expect(TimeSpan.milliseconds(1500) == TimeSpan(microseconds: 1_500_000))
    }
}
