// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import SystemPackage

/// A descriptor that becomes readable when a run has taken as long as it may.
enum RunAlarm {
    /// Goes off `timeout` from now, the time that the machine sleeps included.
    static func open(after timeout: Duration) throws(Errno) -> FileDescriptor {
        let descriptor = timerfd_create(CLOCK_BOOTTIME, CInt(O_CLOEXEC | O_NONBLOCK))
        guard descriptor != -1 else { throw Errno(rawValue: errno) }
        let (seconds, attoseconds) = timeout.components
        var date = itimerspec()
        date.it_value.tv_sec = Int(seconds)
        // Zero would turn it off.
        date.it_value.tv_nsec = max(Int(attoseconds / 1_000_000_000), seconds > 0 ? 0 : 1)
        guard timerfd_settime(descriptor, 0, &date, nil) == 0 else {
            let cause = Errno(rawValue: errno)
            close(descriptor)
            throw cause
        }
        return FileDescriptor(rawValue: descriptor)
    }
}
