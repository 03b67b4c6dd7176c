// SPDX-License-Identifier: Apache-2.0

package import Glibc
package import SystemPackage

/// A process that a job's life is tied to, told apart from others that get its number later.
package struct ProcessIdentity: Sendable, Hashable {
    package let pid: pid_t
    /// When it was started, as `ticks(of:)` said then: another process may have the number by now.
    package let ticks: Int64

    package init(pid: pid_t, ticks: Int64) {
        (self.pid, self.ticks) = (pid, ticks)
    }

    /// When a process was started, in clock ticks since the machine started; nil if there is none.
    static func ticks(of pid: pid_t) -> Int64? {
        ProcessStatus(of: pid)?.ticks
    }

    /// Whether it is still the process that was started, and has not ended; throws if that cannot be found out now.
    package func isThere() throws(Errno) -> Bool {
        guard let status = try ProcessStatus.look(at: pid) else { return false }
        return status.ticks == ticks && !status.hasEnded
    }
}
