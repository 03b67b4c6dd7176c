// SPDX-License-Identifier: Apache-2.0

import CSQLite

/// Identifies a file, also against a later one of the same name.
package struct FileIdentity: Hashable, Sendable {
    var device: UInt64
    var inode: UInt64
}

/// The files of an open database, as they were when it was opened.
///
/// SQLite goes on writing to files that were removed or replaced, and nobody finds what it writes there.
package struct OpenedFiles: Sendable {
    private struct File {
        var path: String
        var identity: FileIdentity
    }

    private let disk: any Disk
    private let main: File?
    /// The write-ahead log and its index.
    private let others: [File]

    /// Notes the files as they are now.
    ///
    /// `path`: the one by which the database was opened. `real`: the path without symbolic links, beside
    /// which the others lie.
    init(path: String, real: String, on disk: any Disk) {
        func file(_ path: String) -> File? {
            // try?: what cannot be told from another is not watched.
            guard let identity = try? disk.identity(of: path) else { return nil }
            return File(path: path, identity: identity)
        }
        self.disk = disk
        main = file(path)
        others = ["-wal", "-shm"].compactMap { file(real + $0) }
    }

    /// Which of the files was removed or replaced; nil if all are where they were.
    ///
    /// Three calls of stat(2).
    func loss() -> Loss? {
        if let main, let text = change(of: main) { return Loss(text: text, isMain: true) }
        for file in others {
            if let text = change(of: file) { return Loss(text: text, isMain: false) }
        }
        return nil
    }

    private func change(of file: File) -> String? {
        let now: FileIdentity?
        // A look that fails says nothing of the file: of a server that is away for a moment, or for want of memory.
        do { now = try disk.identity(of: file.path) } catch { return nil }
        guard now != file.identity else { return nil }
        return
            "'\(file.path)' was \(now == nil ? "removed or renamed" : "replaced by another file")"
    }

    package struct Loss: Hashable, Sendable {
        /// Which file, and what happened to it.
        var text: String
        /// Whether it is the database itself, and not its log or the log's index.
        var isMain: Bool

        /// The error for the administrator of the daemon, and for whoever asked for what was committed last.
        ///
        /// That is in the log, which may be copied into the database yet, or put back with it.
        package func error(path: String) -> DatabaseError {
            let advice =
                isMain
                ? "put it back with its '-wal', or restore a backup"
                : "what was in the log is copied into the database; leave these files to timerd"
            return DatabaseError(
                code: SQLITE_READONLY | (4 << 8),
                message:
                    "\(text) while timerd had it open: what was just asked may be stored, nothing more is, "
                    + "and timerd ends; \(advice)",
                path: path
            )
        }

        /// The same of a node's copy of the jobs, which is made anew as the node leads again.
        package func errorOfCopy(path: String) -> DatabaseError {
            DatabaseError(
                ofCopy: "the copy of the jobs cannot be used any more: \(text)",
                code: SQLITE_READONLY | (4 << 8),
                path: path
            )
        }
    }
}
