// SPDX-License-Identifier: Apache-2.0

import Glibc

/// How many descriptors this process may have open, and those that it starts.
enum DescriptorLimit {
    /// The soft limit that this process was started with, which each run gets back.
    ///
    /// A program that calls select(2) writes beyond its sets above 1023, so nobody is to have more
    /// without having asked for it.
    static let inherited = UInt64(current.rlim_cur)

    /// Takes as many as the system allows: a connection is one, a run that starts eight.
    static func raise() {
        var limit = current
        guard inherited < limit.rlim_max else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    /// How many descriptors this process may have open now.
    static var now: Int { Int(clamping: current.rlim_cur) }

    private static var current: rlimit {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return limit
    }
}
