// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import SQLite
@testable import TimerD

@Suite("Database") struct DatabaseTests {
    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file("timerd.db")
    }

    @Test(
        "The connection that writes is set up for durability and little memory",
        arguments: [
            ("synchronous", 2), ("foreign_keys", 1), ("busy_timeout", 1000),
            ("cache_size", -2048), ("journal_size_limit", 16_777_216),
            ("application_id", 1_953_329_764),
        ]
    )
    func settings(pragma: String, expected: Int) throws {
        let database = try Database(path: path, mode: .readWriteCreate)
        let value = try database.prepare("PRAGMA " + pragma).value(as: Int.self)
        #expect(value == expected)
    }

    @Test("A new database and the files beside it are their owner's alone, whatever the umask")
    func privateFiles() throws {
        let database = try Database(path: path, mode: .readWriteCreate)
        try database.execute("CREATE TABLE t (a INTEGER)")
        for name in ["timerd.db", "timerd.db-wal", "timerd.db-shm"] {
            #expect(try folder.mode(of: name) == 0o600, "\(name)")
        }
    }

    @Test("What was committed is there when the database is opened again")
    func reopens() throws {
        do {
            let database = try Database(path: path, mode: .readWriteCreate)
            try database.execute("CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (7)")
        }
        let database = try Database(path: path, mode: .readWriteCreate)
        #expect(try database.prepare("SELECT a FROM t").value(as: Int.self) == 7)
    }

    @Test("Closing moves the log into the file and loses what is not committed")
    func closes() throws {
        let database = try Database(path: path, mode: .readWriteCreate)
        try database.execute("CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (7)")
        try database.begin()
        try database.execute("INSERT INTO t VALUES (8)")
        database.close()
        database.close()
        #expect(try folder.contents().keys.sorted() == ["timerd.db"])
        let reader = try Database(path: path, mode: .readOnly)
        #expect(try reader.prepare("SELECT a FROM t").all { try $0.get(0) } == [7])
    }

    @Test("A statement is compiled once")
    func cachesStatements() throws {
        let database = try Database(path: path, mode: .readWriteCreate)
        let first = try database.prepare("SELECT 1")
        #expect(try database.prepare("SELECT 1") === first)
        #expect(try database.prepare("SELECT 2") !== first)
    }

    @Test("The number of changed rows and the last row id are those of the last write")
    func countsChanges() throws {
        let database = try Database(path: path, mode: .readWriteCreate)
        try database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER)")
        try database.prepare("INSERT INTO t (a) VALUES (?1), (?1), (?1)").run(5)
        #expect(database.changes == 3)
        #expect(database.lastInsertRowID == 3)
        try database.prepare("UPDATE t SET a = 6 WHERE id > 1").run()
        #expect(database.changes == 2)
    }

    @Test("A savepoint that throws undoes what it changed and nothing else")
    func savepoints() throws {
        struct Refused: Error {}
        let database = try Database(path: path, mode: .readWriteCreate)
        try database.execute("CREATE TABLE t (a INTEGER)")
        let insert = try database.prepare("INSERT INTO t VALUES (?)")
        try database.begin()
        try insert.run(1)
        #expect(throws: Refused.self) {
            try database.savepoint {
                try insert.run(2)
                try database.savepoint { try insert.run(3) }
                throw Refused()
            }
        }
        try database.savepoint {
            try insert.run(4)
            #expect(throws: Refused.self) {
                try database.savepoint {
                    try insert.run(5)
                    throw Refused()
                }
            }
        }
        try database.commit()
        #expect(try database.prepare("SELECT a FROM t").all { try $0.get(0) } == [1, 4])
        #expect(!database.isInTransaction)
    }

    @Test("A reader sees one committed state and never waits for the writer")
    func readsBesideWriter() throws {
        let writer = try Database(path: path, mode: .readWriteCreate)
        try writer.execute("CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1)")
        let reader = try Database(path: path, mode: .readOnly)
        let count = try reader.prepare("SELECT count(*) FROM t")
        try reader.beginReading()
        #expect(try count.value(as: Int.self) == 1)
        try writer.begin()
        try writer.execute("INSERT INTO t VALUES (2)")
        #expect(try count.value(as: Int.self) == 1)
        try writer.commit()
        #expect(try count.value(as: Int.self) == 1)
        reader.rollback()
        #expect(try count.value(as: Int.self) == 2)
    }

    @Test("A read-only connection changes nothing")
    func readOnly() throws {
        let writer = try Database(path: path, mode: .readWriteCreate)
        try writer.execute("CREATE TABLE t (a INTEGER)")
        let reader = try Database(path: path, mode: .readOnly)
        let error = #expect(throws: DatabaseError.self) {
            try reader.execute("INSERT INTO t VALUES (1)")
        }
        #expect(error?.isReadOnly == true)
    }

    @Test("Another connection's lock is waited for, then reported as busy")
    func busy() throws {
        let writer = try Database(path: path, mode: .readWriteCreate)
        let outsider = try Database(path: path, mode: .readWriteCreate)
        try outsider.begin()
        let start = ContinuousClock.now
        let error = #expect(throws: DatabaseError.self) { try writer.begin() }
        #expect(error?.isBusy == true)
        #expect(ContinuousClock.now - start >= .milliseconds(900))
        outsider.rollback()
        try writer.begin()
    }

    @Test("The log is moved into the file when asked for, and not by a commit")
    func checkpoints() throws {
        let database = try Database(path: path, mode: .readWriteCreate)
        try database.execute("CREATE TABLE t (a BLOB)")
        let before = try folder.size(of: "timerd.db")
        // In pages that follow each other, with four bytes of each for the number of the next.
        let pages = (4 << 20) / DatabaseFile.pageSize - 1
        try database.prepare("INSERT INTO t VALUES (?)")
            .run([UInt8](repeating: 1, count: pages * (DatabaseFile.pageSize - 4)))
        #expect(try folder.size(of: "timerd.db") == before)
        try database.prepare("INSERT INTO t VALUES (?)").run([1, 2, 3] as [UInt8])
        #expect(try folder.size(of: "timerd.db") == before)
        database.checkpointIfDue()
        let copied = try folder.size(of: "timerd.db") ?? 0
        #expect(copied > pages * DatabaseFile.pageSize)
        // Now that it is copied, the log is written from its beginning again.
        let logged = try folder.size(of: "timerd.db-wal")
        try database.prepare("INSERT INTO t VALUES (?)").run([4] as [UInt8])
        #expect(try folder.size(of: "timerd.db-wal") == logged)
    }

    @Test("A second statement in one text is a bug, and stops the program")
    func oneStatement() async {
        expectStopped(
            await #expect(processExitsWith: .failure) {
                let database = try openUnlinked()
                _ = try database.prepare("SELECT 1; SELECT 2")
            }
        )
    }
}
