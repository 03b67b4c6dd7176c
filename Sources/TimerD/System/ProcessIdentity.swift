// SPDX-License-Identifier: Apache-2.0

import Glibc
import SystemPackage

/// A process that a job's life is tied to, told apart from others that get its number later.
struct ProcessIdentity: Sendable, Hashable {
    let pid: pid_t
    /// When it was started, as `ticks(of:)` said then: another process may have the number by now.
    let ticks: Int64

    /// When a process was started, in clock ticks since the machine started; nil if there is none.
    static func ticks(of pid: pid_t) -> Int64? {
        ProcessStatus(of: pid)?.ticks
    }

    /// Whether it is still the process that was started, and has not ended; throws if that cannot be found out now.
    func isThere() throws(Errno) -> Bool {
        guard let status = try ProcessStatus.look(at: pid) else { return false }
        return status.ticks == ticks && !status.hasEnded
    }
}
