// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TimerD

/// The write-ahead log that is written in one piece for each commit.
@Suite("Gathered log", .timeLimit(.minutes(1))) struct GatheredLogTests {
    /// A database with a table, on a disk of its own.
    private static func with(
        _ name: String,
        _ body: (CrashDisk, Database) throws -> Void
    ) throws {
        let disk = CrashDisk(name: "gathered-\(name)", seed: 1)
        let database = try open(disk)
        defer { database.close() }
        try database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a BLOB)")
        try body(disk, database)
    }

    private static func open(_ disk: CrashDisk) throws -> Database {
        try Database(path: CrashDisk.database, mode: .readWriteCreate, on: disk)
    }

    private static func insert(_ id: Int, bytes: Int, into database: Database) throws {
        let value = [UInt8](repeating: UInt8(truncatingIfNeeded: id), count: bytes)
        try database.prepare("INSERT INTO t VALUES (?1, ?2)").run(id, value)
    }

    private static func ids(_ database: Database) throws -> [Int] {
        try database.prepare("SELECT id FROM t ORDER BY id").all { try $0.get(0) }
    }

    private static func check(_ database: Database) throws {
        let found = try database.prepare("PRAGMA integrity_check(100)").value(as: String.self)
        #expect(found == "ok")
    }

    @Test("A commit of several pages is one write and one sync, and another connection sees it")
    func onePiece() throws {
        try Self.with("piece") { disk, database in
            try database.begin()
            for id in 1...10 { try Self.insert(id, bytes: 3000, into: database) }
            let before = disk.operations
            try database.commit()
            #expect(disk.operations - before == 2)
            let reader = try Database(path: CrashDisk.database, mode: .readOnly, on: disk)
            defer { reader.close() }
            #expect(try Self.ids(reader) == Array(1...10))
        }
    }

    @Test("A transaction larger than the cache reads what it wrote, and changes it again")
    func larger() throws {
        try Self.with("larger") { disk, database in
            try database.begin()
            for id in 1...1000 { try Self.insert(id, bytes: 6000, into: database) }
            for id in stride(from: 1, through: 1000, by: 7) {
                try database.prepare("UPDATE t SET a = ?2 WHERE id = ?1").run(id, [UInt8(1)])
            }
            try Self.check(database)
            try database.commit()
            disk.crash()
            database.close()
            disk.restart(losingPower: true)
            let later = try Self.open(disk)
            defer { later.close() }
            try Self.check(later)
            #expect(try Self.ids(later) == Array(1...1000))
            let short = "SELECT count(*) FROM t WHERE length(a) = 1"
            #expect(try later.prepare(short).value(as: Int.self) == 143)
        }
    }

    @Test(
        "A commit that fails is undone as a whole, and nothing of it is written later",
        arguments: [CrashDisk.Fault.full, .noWrite, .noSync],
        [2000, 300_000, 4_000_000]
    )
    func failed(fault: CrashDisk.Fault, bytes: Int) throws {
        try Self.with("failed-\(fault)-\(bytes)") { disk, database in
            try Self.insert(1, bytes: 100, into: database)
            #expect(throws: DatabaseError.self) {
                try database.begin()
                disk.fail(at: disk.operations + 1, fault)
                for id in 2...10 { try Self.insert(id, bytes: bytes / 9, into: database) }
                try database.commit()
            }
            database.rollback()
            #expect(try Self.ids(database) == [1])
            disk.neverFail()
            disk.repair()
            try Self.insert(20, bytes: 100, into: database)
            #expect(try Self.ids(database) == [1, 20])
            // The log as a crash leaves it, which a recovery reads from its beginning.
            disk.crash()
            database.close()
            disk.restart(losingPower: false)
            let later = try Self.open(disk)
            defer { later.close() }
            try Self.check(later)
            #expect(try Self.ids(later) == [1, 20])
        }
    }

    @Test("What was undone before it was written takes nothing from what comes after it")
    func undone() throws {
        try Self.with("undone") { disk, database in
            try Self.insert(1, bytes: 100, into: database)
            try database.begin()
            // More than the cache holds, so that a part is in the log by now, and a part waits.
            for id in 2...700 { try Self.insert(id, bytes: 5000, into: database) }
            database.rollback()
            for id in 2...20 { try Self.insert(id, bytes: 1000, into: database) }
            disk.crash()
            database.close()
            disk.restart(losingPower: true)
            let later = try Self.open(disk)
            defer { later.close() }
            try Self.check(later)
            #expect(try Self.ids(later) == Array(1...20))
        }
    }
}
