// SPDX-License-Identifier: Apache-2.0

import Glibc

/// How many descriptors this process, and the processes that it starts, may have open.
package enum DescriptorLimit {
    /// The soft limit that this process was started with, which each run gets back.
    ///
    /// A program that calls select(2) writes beyond its sets for descriptors above 1023, so no run gets more
    /// unasked.
    package static let inherited = UInt64(current.rlim_cur)

    /// Raises the soft limit to the hard one: a connection takes one descriptor.
    package static func raise() {
        var limit = current
        guard inherited < limit.rlim_max else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    /// How many descriptors this process may have open now.
    package static var now: Int { Int(clamping: current.rlim_cur) }

    /// Makes sure that so many more can be opened: where there is none, some libraries end the process without a word.
    ///
    /// - Throws: `SystemError`, of open(2).
    package static func require(_ count: Int) throws {
        var descriptors: [CInt] = []
        defer { for descriptor in descriptors { close(descriptor) } }
        for _ in 0..<count {
            let descriptor = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            guard descriptor >= 0 else {
                throw SystemError("cannot open \(count) descriptors more, of \(now) in all")
            }
            descriptors.append(descriptor)
        }
    }

    private static var current: rlimit {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return limit
    }
}
