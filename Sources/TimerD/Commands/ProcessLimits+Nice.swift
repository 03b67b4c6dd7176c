// SPDX-License-Identifier: Apache-2.0

import Glibc
import JobModel

extension ProcessLimits {
    /// The lowest niceness of a command of `owner`; nil if root's daemon runs root's command, which may have
    /// any.
    ///
    /// To lower its niceness a process needs RLIMIT_NICE (getrlimit(2)), which is zero on most machines. A
    /// daemon of root sets 0 and above with its own privilege.
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
