// SPDX-License-Identifier: Apache-2.0

import CGatheredLog
import CSQLite
import Glibc
import Platform
import SystemPackage

/// What SQLite, or the file underneath it, refused to do.
@usableFromInline
package struct DatabaseError: Error, Sendable {
    /// SQLite's extended result code: https://www.sqlite.org/rescode.html.
    package let code: Int32
    /// `errno` of the call that failed underneath SQLite; 0 if none did.
    let systemError: Int32
    /// SQLite's words; a whole sentence that names the file where `sql` is nil.
    package let message: String
    /// What was being executed; nil if the trouble is with the file as a whole.
    let sql: String?
    /// The database, as it was named when it was opened.
    let path: String
    /// Whether it is a node's copy of the jobs that has failed, or its way to what keeps them, and not that: another node may
    /// do better.
    package var isOfCopy = false

    package init(
        code: Int32,
        systemError: Int32 = 0,
        message: String,
        sql: String? = nil,
        path: String
    ) {
        self.code = code
        self.systemError = systemError
        self.message = message
        self.sql = sql
        self.path = path
    }

    /// What has failed is a node's copy of the jobs.
    init(ofCopy message: String, code: Int32, path: String) {
        self.init(code: code, message: message, path: path)
        isOfCopy = true
    }

    /// The error that `connection` reported last, while executing `sql`; its errno is forgotten with that.
    package init(of connection: OpaquePointer?, sql: String?, path: String) {
        defer { if let connection { forget_errno(connection) } }
        if let unread = Self.unread(connection, sql: sql, path: path) {
            self = unread
            return
        }
        let code = sqlite3_extended_errcode(connection)
        // With other codes SQLite leaves the errno of some earlier call in place.
        let isSystem = [SQLITE_IOERR, SQLITE_CANTOPEN, SQLITE_FULL].contains(code & 0xff)
        var systemError = isSystem ? sqlite3_system_errno(connection) : 0
        // What SQLite undoes behind a call that failed may have left none.
        if systemError == 0, code & 0xff == SQLITE_IOERR {
            systemError =
                Self.files.lazy.map { Self.lastErrno(connection, of: $0) }
                .first { $0 != 0 } ?? 0
        }
        // A file that SQLite cannot make it tries to read next, and has the errno of that.
        if code & 0xff == SQLITE_CANTOPEN, systemError == ENOENT {
            systemError = Self.refusalOfFile(beside: connection) ?? ENOENT
        }
        var message = String(cString: sqlite3_errmsg(connection))
        if systemError != 0 {
            message += " (\(Errno(rawValue: systemError).text))"
        }
        if code & 0xff == SQLITE_FULL || systemError == EFBIG { message += Self.fileLimit }
        self.init(code: code, systemError: systemError, message: message, sql: sql, path: path)
    }

    /// A failed read of a file of `connection`, which SQLite has told as damage; nil if it has told none, or all could be read.
    ///
    /// https://www.sqlite.org/rescode.html#ioerr_corruptfs
    static func unread(_ connection: OpaquePointer?, sql: String?, path: String) -> Self? {
        guard sqlite3_extended_errcode(connection) & 0xff == SQLITE_CORRUPT else { return nil }
        return unreadPage(connection, sql: sql, path: path)
    }

    /// The same where SQLite has told of it in a row.
    static func unreadPage(_ connection: OpaquePointer?, sql: String?, path: String) -> Self? {
        let numbers = files.lazy.map { lastErrno(connection, of: $0) }
        guard let number = numbers.first(where: { $0 == EIO || $0 == ENXIO }) else { return nil }
        return Self(
            code: SQLITE_IOERR | 1 << 8,
            systemError: number,
            message: "disk I/O error (\(Errno(rawValue: number).text))",
            sql: sql,
            path: path
        )
    }

    /// How a connection calls its database's file, and the journal or log beside it.
    private static let files = [SQLITE_FCNTL_FILE_POINTER, SQLITE_FCNTL_JOURNAL_POINTER]

    /// Of the last call that failed on the database's file, or on its journal or log; 0 if none did.
    static func lastErrno(_ connection: OpaquePointer?, of which: Int32) -> Int32 {
        var (file, number) = (UnsafeMutablePointer<sqlite3_file>?.none, Int32(0))
        guard sqlite3_file_control(connection, "main", which, &file) == SQLITE_OK,
            // A journal in memory, as that of a database in memory, has no such call.
            let file, let control = file.pointee.pMethods?.pointee.xFileControl
        else { return 0 }
        _ = control(file, SQLITE_FCNTL_LAST_ERRNO, &number)
        return number
    }

    /// Why no file can be made beside the database of `connection`; nil if one can, or nobody knows.
    private static func refusalOfFile(beside connection: OpaquePointer?) -> Int32? {
        guard let name = sqlite3_db_filename(connection, "main") else { return nil }
        return refusalOfFile(in: String(cString: name).parentFolder)
    }

    /// Why no file can be made in a folder; nil if one can, or nobody knows.
    package static func refusalOfFile(in folder: String) -> Int32? {
        // O_TMPFILE: it has no name, and is gone with its descriptor.
        let flags = 0o20_000_000 | O_DIRECTORY | O_RDWR | O_CLOEXEC
        let file = Glibc.open(folder, flags, 0o600)
        guard file < 0 else {
            Glibc.close(file)
            return nil
        }
        // Not every file system has such files.
        return errno == EOPNOTSUPP ? nil : errno
    }

    private var primaryCode: Int32 { code & 0xff }

    /// How large a file this process may make, for whoever is told that there is no room; empty without a limit.
    package static var fileLimit: String {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0,
            limit.rlim_cur != rlim_t.max
        else { return "" }
        return "; LimitFSIZE= or ulimit -f limits files to \(limit.rlim_cur) bytes"
    }

    /// There was no room: the disk, the quota, the largest size of a file or that of the database.
    package var isFull: Bool {
        primaryCode == SQLITE_FULL || [ENOSPC, EDQUOT, EFBIG].contains(systemError)
    }
    /// Another connection held a lock for longer than this one waits.
    package var isBusy: Bool { primaryCode == SQLITE_BUSY || primaryCode == SQLITE_LOCKED }
    /// The file is damaged, or is no SQLite database at all.
    package var isCorrupt: Bool { primaryCode == SQLITE_CORRUPT || primaryCode == SQLITE_NOTADB }
    /// The operating system failed to read, write or sync.
    package var isIOError: Bool { primaryCode == SQLITE_IOERR }
    /// The disk does not give a page.
    package var isUnread: Bool { code == SQLITE_IOERR | 1 << 8 }
    /// The file, or its file system, may not be written.
    package var isReadOnly: Bool { primaryCode == SQLITE_READONLY }
    /// The process may have no more memory, or no more descriptors.
    package var isOutOfMemory: Bool {
        primaryCode == SQLITE_NOMEM || primaryCode == SQLITE_CANTOPEN
    }
    /// A row holds what its table does not allow, or what is not read as what it should be: it is damaged, and cannot be
    /// written anew either.
    package var isOfDamagedRow: Bool {
        // CHECK, NOT NULL, and the type of a column.
        let refused = [1, 5, 12].map { SQLITE_CONSTRAINT | $0 << 8 }
        return code == SQLITE_MISMATCH || refused.contains(code)
    }
    /// A row holds a value of another type than its column's, and SQLite writes nothing of it, also where that stays as it is.
    package var isOfWrongType: Bool { code == SQLITE_CONSTRAINT | 12 << 8 }
    /// Whether trying again cannot help: the file is damaged, somebody else's, newer than this program, or
    /// open to strangers.
    package var isLasting: Bool {
        isCorrupt || isOfDamagedRow || primaryCode == SQLITE_PERM || primaryCode == SQLITE_SCHEMA
    }

    /// What failed, and in which database, for a user who knows nothing of the SQL.
    package var sentence: String {
        guard sql != nil else { return message }
        guard isCorrupt else { return "database '\(path)': \(message) (\(codeName))" }
        // SQLite says the same of both: https://www.sqlite.org/rescode.html#ioerr_corruptfs
        return "database '\(path)' is corrupt, or its disk cannot be read (\(message));"
            + " restore a backup, or move it away to begin anew"
    }
}

