// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import Platform
import Schedules
import SystemPackage

/// A timer that is a descriptor, readable once its time has come: timerfd_create(2).
///
/// Closed by whoever takes the descriptor over.
struct TimerDescriptor: Sendable {
    let descriptor: FileDescriptor

    /// Makes one that is not set.
    init(_ clock: clockid_t) throws(Errno) {
        let timer = timerfd_create(clock, CInt(TFD_CLOEXEC) | CInt(TFD_NONBLOCK))
        guard timer != -1 else { throw .last }
        descriptor = FileDescriptor(rawValue: timer)
    }

    /// Sets it to a date of the wall clock, its clock; it is readable then, and when the clock is stepped.
    ///
    /// - Returns: whether the clock was stepped since it was last set or read: then no read tells it any more.
    func set(at date: Timestamp) -> Bool {
        let date = max(date, Timestamp(microseconds: 1))
        let (seconds, rest) = date.microseconds.quotientAndRemainder(dividingBy: 1_000_000)
        // TFD_TIMER_CANCEL_ON_SET, which Swift does not see.
        let flags = CInt(TFD_TIMER_ABSTIME) | (1 << 1)
        var value = itimerspec()
        value.it_value = timespec(tv_sec: Int(seconds), tv_nsec: Int(rest) * 1000)
        // It fails only for a bad descriptor or time, and with ECANCELED after a step of the clock; then it is
        // set all the same.
        return timerfd_settime(descriptor.rawValue, flags, &value, nil) != 0 && errno == ECANCELED
    }

    /// What has made it readable; it is not after that.
    func read() -> ClockWatch.Signal? {
        var expirations: UInt64 = 0
        let size = MemoryLayout.size(ofValue: expirations)
        if Glibc.read(descriptor.rawValue, &expirations, size) > 0 { return .dateHasCome }
        return errno == ECANCELED ? .clockWasStepped : nil
    }
}
