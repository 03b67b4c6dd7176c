// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The users whom this process' user namespace has; a container without root has a part of the machine's.
package enum UserNamespace {
    /// The uid by which the kernel calls each user whom the namespace does not have; nil if it has all.
    ///
    /// One of the namespace's own may have the same number, and cannot be told from those.
    package static func unmapped() -> UInt32? {
        unmapped(
            map: ProcessStatus.text(at: "/proc/self/uid_map"),
            overflow: ProcessStatus.text(at: "/proc/sys/kernel/overflowuid")
        )
    }

    /// `map` has a line for each range: its first uid, the one it is outside, how many (user_namespaces(7)).
    static func unmapped(map: String?, overflow: String?) -> UInt32? {
        guard let map, let overflow else { return nil }
        let counts = map.split(whereSeparator: \.isNewline).map {
            $0.split(whereSeparator: \.isWhitespace).last.flatMap { UInt64($0) } ?? 0
        }
        // The last number is no user's (chown(2)).
        guard counts.reduce(0, +) < UInt64(UInt32.max) else { return nil }
        return UInt32(overflow.prefix { !$0.isWhitespace })
    }
}
