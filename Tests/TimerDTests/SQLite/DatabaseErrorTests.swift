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
