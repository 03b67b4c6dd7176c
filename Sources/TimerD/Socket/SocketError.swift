// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Why the daemon cannot listen at a path.
struct SocketError: Error, Hashable, Sendable, CustomStringConvertible {
    var path: String
    /// What stands in the way: lower case, no full stop.
    var problem: String
    /// Whether trying again cannot help.
    var isLasting = false

    init(_ path: String, _ problem: String, isLasting: Bool = false) {
        self.path = path
        self.problem = problem
        self.isLasting = isLasting
    }

    /// The error of the last system call, from errno; to be made before the next call.
    static func failed(_ path: String, _ doing: String) -> Self {
        let text = String(cString: strerror(errno))
        return Self(path, "cannot \(doing): \(text.prefix(1).lowercased() + text.dropFirst())")
    }

    var description: String { "cannot listen at '\(path)': \(problem)" }
}
