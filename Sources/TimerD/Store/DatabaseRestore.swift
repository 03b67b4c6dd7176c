// SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxSystem
import Platform
import SQLite
import Schedules
import SystemPackage

/// Puts a copy in the place of a database, which is kept beside it under another name.
public struct DatabaseRestore {
    private let database: String

    /// `database`: the path of the one that is replaced; it need not exist, or be readable.
    public init(database: String) {
        self.database = database
    }

    /// Puts a copy of `backup`, checked before, in the place of the database.
    ///
    /// - Returns: what the old database is called now; nil if there was none.
    /// - Throws: `DaemonError`, for a database whose daemon runs, and a backup that is not sound; the
    ///   database is as it was.
    public func restore(_ backup: String) throws(DaemonError) -> String? {
        do {
            try TrustedPath.checkDatabase(database)
            // What is replaced is the file that a link leads to, and not the link.
            let real = try DatabaseLock.resolve(database)
            return try Self(database: real).replace(with: backup)
        } catch {
            throw DaemonError(starting: error)
        }
    }

    private func replace(with backup: String) throws -> String? {
        let now = SystemClock.read().wall
        // SQLite makes files beside the file that it reads, also where a stranger's link leads. And a
        // stranger could replace the file between its check and its copy.
        if let problem = TrustedPath.problem(with: backup) {
            throw DaemonError(
                "cannot restore '\(backup)': \(problem); copy it to a folder of your own first",
                .configuration
            )
        }
        let lock = try DatabaseLock(database: database)
        defer { lock.release() }
        try check(backup)
        let new = database + ".restored"
        _ = try DatabaseCopy(of: backup).write(to: new, replacing: true, at: now)
        guard let old = try putAside(now) else {
            try SystemDisk().rename(new, to: database)
            return nil
        }
        guard rename(new, database) == 0 else {
            throw failure("cannot name the restored database '\(database)'")
        }
        try SystemDisk().syncFolder(of: database)
        return old
    }

    private func check(_ backup: String) throws {
        let file = try Database(path: backup, mode: .readOnly)
        defer { file.close() }
        let version = try file.prepare("PRAGMA user_version").value(as: Int.self) ?? 0
        guard version <= [Migration].released.count else {
            throw DaemonError(
                "'\(backup)' has schema version \(version), and this timerd knows versions"
                    + " up to \([Migration].released.count); restore it with a newer timerd",
                .configuration
            )
        }
        if let problem = try file.problems().first {
            throw DaemonError(
                "'\(backup)' is damaged: \(problem); nothing was changed",
                .configuration
            )
        }
    }

    /// Gives the database a second name, and renames its log to match that.
    ///
    /// At each instant there is a database under its own name, the old one or the new: a daemon that found
    /// none would begin an empty one.
    private func putAside(_ now: Timestamp) throws -> String? {
        guard access(database, F_OK) == 0 else { return nil }
        // Brings the log into the file. try?: what cannot be read is kept as it is.
        if let old = try? Database(path: database, mode: .readWriteCreate) { old.close() }
        let old = database + ".replaced-\(now.rfc3339)"
        guard link(database, old) == 0 else {
            throw failure("cannot keep '\(database)' as '\(old)'")
        }
        for suffix in ["-wal", "-shm"] where access(database + suffix, F_OK) == 0 {
            guard rename(database + suffix, old + suffix) == 0 else {
                throw failure("cannot rename '\(database + suffix)'")
            }
        }
        return old
    }

    private func failure(_ what: String) -> DaemonError {
        DaemonError("\(what): \(Errno.last.text)", .unavailable)
    }
}
