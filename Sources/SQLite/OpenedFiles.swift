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
            disk.identity(of: path).map { File(path: path, identity: $0) }
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
        let now = disk.identity(of: file.path)
        guard now != file.identity else { return nil }
        return
            "'\(file.path)' was \(now == nil ? "removed or renamed" : "replaced by another file")"
    }

    package struct Loss: Hashable, Sendable {
        /// Which file, and what happened to it.
        var text: String
        /// Whether it is the database itself, and not its log or the log's index.
        var isMain: Bool

        /// The error for the administrator of the daemon.
        package func error(path: String) -> DatabaseError {
            let advice =
                isMain
                ? "put it back with its '-wal', or restore a backup"
                : "what was in the log is copied into the database; leave these files to timerd"
            return DatabaseError(
                code: SQLITE_READONLY | (4 << 8),
                message:
                    "\(text) while timerd had it open: nothing more is stored, and timerd ends; "
                    + advice,
                path: path
            )
        }
    }
}
