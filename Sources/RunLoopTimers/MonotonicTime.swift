// SPDX-License-Identifier: Apache-2.0

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
    /// The wall clock is read first: a thread that loses the processor between the two readings
    /// makes the instant late, never early.
    init(_ date: Date) {
        let seconds = date.timeIntervalSinceReferenceDate - Date().timeIntervalSinceReferenceDate
        self = .now + Int64(nanosecondsIn: seconds)
    }

    init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// The wall date of this instant, as both clocks stand at this moment.
    ///
    /// The monotonic clock is read first, so that a run loop told to wait for this date does not
    /// come back before the instant.
    var date: Date {
        let seconds = Double(self - .now) / 1e9
        return Date() + seconds
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
