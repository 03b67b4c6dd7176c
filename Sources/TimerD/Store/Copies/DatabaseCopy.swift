// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Glibc
import LinuxSystem
import Platform
import SQLite
import Schedules
import SystemPackage

/// A copy of a database that may be in use: one file, complete, on disk before it has its name.
struct DatabaseCopy {
    private let source: String

    init(of source: String) {
        self.source = source
    }

    /// Writes the copy to `file`, mode 0600, by way of a `CopyFolder` beside it.
    ///
    /// `now`: as for `make`.
    ///
    /// - Returns: its size in bytes.
    /// - Throws: `DatabaseError`, where `CopyTarget` finds a reason against that file, for a copy that no restore would take,
    ///   and for what keeps it from being written. A file that is there stays as it is.
    func write(to file: String, replacing: Bool, at now: Timestamp?) throws -> Int64 {
        let target = CopyTarget(file: file, replacing: replacing)
        if let problem = target.problem(withCopyOf: source) { throw refusal(problem) }
        let folder = try CopyFolder(for: file)
        defer { folder.remove() }
        try make(in: folder, at: now)
        // SQLite makes it anew, for others to read, where another host has removed it, whom no lock of the folder holds up.
        // A file system without modes refuses that.
        chmod(folder.copy, 0o600)
        let size = try sync(folder.copy, O_RDWR)
        try move(folder.copy, to: file, replacing: replacing)
        try sync(file.parentFolder, O_DIRECTORY)
        return size
    }

    /// Makes the copy, complete in one file, and checks it as a restore does.
    ///
    /// The copy records its own date, so that a daemon that starts on it gives out no number again. `now`: nil if nothing
    /// begins on the source any more, so that numbers go on where they are; only of its runs another runner may be asked.
    func make(in folder: CopyFolder, at now: Timestamp?) throws {
        try makeEmpty(folder.copy)
        do {
            try fill(folder.copy, now)
        } catch let error as DatabaseError {
            throw Self.trouble(error, writing: folder.file)
        }
    }

    /// Makes the file before SQLite does, which would let others read it once it has left its folder.
    private func makeEmpty(_ part: String) throws(DatabaseError) {
        let flags = O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW
        let descriptor = Glibc.open(part, flags, 0o600)
        guard descriptor >= 0 else { throw refusal("cannot create '\(part)'", because: errno) }
        Glibc.close(descriptor)
    }

    private func fill(_ part: String, _ now: Timestamp?) throws {
        let database = try Database(path: source, mode: .readOnly)
        defer { database.close() }
        // `query_only` refuses to write any file, also one that is not the database's.
        try database.execute("PRAGMA query_only = OFF")
        // What a daemon that starts on the copy reads first.
        if let now { _ = try DaemonState.read(database, now: now) }
        do throws(DatabaseError) {
            try database.prepare("VACUUM INTO ?1").run(part)
        } catch {
            // SQLite names the source, with the errno of a second way to open what it cannot make.
            guard error.code & 0xff == SQLITE_CANTOPEN,
                let number = DatabaseError.refusalOfFile(in: part.parentFolder)
            else { throw error }
            throw refusal("cannot write '\(part)'", because: number)
        }
        let copy = try Database(path: part, mode: .readWriteCreate)
        defer { copy.close() }
        if let problem = try copy.problems().first {
            throw DatabaseError(
                code: SQLITE_CORRUPT,
                message: "database '\(source)' is damaged: \(problem); no copy of it was kept",
                path: source
            )
        }
        if let now {
            try DaemonState.markCopied(copy, at: now)
        } else {
            try copy.prepare(RunStore.SQL.forgetRunners).run()
        }
        // Without a log beside it, it is one file, that can be moved and copied as any other.
        try copy.execute("PRAGMA journal_mode = DELETE")
    }

    /// What keeps the copy from being written; else what ails the source, as it is.
    ///
    /// SQLite names the source for both, which is only read here.
    static func trouble(_ error: DatabaseError, writing file: String) -> DatabaseError {
        // SQLITE_IOERR_WRITE, _FSYNC, _DIR_FSYNC and _TRUNCATE.
        guard error.isFull || [778, 1034, 1290, 1546].contains(error.code) else { return error }
        let full = "there is no more room on its disk" + DatabaseError.fileLimit
        let reason = error.isFull ? full : error.message
        return DatabaseError(
            code: error.code,
            message: "cannot write '\(file)': \(reason)",
            path: file
        )
    }

    private func move(_ part: String, to file: String, replacing: Bool) throws(DatabaseError) {
        // Unlike rename(2), link(2) replaces nothing.
        guard (replacing ? rename(part, file) : link(part, file)) == 0 else {
            throw refusal("cannot name the copy '\(file)'", because: errno)
        }
    }

    /// Syncs what was written to `path`; returns its size in bytes.
    @discardableResult
    private func sync(_ path: String, _ flags: Int32) throws(DatabaseError) -> Int64 {
        let descriptor = Glibc.open(path, flags | O_CLOEXEC)
        guard descriptor >= 0 else { throw refusal("cannot open '\(path)'", because: errno) }
        defer { Glibc.close(descriptor) }
        guard fsync(descriptor) == 0 else {
            throw refusal("cannot write '\(path)' to disk", because: errno)
        }
        return Int64(lseek(descriptor, 0, SEEK_END))
    }

    private func refusal(_ message: String, because number: Int32 = 0) -> DatabaseError {
        let reason = number == 0 ? "" : ": " + Errno(rawValue: number).text
        return DatabaseError(
            code: SQLITE_CANTOPEN,
            systemError: number,
            message: message + reason,
            path: source
        )
    }
}
