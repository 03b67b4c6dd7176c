// SPDX-License-Identifier: Apache-2.0

import Glibc
import Platform
import SystemPackage

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

    /// How many descriptors this process may have open once the limit is raised.
    package static var most: Int { Int(clamping: current.rlim_max) }

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

    /// How many of `limit` descriptors clients never have: the daemon looks its users up and stores their jobs with these.
    ///
    /// Also half of them, which administrators leave, are as many as `FreeDescriptor` asks for.
    package static func reserve(of limit: Int) -> Int { max(16, min(64, limit / 8)) }

    /// Why nothing more is opened for a client; nil where there are descriptors enough beside the reserve.
    ///
    /// `isAdministrator`: whether it is for one who may have half of the reserve. `opened`: the number of the descriptor that
    /// it has got already; nil for the one that it would get.
    package static func refusal(isAdministrator: Bool, opened: Int32? = nil) -> String? {
        let limit = now
        let kept = reserve(of: limit) / (isAdministrator ? 2 : 1)
        // The lowest number that is free is given: all below it are open.
        if let opened { return refusal(next: Int(opened), limit: limit, kept: kept) }
        do throws(Errno) {
            return refusal(next: try FreeDescriptor.next(), limit: limit, kept: kept)
        } catch {
            // There is none at all, or none in the whole system.
            return "no descriptor is free: \(error.text)"
        }
    }

    /// The same by numbers alone.
    static func refusal(next: Int, limit: Int, kept: Int) -> String? {
        guard next >= limit - kept else { return nil }
        return "\(next) of \(limit) descriptors are open, the last \(kept) are for timerd itself"
    }

    private static var current: rlimit {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return limit
    }
}
