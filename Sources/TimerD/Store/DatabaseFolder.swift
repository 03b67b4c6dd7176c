// SPDX-License-Identifier: Apache-2.0

import Glibc
import Platform
import SystemPackage

/// The folder of a database at the default path, which is made where it is missing.
package enum DatabaseFolder {
    /// Makes it and those above it, for their owner alone; nil where it is there, or why it cannot be made.
    package static func make(of database: String) -> String? {
        guard let (folder, cause) = make(database.parentFolder) else { return nil }
        return "cannot make the folder '\(folder)' for database '\(database)': \(cause.text)"
    }

    private static func make(_ folder: String) -> (folder: String, cause: Errno)? {
        guard var cause = makeOne(folder) else { return nil }
        let above = folder.parentFolder
        if cause == .noSuchFileOrDirectory, above != folder {
            if let failure = make(above) { return failure }
            guard let again = makeOne(folder) else { return nil }
            cause = again
        }
        return (folder, cause)
    }

    /// Nil where it is there; what is no folder, opening the database says.
    private static func makeOne(_ folder: String) -> Errno? {
        if mkdir(folder, 0o700) == 0 {
            // Whatever the umask is; a file system without such modes refuses it.
            chmod(folder, 0o700)
            return nil
        }
        let cause = Errno.last
        return cause == .fileExists ? nil : cause
    }
}
