// SPDX-License-Identifier: Apache-2.0

import CGatheredLog
import CSQLite
import Glibc

/// One SQLite connection: its settings, its statements and its transactions.
///
/// Not Sendable: it stays with the thread or actor that it was made on or sent to. Errors carry
/// the SQL that was executed. What happens to a file before it is trusted is in `DatabaseFile`.
package final class Database {
    package enum Mode {
        /// The one connection that writes; makes the file, mode 0600, if it is missing.
        case readWriteCreate
        /// The same for a copy that counts for nothing once its process has ended: no commit waits for the disk.
        case copy
        /// Sees what is committed, changes nothing and never checkpoints.
        case readOnly
        /// Is gone when it is closed.
        case inMemory
        /// As `readOnly`, for a check of all of it: of a file that it may not write SQLite checks no CHECK constraint.
        case check
    }

    package let path: String
    private let mode: Mode
    package let handle: OpaquePointer
    private var statements: [String: Statement] = [:]
    /// The statements by the address of their text: to hash the text costs as much as to run it.
    ///
    /// Each text is kept, so that no other text gets its address.
    private var statementsByPlace: [UnsafeRawPointer: (sql: String, statement: Statement)] = [:]
    private var isClosed = false
    /// Grows each time that something may have been undone: who remembers what was written reads it again.
    package private(set) var undone = 0
    /// Whether the last transaction of its own was committed.
    private var isCommitted = true
    /// What its owner remembers beside it; freed with the connection.
    package var attachment: AnyObject?
    /// Where a transaction is stored as well, before it counts as committed; nil for a database of one host.
    package var home: (any SharedHome)?
    /// The files of a connection that writes; nil for others.
    private var files: OpenedFiles?
    /// Pages in the write-ahead log after the last commit that wrote any.
    var loggedPages: Int32 = 0
    /// In bytes; a database of an earlier version has larger ones.
    var pageSize = DatabaseFile.pageSize
    /// Commits that wrote any: one that changed nothing touches no disk.
    package internal(set) var loggedCommits = 0

    /// Opens the database at `path`.
    ///
    /// - Throws: a sentence that names the path if it is a directory, cannot be read or written,
    ///   is not an SQLite database, belongs to another program, or is corrupt. In all these cases
    ///   the file and its neighbours are left as they were.
    package init(path: String, mode: Mode, on disk: any Disk = SystemDisk()) throws(DatabaseError) {
        self.path = path
        self.mode = mode
        handle = try DatabaseFile(path: path, disk: disk).open(mode)
        do {
            switch mode {
            case .readWriteCreate, .copy:
                try configureWriter()
                try settleLog()
                if mode == .readWriteCreate { try takeOverCopy() }
                // It writes what it has gathered when it is told to sync.
                if mode == .copy {
                    try execute("PRAGMA synchronous = OFF")
                } else {
                    try gatherLog()
                }
                try takeOverCheckpoints()
                let real = String(cString: sqlite3_db_filename(handle, "main"))
                files = OpenedFiles(path: path, real: real, on: disk)
            case .readOnly, .check: try configureReader()
            case .inMemory: break
            }
        } catch {
            close()
            throw error
        }
    }

    /// Has a node's copy count as a database of one host from here on: no node replaces it any more.
    private func takeOverCopy() throws(DatabaseError) {
        let own = Int64(DatabaseFile.applicationID)
        guard try prepare("PRAGMA application_id").value(as: Int64.self) != own else { return }
        try execute("PRAGMA application_id = \(own)")
    }

    /// Throws what keeps a database from being opened by a symbolic link beside which an old log lies.
    package static func refuseLogBesideLink(at path: String) throws(DatabaseError) {
        try DatabaseFile(path: path, disk: SystemDisk()).refuseLogBesideLink()
    }

    /// Makes a database in memory, with the file at `path` attached as `disk`.
    ///
    /// It sees what is committed in the file and changes nothing there. The file stays attached until
    /// `leaveDisk`.
    package init(inMemoryBeside path: String) throws(DatabaseError) {
        self.path = path
        mode = .inMemory
        var handle: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI
        let result = sqlite3_open_v2(":memory:", &handle, flags | SQLITE_OPEN_NOMUTEX, nil)
        guard let handle, result == SQLITE_OK else {
            sqlite3_close(handle)
            throw DatabaseError(
                code: result,
                message: "cannot make a database in memory",
                path: path
            )
        }
        self.handle = handle
        do {
            // The characters that a URI gives a meaning to: https://www.sqlite.org/uri.html.
            let file = path.replacing("%", with: "%25").replacing("?", with: "%3f")
                .replacing("#", with: "%23")
            try prepare("ATTACH ?1 AS disk").run("file:\(file)?mode=ro")
        } catch {
            close()
            throw error
        }
    }

    /// Detaches the file from a database in memory; not within a transaction.
    package func leaveDisk() throws(DatabaseError) {
        finishStatements()
        try execute("DETACH disk")
    }

    deinit {
        close()
    }

    /// Copies the write-ahead log into the file and closes it; what is not committed is lost.
    ///
    /// A second call does nothing. There is no error: what was committed is durable in the log, whether or
    /// not it can be copied now. If one of its files was taken away, none is deleted, and the log is copied
    /// only if the database itself is still in place, and the log whole: copied up to where it was cut off, it would leave pages
    /// that do not belong together.
    package func close() {
        guard !isClosed else { return }
        rollback()
        isClosed = true
        // Its connection is of no use to anybody from here on.
        home = nil
        finishStatements()
        let loss = loss()
        if loss != nil { csqlite_keep_log_on_close(handle) }
        if mode == .readWriteCreate || mode == .copy, loss?.what ?? .besides == .besides {
            sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
        }
        sqlite3_close(handle)
        files = nil
    }

    /// Which of its files was taken away, or cut off, since it was opened; nil for none, for a reader, and once it is closed.
    ///
    /// `afterCommit`: the log was just written, and so was looked at.
    package func loss(afterCommit: Bool = false) -> OpenedFiles.Loss? {
        files?.loss(isLogCut: is_log_cut(handle, afterCommit ? 0 : 1) != 0)
    }

    // MARK: - Statements

    /// The compiled form of `sql`, one statement; compiled on first use and kept until `close`.
    package func prepare(_ sql: String) throws(DatabaseError) -> Statement {
        let place = sql.place
        if let place, let known = statementsByPlace[place], known.sql.utf8.count == sql.utf8.count {
            return known.statement
        }
        let statement: Statement
        if let known = statements[sql] { statement = known } else { statement = try compile(sql) }
        // A text that is made anew each time has many addresses, of which none comes again.
        if let place, statement.placesKept < Self.mostPlaces {
            statement.placesKept += 1
            statementsByPlace[place] = (sql, statement)
        }
        return statement
    }

    /// How many addresses of one text are kept.
    private static let mostPlaces = 4

    private func finishStatements() {
        for statement in statements.values { statement.finish() }
        statements = [:]
        statementsByPlace = [:]
    }

    private func compile(_ sql: String) throws(DatabaseError) -> Statement {
        // Using a closed connection is undefined in SQLite, so it must not get that far.
        precondition(!isClosed, "the database is closed: \(path)")
        var prepared: OpaquePointer?
        let isWhole = sql.withCString { text in
            var rest: UnsafePointer<CChar>?
            let flags = UInt32(SQLITE_PREPARE_PERSISTENT)
            sqlite3_prepare_v3(handle, text, -1, flags, &prepared, &rest)
            return rest.map { strspn($0, " \n\t;") == strlen($0) } ?? true
        }
        guard let prepared else { throw DatabaseError(of: handle, sql: sql, path: path) }
        // SQLite stops reading after the first statement, and the others would never be run.
        precondition(isWhole, "more than one statement in: \(sql)")
        let statement = Statement(owning: prepared, sql: sql, path: path)
        statements[sql] = statement
        return statement
    }

    /// Runs every statement of a script, and drops what rows they yield.
    package func execute(_ sql: String) throws(DatabaseError) {
        // As in `compile`.
        precondition(!isClosed, "the database is closed: \(path)")
        guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else {
            throw DatabaseError(of: handle, sql: sql, path: path)
        }
    }

    /// Rows that the last INSERT, UPDATE or DELETE changed.
    package var changes: Int64 { sqlite3_changes64(handle) }

    /// The row id of the last INSERT that succeeded.
    package var lastInsertRowID: Int64 { sqlite3_last_insert_rowid(handle) }

    /// Throws a failed read of a page, of which a check has said in a row alone that the page is damaged.
    package func requirePages() throws(DatabaseError) {
        let check = "PRAGMA integrity_check"
        if let unread = DatabaseError.unreadPage(handle, sql: check, path: path) { throw unread }
    }

    // MARK: - Transactions

    /// Whether a transaction is open; a closed connection has none.
    ///
    /// False as well after SQLite has undone the whole of it by itself, as a full disk may make it
    /// do: https://www.sqlite.org/lang_transaction.html#response_to_errors_within_a_transaction
    package var isInTransaction: Bool { !isClosed && sqlite3_get_autocommit(handle) == 0 }

    /// Notes that a transaction begins, or that it is committed.
    ///
    /// SQLite may have undone the one before by itself: one that was not committed counts as undone.
    func noteTransaction(isCommitted: Bool) {
        if !isCommitted, !self.isCommitted { undone += 1 }
        self.isCommitted = isCommitted
    }

    /// Notes that a part of the transaction was undone.
    func noteUndone() { undone += 1 }

    /// Whether no other connection writes what this one sees.
    package var isOnlyWriter: Bool { mode != .readOnly && mode != .check }

    /// Undoes the transaction, if there is one.
    package func rollback() {
        undone += 1
        home?.abandon()
        guard isInTransaction else { return }
        // ROLLBACK cannot fail in a transaction: SQLite drops its pages and reports trouble that
        // the statement before it met, which has been thrown by now.
        sqlite3_exec(handle, "ROLLBACK", nil, nil, nil)
    }
}

extension String {
    /// The address of its bytes in memory; nil for a string that holds its bytes in the value.
    fileprivate var place: UnsafeRawPointer? {
        // Strings of up to 15 bytes may be held in the value, which is on the stack.
        guard utf8.count > 15 else { return nil }
        return utf8.withContiguousStorageIfAvailable { $0.baseAddress.map(UnsafeRawPointer.init) }
            ?? nil
    }
}
