// SPDX-License-Identifier: Apache-2.0

import Glibc
import JobModel

extension ProcessLimits {
    /// The least niceness that the kernel gives to a command of `owner`; nil where it is root's
    /// daemon that runs root's own, which may have any.
    ///
    /// Less than it runs with takes RLIMIT_NICE (getrlimit(2)), which is zero on most machines. A
    /// daemon that is root sets what is not negative with its own privilege.
    static func leastNice(owner: UInt32, daemon: UInt32) -> Int32? {
        if daemon == 0, owner == 0 { return nil }
        var limit = rlimit()
        // It cannot fail for a resource that exists.
        getrlimit(__rlimit_resource_t(__RLIMIT_NICE.rawValue), &limit)
        let granted = 20 - Int32(min(limit.rlim_cur, 40))
        let own = daemon == 0 ? 0 : getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0)
        return min(own, granted)
    }
}
