// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Glibc
import Platform
import SystemPackage

/// The file of a database before it is trusted to be there, to be ours, and to be sound.
///
/// Until that is known only a connection that cannot write touches it, and one that has not yet
/// executed any SQL: the first statement may already make files beside it or play back a log.
struct DatabaseFile {
    /// "tmrd": what timerd writes into byte 68 of its databases, so that it knows them again.
    ///
    /// https://www.sqlite.org/fileformat.html#application_id
    static let applicationID: UInt32 = 0x746d_7264
    /// "tmrc": what it writes there into the copy that a node of several hosts has, which counts for nothing without that.
    static let copyID: UInt32 = 0x746d_7263

    /// Of a new database, in bytes.
    ///
    /// A write of one job changes a few rows in each of six pages, and all of these go to the log. With pages of
    /// half SQLite's usual size that is half as much to write and to sync.
    static let pageSize = 2048

    let path: String
    let disk: any Disk

    /// A connection to the file, in a state where SQL may be run on it.
    func open(_ mode: Database.Mode) throws(DatabaseError) -> OpaquePointer {
        try refuseLogBesideLink()
        if try disk.size(of: path) == nil {
            guard mode == .readWriteCreate || mode == .copy else {
                throw refusal(SQLITE_CANTOPEN, "cannot open", because: Glibc.ENOENT)
            }
            try refuseLog(path + "-wal")
            try make(mode == .copy ? Self.copyID : Self.applicationID)
        }
        let reader = try connect(mode == .check ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY)
        // The log is the daemon's to copy into the file, also where this connection is the last one.
        if mode == .check { csqlite_keep_log_on_close(reader) }
        var writer: OpaquePointer?
        do throws(DatabaseError) {
            // Before the reader runs any SQL: if the database cannot be written, the files that the reader
            // may make beside it cannot be written either, and would stay so once the database's mode was put
            // right.
            if mode == .readWriteCreate || mode == .copy { writer = try connectForWriting() }
            try verify(reader)
        } catch {
            sqlite3_close(reader)
            sqlite3_close(writer)
            throw error
        }
        guard let writer else { return reader }
        sqlite3_close(reader)
        return writer
    }

    // MARK: - The file

    /// Makes a database without tables, which is complete and on disk before it gets its name.
    ///
    /// So whatever a crash leaves under that name was a database once.
    private func make(_ identifier: UInt32) throws(DatabaseError) {
        let new = DatabaseFile(path: path + ".new", disk: disk)
        if let size = try disk.size(of: new.path), try !new.isUnfinished(size) {
            throw refusal(
                SQLITE_NOTADB,
                "cannot create '\(path)': '\(new.path)' lies beside it with \(size) bytes, and was left alone;"
                    + " move it away, or restore it if it is a backup"
            )
        }
        do throws(DatabaseError) {
            // SQLite gives the files beside a database its mode.
            try disk.create(new.path)
        } catch {
            throw refusal(error.code, "cannot create", because: error.systemError)
        }
        let connection = try new.connectForWriting()
        // Without a journal: in a file that does not have its name yet, nothing is ever undone.
        let script = """
            PRAGMA journal_mode = OFF;
            PRAGMA page_size = \(Self.pageSize);
            PRAGMA application_id = \(identifier);
            """
        guard sqlite3_exec(connection, script, nil, nil, nil) == SQLITE_OK else {
            let error = DatabaseError(of: connection, sql: nil, path: path)
            sqlite3_close(connection)
            // SQLite has no errno where a write stopped half way, as at the limit of a file's size.
            let limit = error.isIOError && !error.isFull ? DatabaseError.fileLimit : ""
            throw refusal(error.code, "cannot create '\(path)': \(error.message)\(limit)")
        }
        sqlite3_close(connection)
        try disk.rename(new.path, to: path)
    }

