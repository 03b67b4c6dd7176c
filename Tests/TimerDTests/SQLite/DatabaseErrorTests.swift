// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import SQLite
@testable import TimerD

@Suite("DatabaseError") struct DatabaseErrorTests {
    @Test("A failed statement says code, name, reason and SQL")
    func describesStatement() throws {
        let folder = try TemporaryFolder()
        let database = try Database(path: folder.file("timerd.db"), mode: .readWriteCreate)
        try database.execute("CREATE TABLE jobs (name TEXT UNIQUE); INSERT INTO jobs VALUES ('a')")
        let error = #expect(throws: DatabaseError.self) {
            try database.prepare("INSERT INTO jobs\n    VALUES (?)").run("a")
        }
        #expect(
            error?.description
                == "SQLite error 2067 (SQLITE_CONSTRAINT_UNIQUE): UNIQUE constraint failed: jobs.name"
                + " - while executing `INSERT INTO jobs VALUES (?)`"
        )
        #expect(error?.path == database.path)
        #expect(
            error?.sentence
                == "database '\(database.path)': UNIQUE constraint failed: jobs.name"
                + " (SQLITE_CONSTRAINT_UNIQUE)"
        )
    }

    @Test("SQL that does not compile is quoted with the reason")
    func describesSyntaxError() throws {
        let folder = try TemporaryFolder()
        let database = try Database(path: folder.file("timerd.db"), mode: .readWriteCreate)
        let error = #expect(throws: DatabaseError.self) { try database.prepare("SELEKT 1") }
        #expect(
            error?.description
                == "SQLite error 1 (SQLITE_ERROR): near \"SELEKT\": syntax error"
                + " - while executing `SELEKT 1`"
        )
    }

    @Test("Long SQL is cut in the description and whole in the error")
    func cutsLongSQL() {
        let sql = "SELECT " + String(repeating: "x", count: 1000)
        let error = DatabaseError(code: 1, message: "m", sql: sql, path: "p")
        #expect(error.description.hasSuffix("xxx...`"))
        #expect(error.description.count < 300)
        #expect(error.sql == sql)
    }

    @Test("Damage behind a read that has failed, and goes well by then, is told as damage")
    func forgetsErrno() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("timerd.db")
        let database = try Database(path: path, mode: .readWriteCreate)
        defer { database.close() }
        try database.execute(
            """
            CREATE TABLE words (word TEXT);
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
                INSERT INTO words SELECT hex(zeroblob(500)) FROM n;
            PRAGMA wal_checkpoint(TRUNCATE);
            """
        )
        func read() throws -> Int? {
            // Else the pages would be those in memory.
            try database.execute("PRAGMA shrink_memory")
            return try database.prepare("SELECT sum(length(word)) FROM words").value(as: Int.self)
        }
        let file = try #require(try Self.descriptor(of: path))
        let kept = dup(file)
        defer { close(kept) }
        // Nothing is at the addresses of its first pages: a read of them fails with EIO.
        let unreadable = open("/proc/self/mem", O_RDONLY | O_CLOEXEC)
        defer { close(unreadable) }
        try #require(kept >= 0 && unreadable >= 0 && dup2(unreadable, file) == file)
        let failed = #expect(throws: DatabaseError.self) { try read() }
        #expect(failed?.isUnread == true, "\(String(describing: failed))")
        try #require(dup2(kept, file) == file)
        #expect(try read() == 200 * 1000)
        // A disk that does not give a page gives the file's end, by which its errno is forgotten; what was in its place here
        // gave neither. So the next error has it forgotten.
        #expect(throws: DatabaseError.self) { try database.prepare("SELEKT 1") }
        let size = lseek(kept, 0, SEEK_END)
        let damage = [UInt8](repeating: 0xee, count: Int(size / 2))
        #expect(pwrite(kept, damage, damage.count, size / 4) == damage.count)
        let damaged = #expect(throws: DatabaseError.self) { try read() }
        #expect(damaged?.isCorrupt == true, "\(String(describing: damaged))")
    }

    @Test(
        "A failed statement of a database in memory, which has no file to ask for an errno, is told as any"
    )
    func describesStatementInMemory() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("timerd.db")
        try Database(path: path, mode: .readWriteCreate).close()
        let database = try Database(inMemoryBeside: path)
        defer { database.close() }
        // Within a transaction its journal is open, which is in memory, too.
        try database.execute(
            "CREATE TABLE jobs (name TEXT UNIQUE); BEGIN; INSERT INTO jobs VALUES ('a')"
        )
        let error = #expect(throws: DatabaseError.self) {
            try database.prepare("INSERT INTO jobs VALUES (?)").run("a")
        }
        #expect(error?.message == "UNIQUE constraint failed: jobs.name")
    }

    /// Which of this process's descriptors is that of a file.
    private static func descriptor(of path: String) throws -> Int32? {
        var (wanted, found) = (stat(), stat())
        try #require(stat(path, &wanted) == 0)
        return (3..<4096).first { descriptor in
            fstat(descriptor, &found) == 0 && found.st_ino == wanted.st_ino
                && found.st_dev == wanted.st_dev
        }
    }

    @Test("Trouble with the file as a whole is a sentence and no more")
    func describesFile() {
        let error = DatabaseError(code: 14, message: "cannot open '/p': is a directory", path: "/p")
        #expect(error.description == "cannot open '/p': is a directory")
    }

    @Test(
        "An extended code is of the kind of its primary code",
        arguments: [
            (13, "full"), (778, "io"), (5, "busy"), (517, "busy"), (6, "busy"), (11, "corrupt"),
            (26, "corrupt"), (779, "corrupt"), (8, "readOnly"), (1544, "readOnly"),
            (19, "none"), (2067, "none"), (1, "none"),
        ] as [(Int32, String)]
    )
    func kinds(code: Int32, kind: String) {
        let error = DatabaseError(code: code, message: "", path: "")
        #expect(error.isFull == (kind == "full"))
        #expect(error.isIOError == (kind == "io"))
        #expect(error.isBusy == (kind == "busy"))
        #expect(error.isCorrupt == (kind == "corrupt"))
        #expect(error.isReadOnly == (kind == "readOnly"))
    }

    @Test(
        "An I/O error for want of space or quota, or at the limit of a file, is a full disk",
        arguments: [ENOSPC, EDQUOT, EFBIG]
    )
    func fullBelowSQLite(number: Int32) {
        let error = DatabaseError(code: 1034, systemError: number, message: "", path: "")
        #expect(error.isFull && error.isIOError)
    }

    @Test("A stop that could not store all says so in a sentence, and has its status")
    func stopping() {
        let full = DatabaseError(code: 13, message: "no room", sql: "COMMIT", path: "/t.db")
        let error = DaemonError(stopping: full)
        #expect(
            error.description
                == "stopped, but the last of what happened is not stored: "
                + "database '/t.db': no room (SQLITE_FULL)"
        )
        #expect(error.status == .inputOutput)
        #expect(DaemonError(stopping: error) == error)
        let other = DaemonError(stopping: CancellationError())
        #expect(other.description == "stopped, but not in order: CancellationError()")
        #expect(other.status == .inputOutput)
    }

    @Test(
        "A code has the name that sqlite3.h gives it, or its primary code's",
        arguments: [
            (5, "SQLITE_BUSY"), (517, "SQLITE_BUSY_SNAPSHOT"), (1034, "SQLITE_IOERR_FSYNC"),
            (65290, "SQLITE_IOERR"), (99, "unknown"),
        ] as [(Int32, String)]
    )
    func names(code: Int32, name: String) {
        #expect(DatabaseError(code: code, message: "", path: "").codeName == name)
    }
}
