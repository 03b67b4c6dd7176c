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

    /// Puts a copy of `backup`, on which a daemon can start, in the place of the database.
    ///
    /// - Returns: what the old database is called now; nil if there was none.
    /// - Throws: `DaemonError`, for a database that a daemon or another program has open, and a backup that is not
    ///   sound; the database is as it was, unless the error says otherwise.
    public func restore(_ backup: String) throws(DaemonError) -> String? {
        do {
            try TrustedPath.checkDatabase(database)
            try Database.refuseLogBesideLink(at: database)
            // What is replaced is the file that a link leads to, and not the link.
            let real = try DatabaseLock.resolve(database)
            return try Self(database: real).replace(with: backup)
        } catch {
            throw DaemonError(starting: error)
        }
    }

    private func replace(with backup: String) throws -> String? {
        let now = SystemClock.read().wall
        // A stranger could replace the file between its check and its copy.
        if let problem = TrustedPath.problem(withDatabase: backup) {
            throw DaemonError(
                "cannot restore '\(backup)': \(problem); copy it to a folder of your own first",
                .configuration
            )
        }
        if let log = TrustedPath.log(beside: backup) {
            throw DaemonError(
                "cannot restore '\(backup)': '\(log)' lies beside it; accepted is a file alone, as 'timerctl backup' writes it;"
                    + " if it is its own, bring it in first"
                    + " (sqlite3 FILE 'PRAGMA wal_checkpoint(TRUNCATE)' on a copy of both), else move it away",
                .configuration
            )
        }
        let lock = try DatabaseLock(database: database, isToBeReplaced: true)
        defer { lock.release() }
        let folder = try CopyFolder(for: database)
        defer { folder.remove() }
        try copyBytes(of: backup, to: folder.copy)
        try makeReady(folder.copy, of: backup, at: now)
        try bringLogIn()
        return try DatabaseExchange(database, at: now).replace(with: folder)
    }

    /// Copies the bytes alone: SQLite would read, and make, files beside the backup.
    private func copyBytes(of backup: String, to copy: String) throws {
        // Refuses a folder, and a pipe.
        guard try SystemDisk().size(of: backup) != nil else {
            throw DaemonError(
                "cannot read '\(backup)': \(Errno.noSuchFileOrDirectory.text)",
                .configuration
            )
        }
        try Self.naming("cannot read '\(backup)'") {
            let source = try FileDescriptor.open(
                FilePath(backup),
                .readOnly,
                options: .closeOnExec
            )
            try source.closeAfter {
                try Self.naming("cannot write '\(copy)'") {
                    let target = try FileDescriptor.open(
                        FilePath(copy),
                        .writeOnly,
                        options: [.create, .exclusiveCreate, .closeOnExec],
                        permissions: .ownerReadWrite
                    )
                    try target.closeAfter { try Self.copyBytes(of: backup, source, to: target) }
                }
            }
        }
    }

    private static func copyBytes(
        of backup: String,
        _ source: FileDescriptor,
        to target: FileDescriptor
    ) throws {
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = try naming("cannot read '\(backup)'") {
                try bytes.withUnsafeMutableBytes { try source.read(into: $0) }
            }
            guard count > 0 else { return }
            try target.writeAll(bytes.prefix(count))
        }
    }

    /// Has a system call of `body` that fails say what has `failed`.
    private static func naming<T>(_ failed: String, _ body: () throws -> T) throws -> T {
        do {
            return try body()
        } catch let error as Errno {
            let limit = error == .fileTooLarge ? DatabaseError.fileLimit : ""
            throw DaemonError("\(failed): \(error.text)\(limit)", .unavailable)
        }
    }

    /// Does with the copy, and puts on disk, what a daemon does with it at its start.
    private func makeReady(_ copy: String, of backup: String, at now: Timestamp) throws {
        do {
            let file = try Database(path: copy, mode: .readWriteCreate)
            defer { file.close() }
            if let problem = try file.problems().first {
                throw DaemonError("it is damaged: \(problem)", .configuration)
            }
            try Migrator(.released).migrate(file)
            // So that the daemon gives out no number again.
            try DaemonState.markCopied(file, at: now)
            _ = try DaemonState.read(file, now: now)
            try KnownZoneRules.read(file)
            // Copies the log into the file, which is synced; SQLite's last errno of the log goes with it, below.
            try file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            // Removes the log.
            try file.execute("PRAGMA journal_mode = DELETE")
        } catch {
            throw refusal(of: backup, copy, error)
        }
    }

    /// The reason in words of the backup; in those of the copy where that could not be written or read.
    private func refusal(of backup: String, _ copy: String, _ error: any Error) -> DaemonError {
        let stored = error as? DatabaseError
        let isPassing =
            stored.map { $0.isFull || $0.isIOError || $0.isOutOfMemory || $0.isBusy } ?? false
        let reason = stored?.sentence ?? "\(error)"
        return DaemonError(
            "cannot restore '\(backup)': "
                + (isPassing ? reason : reason.replacing(copy, with: backup))
                + "; nothing was changed",
            isPassing ? .unavailable : .configuration
        )
    }

    /// Brings the log of the old database into its file.
    ///
    /// One that cannot be opened is kept as it is, with what lies beside it.
    private func bringLogIn() throws {
        var status = stat()
        guard lstat(database, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw DaemonError(
                "'\(database)' is no regular file, and was left alone",
                .configuration
            )
        }
        do throws(DatabaseError) {
            try Database(path: database, mode: .readWriteCreate).close()
        } catch {
            guard error.isBusy else { return }
            throw error
        }
        // The last connection to a database removes its log.
        guard let log = TrustedPath.log(beside: database) else { return }
        throw DaemonError(
            "cannot replace '\(database)': '\(log)' stays beside it, as another program has it open, or its disk is full;"
                + " end that first",
            .unavailable
        )
    }
}
