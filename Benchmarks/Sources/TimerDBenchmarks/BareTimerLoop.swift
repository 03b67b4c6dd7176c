// SPDX-License-Identifier: Apache-2.0

import CLimits
import Foundation
import Schedules

/// The least that can wait for dates: one thread, one timerfd on the wall clock, nothing else.
enum BareTimerLoop {
    /// Waits for each date in turn.
    ///
    /// - Returns: how late it was for each, in ms.
    static func lateness(at dates: [Timestamp]) throws -> [Double] {
        let timer = timerfd_create(CLOCK_REALTIME, closeOnExec)
        guard timer >= 0 else {
            throw BenchmarkError("cannot make a timerfd: \(String(cString: strerror(errno)))")
        }
        defer { close(timer) }
        var expirations: UInt64 = 0
        return dates.map { date in
            if Clock.now < date {
                var setting = itimerspec()
                setting.it_value.tv_sec = Int(date.microseconds / 1_000_000)
                setting.it_value.tv_nsec = Int(date.microseconds % 1_000_000) * 1000
                timerfd_settime(timer, absoluteTime, &setting, nil)
                read(timer, &expirations, 8)
            }
            return (Clock.now - date).inMilliseconds
        }
    }
}

// Enumerators in C, which come to Swift as Int.
private let closeOnExec = Int32(TFD_CLOEXEC)
private let absoluteTime = Int32(TFD_TIMER_ABSTIME)

extension TimeSpan {
    var inMilliseconds: Double { Double(microseconds) / 1000 }
}