    /// Whether it is what a crash has left of a database that `make` had not finished, of `size` bytes: a page at most, or
    /// the beginning of one.
    private func isUnfinished(_ size: Int) throws(DatabaseError) -> Bool {
        guard size > 0 else { return true }
        guard size <= Self.pageSize else { return false }
        let reader = try connect(SQLITE_OPEN_READONLY)
        defer { sqlite3_close(reader) }
        let start = try readStart(reader, count: min(size, Self.headerSize))
        // A loss of power may have left zeros.
        if start.allSatisfy({ $0 == 0 }) { return true }
        guard start.count == Self.headerSize else {
            return Self.magic.starts(with: start.prefix(Self.magic.count))
        }
        return Self.problem(with: start) == nil
    }

    /// Refuses a log that has bytes but no database.
    ///
    /// SQLite deletes the write-ahead log of a database that is missing or empty, and with it what was
    /// committed last.
    private func refuseLog(_ log: String) throws(DatabaseError) {
        guard let size = try disk.size(of: log), size > 0 else { return }
        throw refusal(
            SQLITE_NOTADB,
            "database '\(path)' is missing or empty, but '\(log)' holds \(size) bytes"
                + " of it; restore the database, or move both away"
        )
    }

    /// Refuses a log beside a symbolic link to the database: somebody has moved the file away from it, and put the link in
    /// its place.
    ///
    /// SQLite looks for the log beside the file itself, and what was committed last would be missing without a word.
    func refuseLogBesideLink() throws(DatabaseError) {
        var (links, file) = ([(path: String, target: String)](), path)
        // As many as the system follows: path_resolution(7).
        while links.count < 40, let target = disk.target(ofLink: file) {
            links.append((file, target))
            file = target
        }
        for link in links {
            let log = link.path + "-wal"
            guard let size = try disk.size(of: log), size > 0 else { continue }
            // Beside the link to the database may be one to its log.
            let own = try disk.identity(of: file + "-wal", isItself: false)
            guard try disk.identity(of: log, isItself: false) != own else { continue }
            throw refusal(
                SQLITE_NOTADB,
                "'\(link.path)' is a symbolic link to '\(link.target)', but '\(log)' holds \(size) bytes of a"
                    + " database that was there; put the database back, or move the log away"
            )
        }
    }

    // MARK: - The connection

    private static let configured: Void = { _ = csqlite_keep_no_account() }()

    private func connect(_ access: Int32) throws(DatabaseError) -> OpaquePointer {
        Self.configured
        var handle: OpaquePointer?
        let flags = access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        guard sqlite3_open_v2(path, &handle, flags, disk.vfs) == SQLITE_OK, let handle else {
            let error = DatabaseError(of: handle, sql: nil, path: path)
            sqlite3_close(handle)
            guard error.systemError == 0 else {
                throw refusal(error.code, "cannot open", because: error.systemError)
            }
            throw refusal(error.code, "cannot open '\(path)': \(error.message)")
        }
        // One daemon owns the database, but an administrator's sqlite3, or a backup, may lock it for a
        // moment. A command waits for that; after a second it is answered with "database is locked".
        sqlite3_busy_timeout(handle, 1000)
        return handle
    }

    private func connectForWriting() throws(DatabaseError) -> OpaquePointer {
        // SQLite opens a file that it may not write for reading, without an error, whatever the reason was: there may have been
        // no descriptor for a moment.
        for _ in 0..<2 {
            let writer = try connect(SQLITE_OPEN_READWRITE)
            if sqlite3_db_readonly(writer, "main") == 0 { return writer }
            sqlite3_close(writer)
            // Asked by name: a descriptor of ours would drop the locks of this process as it is closed.
            guard faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0 else {
                throw refusal(SQLITE_READONLY, "cannot write", because: errno)
            }
        }
        throw refusal(SQLITE_READONLY, "cannot write '\(path)': it opens for reading alone")
    }

