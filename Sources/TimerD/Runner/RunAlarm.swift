// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import SystemPackage

/// A descriptor that becomes readable when a run has taken as long as it may.
struct RunAlarm: Sendable {
    let descriptor: FileDescriptor
    private let timeout: Duration

    /// Opens the descriptor, which is closed by the one that takes it over.
    init(timeout: Duration) throws(Errno) {
        let timer = timerfd_create(CLOCK_BOOTTIME, CInt(O_CLOEXEC | O_NONBLOCK))
        guard timer != -1 else { throw Errno(rawValue: errno) }
        descriptor = FileDescriptor(rawValue: timer)
        self.timeout = timeout
    }

    /// Has it go off `timeout` from now, the time that the machine sleeps included.
    func start() {
        let (seconds, attoseconds) = timeout.components
        var date = itimerspec()
        date.it_value.tv_sec = Int(seconds)
        // Zero would turn it off.
        date.it_value.tv_nsec = max(Int(attoseconds / 1_000_000_000), seconds > 0 ? 0 : 1)
        timerfd_settime(descriptor.rawValue, 0, &date, nil)
    }
}
