// SPDX-License-Identifier: Apache-2.0

import Glibc
import Platform
import SystemPackage

extension Database {
    /// Why a node may not put its copy at `path`.
    ///
    /// Nil where nothing is, a copy of before, or what a loss of power left of one.
    ///
    /// Not of a file that this process has open: see `DatabaseFile.readStart`.
    package static func problem(withPlaceOfCopy path: String) -> String? {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        guard status.st_mode & S_IFMT == S_IFREG else {
            return "'\(path)' is there already, and is no file; accepted is a path where nothing is"
        }
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return "cannot read '\(path)': \(Errno.last.text)" }
        defer { Glibc.close(descriptor) }
        guard let header = DatabaseFile.header(of: descriptor) else {
            return "cannot read '\(path)': \(Errno.last.text)"
        }
        if DatabaseFile.isOfCopy(header) || header.allSatisfy({ $0 == 0 }) { return nil }
        return "'\(path)' is there already, and is no node's copy, which would replace it; "
            + "accepted is a path where nothing is"
    }

    /// Whether the file at `path` begins as timerd's databases do, and the backups of these.
    ///
    /// Not of a file that this process has open: see `DatabaseFile.readStart`.
    package static func isOwn(_ path: String) -> Bool {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return false }
        defer { Glibc.close(descriptor) }
        return DatabaseFile.header(of: descriptor).map { DatabaseFile.problem(with: $0) == nil }
            ?? false
    }
}
