// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import SQLite
@testable import TimerD

/// Somebody truncates the write-ahead log of an open database.
@Suite("A log that is cut off") struct CutLogTests {
    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file("timerd.db")
    }

    private func open() throws -> Database {
        try Database(path: path, mode: .readWriteCreate)
    }

    private static func insert(_ numbers: ClosedRange<Int>, into database: Database) throws {
        for number in numbers {
            try database.prepare("INSERT INTO t VALUES (?1, ?2)")
                .run(number, [UInt8](repeating: 1, count: 3000))
        }
    }

    private func logSize() throws -> Int { try #require(try SystemDisk().size(of: path + "-wal")) }

    @Test(
        "No commit goes behind what is missing, and a start finds what was there up to it",
        arguments: [0, 1, 2]
    )
    func refused(halves: Int) throws {
        let database = try open()
        try database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a BLOB)")
        try Self.insert(1...20, into: database)
        let size = try logSize()
        // Of 2, by a byte alone.
        #expect(truncate(path + "-wal", halves == 2 ? size - 1 : size / 2 * halves) == 0)
        #expect(throws: DatabaseError.self) { try Self.insert(21...21, into: database) }
        let loss = try #require(database.loss)
        #expect(loss.text == "'\(path)-wal' was cut off")
        #expect(throws: DatabaseError.self) { try Self.insert(22...22, into: database) }
        let left = try logSize()
        database.close()
        #expect(try logSize() == left, "it is neither copied nor deleted")

        let later = try open()
        defer { later.close() }
        let check = try later.prepare("PRAGMA integrity_check(100)").value(as: String.self)
        #expect(check == "ok")
        guard halves > 0 else { return }
        let ids: [Int] = try later.prepare("SELECT id FROM t ORDER BY id").all { try $0.get(0) }
        #expect(ids == Array(1...max(1, ids.count)) && ids.count < 20, "\(ids)")
    }

    @Test("A log that is cut off when all of it is in the database, and by SQLite itself, is none")
    func copied() throws {
        let database = try open()
        defer { database.close() }
        try database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a BLOB)")
        try Self.insert(1...5, into: database)
        let other = try Outsider(path)
        try other.execute("PRAGMA wal_checkpoint(PASSIVE)")
        #expect(truncate(path + "-wal", 0) == 0)
        try Self.insert(6...10, into: database)
        try other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        try Self.insert(11...15, into: database)
        #expect(database.loss == nil)
        #expect(try database.prepare("SELECT count(*) FROM t").value(as: Int.self) == 15)
    }
}