extension DatabaseError: CustomStringConvertible {
    @usableFromInline
    package var description: String {
        guard let sql else { return message }
        let action = "while executing `\(Self.brief(sql))`"
        return "SQLite error \(code) (\(codeName)): \(message) - \(action)"
    }

    /// `sql` on one line, cut to 200 characters.
    private static func brief(_ sql: String) -> String {
        let limit = 200
        let line = sql.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        return line.count <= limit ? line : line.prefix(limit) + "..."
    }

    /// The constant in sqlite3.h; that of the primary code where the extended one is not listed.
    var codeName: String {
        Self.extendedNames[code] ?? Self.primaryNames[primaryCode] ?? "unknown"
    }

    private static let primaryNames: [Int32: String] = [
        1: "SQLITE_ERROR", 2: "SQLITE_INTERNAL", 3: "SQLITE_PERM", 4: "SQLITE_ABORT",
        5: "SQLITE_BUSY", 6: "SQLITE_LOCKED", 7: "SQLITE_NOMEM", 8: "SQLITE_READONLY",
        9: "SQLITE_INTERRUPT", 10: "SQLITE_IOERR", 11: "SQLITE_CORRUPT", 12: "SQLITE_NOTFOUND",
        13: "SQLITE_FULL", 14: "SQLITE_CANTOPEN", 15: "SQLITE_PROTOCOL", 16: "SQLITE_EMPTY",
        17: "SQLITE_SCHEMA", 18: "SQLITE_TOOBIG", 19: "SQLITE_CONSTRAINT", 20: "SQLITE_MISMATCH",
        21: "SQLITE_MISUSE", 22: "SQLITE_NOLFS", 23: "SQLITE_AUTH", 24: "SQLITE_FORMAT",
        25: "SQLITE_RANGE", 26: "SQLITE_NOTADB",
    ]

