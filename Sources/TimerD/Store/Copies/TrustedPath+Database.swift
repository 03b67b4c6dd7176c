// SPDX-License-Identifier: Apache-2.0

import CSQLite
// `stat` belongs to CoreFoundation if any module of the program imports that, and to Glibc otherwise.
import CoreFoundation
import Glibc
import LinuxSystem
import SQLite

extension TrustedPath {
    /// How the names of the files end that SQLite keeps beside a database and reads as a part of it.
    static let endingsOfLogs = ["-wal", "-shm", "-journal"]
    /// How the names of a database and of the files beside it end.
    static let endingsOfDatabase = [""] + endingsOfLogs + [DatabaseLock.ending]
    /// How the name of the socket ends at which a database's runner listens, unless that is set.
    static let endingOfRunner = "-runner"
    /// What stands between the name of a database and the date at which a restore has replaced it.
    static let replacedMark = ".replaced-"

    /// Why a database cannot be trusted: its folder, its file, or the files beside it; nil if it can.
    ///
    /// Also that what is there is no file.
    static func problem(withDatabase path: String) -> String? {
        // try?: if its folder cannot be found, opening the database says why.
        let real = (try? DatabaseLock.resolve(path)) ?? path
        let files = [path] + endingsOfDatabase.dropFirst().map { real + $0 }
        return files.lazy.compactMap { problem(with: $0) }.first ?? kind(of: path)
    }

    /// That something else than a file is there, which is told before anything is made beside it; nil if not.
    private static func kind(of path: String) -> String? {
        var status = stat()
        // What cannot be looked at is told as it is opened.
        guard stat(path, &status) == 0 else { return nil }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return nil
        case S_IFDIR: return "it is a folder; accepted is a file"
        default: return "it is no regular file; accepted is a file"
        }
    }

    static func checkDatabase(_ path: String) throws(DatabaseError) {
        guard let problem = problem(withDatabase: path) else { return }
        throw DatabaseError(
            code: SQLITE_PERM,
            message: "cannot open database '\(path)': \(problem)",
            path: path
        )
    }

    /// The first of SQLite's files that lies beside a database; nil for none.
    static func log(beside path: String) -> String? {
        // try?: what has no folder has nothing beside it.
        let real = (try? DatabaseLock.resolve(path)) ?? path
        return endingsOfLogs.lazy.map { real + $0 }.first(where: isThere)
    }

    /// Whether anything has that name, a link that leads nowhere as well.
    static func isThere(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }
}
