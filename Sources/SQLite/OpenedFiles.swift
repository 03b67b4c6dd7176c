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
        /// Whether a symbolic link in its place is another file.
        var isItself: Bool
        var identity: FileIdentity
    }

    private let disk: any Disk
    private let log: String
    /// The database: where it was asked for, if that is another place, and beside its log.
    private let main: [File]
    /// The write-ahead log and its index.
    private let others: [File]

    /// Notes the files as they are now.
    ///
    /// `path`: the one by which the database was opened. `real`: the path without symbolic links, beside
    /// which the others lie.
    init(path: String, real: String, on disk: any Disk) {
        func file(_ path: String, isItself: Bool = true) -> File? {
            // try?: what cannot be told from another is not watched.
            guard let identity = try? disk.identity(of: path, isItself: isItself) else {
                return nil
            }
            return File(path: path, isItself: isItself, identity: identity)
        }
        self.disk = disk
        log = real + "-wal"
        main = [path == real ? nil : file(path, isItself: false), file(real)].compactMap(\.self)
        others = [log, real + "-shm"].compactMap { file($0) }
    }

    /// Which of the files was removed, replaced or cut off; nil if all are as they were.
    ///
    /// Three calls of stat(2), or four. `isLogCut`: whether the log was found shorter than it was left.
    func loss(isLogCut: Bool = false) -> Loss? {
        for file in main {
            if let text = change(of: file) { return Loss(text: text, what: .main) }
        }
        if isLogCut { return Loss(text: "'\(log)' was cut off", what: .logCut) }
        for file in others {
            if let text = change(of: file) { return Loss(text: text, what: .besides) }
        }
        return nil
    }

    private func change(of file: File) -> String? {
        let now: FileIdentity?
        // A look that fails says nothing of the file: of a server that is away for a moment, or for want of memory.
        do { now = try disk.identity(of: file.path, isItself: file.isItself) } catch { return nil }
        guard now != file.identity else { return nil }
        return
            "'\(file.path)' was \(now == nil ? "removed or renamed" : "replaced by another file")"
    }

    package struct Loss: Hashable, Sendable {
        /// Which file, and what happened to it.
        var text: String
        var what: What

        enum What {
            /// The database itself.
            case main
            /// Its log, or the log's index: SQLite has what was in it still open.
            case besides
            /// A part of what was in the log.
            case logCut
        }

        /// The error for the administrator of the daemon, and for whoever asked for what was committed last.
        ///
        /// That is in the log, which may be copied into the database yet, or put back with it.
        package func error(path: String) -> DatabaseError {
            let advice =
                switch what {
                case .main: "put it back with its '-wal', or restore a backup"
                case .besides:
                    "what was in the log is copied into the database; leave these files to timerd"
                case .logCut:
                    "what was behind that place is lost; compare with a backup, and leave these files to timerd"
                }
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
