// SPDX-License-Identifier: Apache-2.0

// Which of the two has `timespec` depends on what the compiler has read before.
import CoreFoundation
import Foundation
import Glibc

/// An instant on CLOCK_MONOTONIC: no step of the wall clock moves it, and it rests while the
/// machine sleeps.
///
/// CFRunLoop waits on the same clock, so "due" means the same here and there.
struct MonotonicTime: Comparable {
    /// Since an arbitrary start, usually the boot; negative before it.
    var nanoseconds: Int64

    static var now: MonotonicTime {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return MonotonicTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// The instant that the wall date `date` has, as both clocks stand at this moment.
    ///
    /// Where the two readings are apart the instant is late, never early.
    init(_ date: Date) {
        let clocks = ClockPair.read()
        let seconds =
            date.timeIntervalSinceReferenceDate - clocks.wall.timeIntervalSinceReferenceDate
        self = clocks.after + Int64(nanosecondsIn: seconds)
    }

    init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// The wall date of this instant, as both clocks stand at this moment.
    ///
    /// Where the two readings are apart the date is late: a run loop told to wait for it does not
    /// come back before the instant.
    var date: Date {
        let clocks = ClockPair.read()
        return clocks.wall + Double(self - clocks.before) / 1e9
    }

    static func < (left: MonotonicTime, right: MonotonicTime) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    static func + (time: MonotonicTime, nanoseconds: Int64) -> MonotonicTime {
        MonotonicTime(nanoseconds: time.nanoseconds + nanoseconds)
    }

    static func - (left: MonotonicTime, right: MonotonicTime) -> Int64 {
        left.nanoseconds - right.nanoseconds
    }
}

/// Both clocks at one moment: the wall clock, between two readings of the other.
struct ClockPair {
    var before: MonotonicTime
    var wall: Date
    var after: MonotonicTime

    /// How far apart the two may be, in nanoseconds.
    private static let room: Int64 = 100_000

    /// Reads them once more where the thread has lost the processor in between: a timer's whole grid would be late by that.
    ///
    /// - Parameters:
    ///   - wall: Reads the wall clock.
    ///   - monotonic: Reads the monotonic one.
    /// - Returns: After eight such times in a row, the last.
    static func read(
        wall: () -> Date = { Date() },
        monotonic: () -> MonotonicTime = { .now }
    ) -> ClockPair {
        var pair = ClockPair(before: monotonic(), wall: wall(), after: monotonic())
        for _ in 0..<7 where pair.after - pair.before > room {
            pair = ClockPair(before: monotonic(), wall: wall(), after: monotonic())
        }
        return pair
    }
}

extension Int64 {
    /// A distance of at most a century, far inside the range of nanoseconds in 64 bits.
    static let century: Int64 = 36525 * 86400 * 1_000_000_000

    /// `seconds` rounded to the nanosecond, at most a century either way.
    ///
    /// What is not a number counts as a century: a date that cannot be read never comes, which
    /// does less harm than one that comes at once.
    init(nanosecondsIn seconds: Double) {
        let nanoseconds = seconds * 1e9
        if nanoseconds.isNaN || nanoseconds > Double(Int64.century) {
            self = .century
        } else {
            self = Int64(Swift.max(nanoseconds, Double(-Int64.century)).rounded())
        }
    }
}