    /// The extended codes a daemon may meet, as primary code + 256 x detail.
    private static let extendedNames: [Int32: String] = [
        261: "SQLITE_BUSY_RECOVERY", 517: "SQLITE_BUSY_SNAPSHOT", 773: "SQLITE_BUSY_TIMEOUT",
        264: "SQLITE_READONLY_RECOVERY", 520: "SQLITE_READONLY_CANTLOCK",
        776: "SQLITE_READONLY_ROLLBACK", 1032: "SQLITE_READONLY_DBMOVED",
        1288: "SQLITE_READONLY_CANTINIT", 1544: "SQLITE_READONLY_DIRECTORY",
        266: "SQLITE_IOERR_READ", 522: "SQLITE_IOERR_SHORT_READ", 778: "SQLITE_IOERR_WRITE",
        1034: "SQLITE_IOERR_FSYNC", 1290: "SQLITE_IOERR_DIR_FSYNC",
        1546: "SQLITE_IOERR_TRUNCATE", 1802: "SQLITE_IOERR_FSTAT", 3850: "SQLITE_IOERR_LOCK",
        4618: "SQLITE_IOERR_SHMOPEN", 4874: "SQLITE_IOERR_SHMSIZE", 5386: "SQLITE_IOERR_SHMMAP",
        8202: "SQLITE_IOERR_DATA", 8458: "SQLITE_IOERR_CORRUPTFS",
        523: "SQLITE_CORRUPT_SEQUENCE", 779: "SQLITE_CORRUPT_INDEX",
        526: "SQLITE_CANTOPEN_ISDIR", 782: "SQLITE_CANTOPEN_FULLPATH",
        275: "SQLITE_CONSTRAINT_CHECK", 787: "SQLITE_CONSTRAINT_FOREIGNKEY",
        1299: "SQLITE_CONSTRAINT_NOTNULL", 1555: "SQLITE_CONSTRAINT_PRIMARYKEY",
        1811: "SQLITE_CONSTRAINT_TRIGGER", 2067: "SQLITE_CONSTRAINT_UNIQUE",
        2579: "SQLITE_CONSTRAINT_ROWID", 3091: "SQLITE_CONSTRAINT_DATATYPE",
    ]
}
