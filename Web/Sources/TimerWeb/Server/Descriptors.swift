// SPDX-License-Identifier: Apache-2.0

import Glibc

/// How many descriptors the process may have.
enum Descriptors {
    /// Descriptors for 16 connections, each with one to the daemon, and for the process itself.
    private static let fewest: rlim_t = 64

    /// Raises the limit as far as it may be raised; answers how many connections there may be.
    ///
    /// Each stream and each page has a connection to the daemon as well, and the process has some of its own.
    ///
    /// - Throws: `WebError` where there are too few for any page: without a word it would answer nobody.
    static func raise(for connections: Int) throws(WebError) -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            return connections / 8
        }
        limit.rlim_cur = min(limit.rlim_max, rlim_t(connections * 2))
        // Where it may not be raised, it stays.
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            return connections / 8
        }
        guard limit.rlim_cur >= fewest else {
            throw WebError(
                "at most \(limit.rlim_cur) files may be open, and \(fewest) are needed; see 'ulimit -n'"
            )
        }
        let room = Int(min(limit.rlim_cur, rlim_t(connections * 2))) - WebLimits.streams - 64
        return max(16, min(connections, room * 3 / 4))
    }
}