    private func verify(_ reader: OpaquePointer) throws(DatabaseError) {
        let size = try disk.size(of: path) ?? 0
        guard size > 0 else {
            // The log lies beside the file itself; `path` may be a symbolic link to it.
            let file = sqlite3_db_filename(reader, "main")
            try refuseLog(String(cString: sqlite3_filename_wal(file)))
            throw refusal(
                SQLITE_NOTADB,
                "database '\(path)' is empty, and was left alone; restore a backup, or move it away to begin anew;"
                    + " a restore that was killed leaves it so, and what was there as '\(path).replaced-DATE'"
            )
        }
        let header =
            size < Self.headerSize ? [] : try readStart(reader, count: Self.headerSize)
        if let problem = Self.problem(with: header) {
            throw refusal(SQLITE_NOTADB, "'\(path)' \(problem)")
        }
        // Reads the schema, and with it the write-ahead log and the size of the file.
        let probe = "SELECT count(*) FROM sqlite_schema"
        guard sqlite3_exec(reader, probe, nil, nil, nil) != SQLITE_OK else { return }
        let error = DatabaseError(of: reader, sql: nil, path: path)
        // A crash left something to play back, which takes a connection that writes.
        if error.isReadOnly { return }
        guard error.isCorrupt else {
            throw refusal(error.code, "cannot read '\(path)': \(error.message)")
        }
        throw refusal(
            error.code,
            "database '\(path)' is corrupt (\(error.message)), and was left alone;"
                + " restore a backup, or move it away to begin anew"
        )
    }

    /// What a file of these first bytes is, if it is no database of timerd; nil if it is one.
    static func problem(with header: [UInt8]) -> String? {
        guard header.count >= headerSize, header.starts(with: magic) else {
            return "is not an SQLite database, and was left alone"
        }
        let identifier = identifier(in: header)
        guard identifier != applicationID, identifier != copyID else { return nil }
        return "is a database of another program (application id \(identifier)), and was left alone"
    }

    /// What the first 100 bytes say of whose database it is.
    private static func identifier(in header: [UInt8]) -> UInt32 {
        header[68..<72].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    }

    static func isOfCopy(_ header: [UInt8]) -> Bool {
        header.count >= headerSize && header.starts(with: magic) && identifier(in: header) == copyID
    }

    /// The first bytes of an open file, as many as it has at most; nil where they cannot be read.
    static func header(of descriptor: Int32) -> [UInt8]? {
        var header = [UInt8](repeating: 0, count: headerSize)
        let count = pread(descriptor, &header, header.count, 0)
        return count < 0 ? nil : Array(header.prefix(count))
    }

    /// In bytes: https://www.sqlite.org/fileformat.html#the_database_header.
    static let headerSize = 100
    private static let magic = Array("SQLite format 3\0".utf8)

    /// The first `count` bytes, as many as the file has at most.
    ///
    /// Through SQLite's own descriptor: closing one of ours would drop the locks of every
    /// connection that this process has to the file.
    private func readStart(
        _ reader: OpaquePointer,
        count: Int
    ) throws(DatabaseError) -> [UInt8] {
        var start = [UInt8](repeating: 0, count: count)
        var file: UnsafeMutablePointer<sqlite3_file>?
        sqlite3_file_control(reader, "main", SQLITE_FCNTL_FILE_POINTER, &file)
        guard let file, let methods = file.pointee.pMethods,
            methods.pointee.xRead(file, &start, Int32(count), 0) == SQLITE_OK
        else {
            let number = DatabaseError.lastErrno(reader, of: SQLITE_FCNTL_FILE_POINTER)
            throw refusal(SQLITE_IOERR, "cannot read", because: number)
        }
        return start
    }

    // MARK: - Refusals

    private func refusal(_ code: Int32, _ message: String) -> DatabaseError {
        DatabaseError(code: code, message: message, path: path)
    }

    private func refusal(_ code: Int32, _ failed: String, because number: Int32) -> DatabaseError {
        let text = Errno(rawValue: number).text
        return DatabaseError(
            code: code,
            systemError: number,
            message: "\(failed) '\(path)': \(text)",
            path: path
        )
    }
}
