// SPDX-License-Identifier: Apache-2.0

// `stat` is CoreFoundation's if any module of the program imports that, else Glibc's.
import CoreFoundation
import Glibc
import Platform
import SystemPackage

/// Why the daemon cannot listen at a path.
package struct SocketError: Error, Hashable, Sendable, CustomStringConvertible {
    var path: String
    /// What stands in the way: lower case, no full stop.
    var problem: String
    /// Whether trying again cannot help.
    package var isLasting = false

    package init(_ path: String, _ problem: String, isLasting: Bool = false) {
        self.path = path
        self.problem = problem
        self.isLasting = isLasting
    }

    /// How many bytes the path of a socket may have: `sun_path` holds them and a NUL.
    package static let longestPath = 107

    /// Why a path cannot be that of a socket, as far as its length says; nil if it can.
    package static func wrongLength(of path: String) -> Self? {
        guard !(1...longestPath ~= path.utf8.count) else { return nil }
        return Self(
            path,
            "the path has \(path.utf8.count) bytes, a socket's has 1 to \(longestPath)",
            isLasting: true
        )
    }

    /// What is told of a file in a socket's place.
    package static let otherFile = "there is a file that is no socket; it is left as it is"

    /// Why nobody can listen at a path, or a stranger could, as far as that can be seen beforehand; nil if neither is so.
    package static func place(_ path: String) -> Self? {
        if let error = wrongLength(of: path) { return error }
        guard !path.utf8.contains(0) else {
            return Self(path, "the path has a NUL, a socket's has none", isLasting: true)
        }
        if let problem = TrustedPath.problem(with: path.parentFolder) {
            return Self(path, problem, isLasting: true)
        }
        var file = stat()
        // Who connects follows a link to a socket; one that leads nowhere is in the way as a file is.
        guard stat(path, &file) == 0 || lstat(path, &file) == 0, file.st_mode & S_IFMT != S_IFSOCK
        else { return nil }
        return Self(path, otherFile, isLasting: true)
    }

    /// The error of the last system call, from errno; to be made before the next call.
    package static func failed(_ path: String, _ doing: String) -> Self {
        Self(path, "cannot \(doing): \(Errno.last.text)")
    }

    package var description: String { "cannot listen at '\(path)': \(problem)" }
}
