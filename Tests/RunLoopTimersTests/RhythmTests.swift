// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import RunLoopTimers

@Suite("Rhythm")
struct RhythmTests {
    private static let ms: Int64 = 1_000_000

    private static func time(_ milliseconds: Int64) -> MonotonicTime {
        MonotonicTime(nanoseconds: milliseconds * ms)
    }

    private static func rhythm(due: Int64, interval: Int64?) -> Rhythm {
        Rhythm(due: time(due), interval: interval.map { $0 * ms })
    }

    @Test("No callout begins before its date")
    func early() {
        var rhythm = Self.rhythm(due: 100, interval: 10)
        let before = MonotonicTime(nanoseconds: Self.time(100).nanoseconds - 1)
        #expect(rhythm.begin(at: before) == nil)
        #expect(rhythm.due == Self.time(100))
        #expect(rhythm.begin(at: Self.time(100)) == 0)
    }

    @Test(
        "A late callout is for the latest date that has passed, and counts the others",
        arguments: [
            (100, 100, 0), (109, 100, 0), (110, 110, 1), (139, 130, 3),
            (1_000_000_005, 1_000_000_000, 99_999_990),
        ]
    )
    func late(now: Int64, due: Int64, missed: Int) {
        var rhythm = Self.rhythm(due: 100, interval: 10)
        #expect(rhythm.begin(at: Self.time(now)) == (due - 100) * Self.ms)
        #expect(rhythm.due == Self.time(due))
        #expect(rhythm.missed == missed)
    }

    @Test(
        "The next date is the first on the grid after the callout, and the next callout counts those between",
        arguments: [(100, 110, 0), (109, 110, 0), (110, 120, 1), (135, 140, 3)]
    )
    func slow(end: Int64, next: Int64, missed: Int) {
        var rhythm = Self.rhythm(due: 100, interval: 10)
        _ = rhythm.begin(at: Self.time(100))
        let goesOn = rhythm.end(at: Self.time(end))
        #expect(goesOn)
        #expect(rhythm.due == Self.time(next))
        #expect(rhythm.missed == 0)
        _ = rhythm.begin(at: Self.time(next))
        #expect(rhythm.missed == missed)
    }

    @Test("A hundred thousand late and slow callouts do not move the grid")
    func grid() {
        var rhythm = Self.rhythm(due: 7, interval: 3)
        var now = rhythm.due
        var notAhead = 0
        for step in 0..<100_000 as Range<Int64> {
            now = rhythm.due + (step * 7919) % (20 * Self.ms)
            _ = rhythm.begin(at: now)
            now = now + (step * 104_729) % (5 * Self.ms)
            _ = rhythm.end(at: now)
            notAhead += rhythm.due > now ? 0 : 1
        }
        #expect(notAhead == 0)
        #expect((rhythm.due - Self.time(7)) % (3 * Self.ms) == 0)
    }

    @Test("A one-shot has no next date, however late it is")
    func oneShot() {
        var rhythm = Self.rhythm(due: 100, interval: nil)
        #expect(rhythm.begin(at: Self.time(5_000_000)) == 0)
        #expect(rhythm.missed == 0)
        let goesOn = rhythm.end(at: Self.time(5_000_001))
        #expect(!goesOn)
    }

    @Test("A moved grid starts at its new date, and forgets what was missed on the old one")
    func moved() {
        var rhythm = Self.rhythm(due: 100, interval: 10)
        _ = rhythm.begin(at: Self.time(100))
        _ = rhythm.end(at: Self.time(199))
        rhythm.move(to: Self.time(203))
        #expect(rhythm.begin(at: Self.time(203)) == 0)
        #expect(rhythm.missed == 0)
        let goesOn = rhythm.end(at: Self.time(204))
        #expect(goesOn)
        #expect(rhythm.due == Self.time(213))
    }

    @Test("The shortest interval is 0.1 ms", arguments: [Int64.min, -1, 0, 1, 99_999, 100_000])
    func shortest(interval: Int64) {
        #expect(Rhythm(due: Self.time(0), interval: interval).interval == 100_000)
    }

    @Test("The longest intervals and distances do not overflow")
    func longest() {
        var rhythm = Rhythm(due: Self.time(0) + -.century, interval: .century)
        #expect(rhythm.begin(at: Self.time(1)) == .century)
        let goesOn = rhythm.end(at: Self.time(2))
        #expect(goesOn)
        #expect(rhythm.due == Self.time(0) + .century)
        #expect(rhythm.wakeUp(tolerance: .century) >= rhythm.due)
    }

    @Test(
        "With tolerance the wake-up is the roundest instant at most that late",
        arguments: [
            (5, 0, 5), (5, 2, 6), (5, 3, 8), (8, 7, 8), (9, 6, 12), (1000, 50, 1024),
            (1, 1000, 512),
            (-5, 3, -4), (-5, 9, 0),
        ]
    )
    func tolerance(due: Int64, tolerance: Int64, wakeUp: Int64) {
        let rhythm = Rhythm(due: MonotonicTime(nanoseconds: due), interval: nil)
        #expect(rhythm.wakeUp(tolerance: tolerance).nanoseconds == wakeUp)
    }

    @Test("A repeating timer uses at most half its interval as tolerance")
    func halfTheInterval() {
        let rhythm = Rhythm(due: MonotonicTime(nanoseconds: 1), interval: 200_000)
        #expect(rhythm.wakeUp(tolerance: .century).nanoseconds == 65_536)
    }

    @Test("A thousand timers with a tolerance of 100 ms share at most 20 wake-ups a second")
    func shared() {
        let wakeUps = Set(
            (0..<1000 as Range<Int64>).map { index in
                let due = MonotonicTime(nanoseconds: 123_456_789 + index * Self.ms)
                return Rhythm(due: due, interval: nil).wakeUp(tolerance: 100 * Self.ms).nanoseconds
            }
        )
        #expect(wakeUps.count <= 20)
    }
}
