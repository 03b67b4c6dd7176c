// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import SQLite
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

    /// Has a transaction that is larger than its cache write some of it to the log before its commit, which timerd
    /// does not (`Database.configureWriter`).
    private static func spill(_ database: Database, pages: Int = 500) throws {
        try database.execute("PRAGMA cache_size = \(pages); PRAGMA cache_spill = ON")
    }

    /// Crashes, and checks that a later start finds these rows, and `count` of them where `condition` holds.
    ///
    /// A recovery reads the log from its beginning.
    private static func crash(
        _ disk: CrashDisk,
        _ database: Database,
        losingPower: Bool,
        keeps ids: [Int],
        _ count: Int = 0,
        where condition: String = "false"
    ) throws {
        disk.crash()
        database.close()
        disk.restart(losingPower: losingPower)
        let later = try open(disk)
        defer { later.close() }
        try check(later)
        #expect(try Self.ids(later) == ids)
        let counted = try later.prepare("SELECT count(*) FROM t WHERE \(condition)")
        #expect(try counted.value(as: Int.self) == count)
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
            try Self.spill(database)
            try database.begin()
            for id in 1...1000 { try Self.insert(id, bytes: 6000, into: database) }
            for id in stride(from: 1, through: 1000, by: 7) {
                try database.prepare("UPDATE t SET a = ?2 WHERE id = ?1").run(id, [UInt8(1)])
            }
            try Self.check(database)
            try database.commit()
            let all = Array(1...1000)
            try Self.crash(
                disk,
                database,
                losingPower: true,
                keeps: all,
                143,
                where: "length(a) = 1"
            )
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
            try Self.crash(disk, database, losingPower: false, keeps: [1, 20])
        }
    }

    @Test("What was undone before it was written takes nothing from what comes after it")
    func undone() throws {
        try Self.with("undone") { disk, database in
            try Self.spill(database)
            try Self.insert(1, bytes: 100, into: database)
            let before = disk.operations
            try database.begin()
            // More than the cache holds, so that a part is in the log by now, and a part waits.
            for id in 2...700 { try Self.insert(id, bytes: 5000, into: database) }
            #expect(disk.operations > before + 2)
            database.rollback()
            for id in 2...20 { try Self.insert(id, bytes: 1000, into: database) }
            try Self.crash(disk, database, losingPower: true, keeps: Array(1...20))
        }
    }

    @Test("What was undone while it waited is not written over another connection's commit")
    func otherCommit() throws {
        try Self.with("other") { disk, database in
            for id in 1...60 { try Self.insert(id, bytes: 1500, into: database) }
            let other = try Self.open(disk)
            defer { other.close() }
            try Self.spill(database, pages: 10)
            try database.begin()
            for id in 1...60 {
                let value = [UInt8](repeating: 255, count: 1500)
                try database.prepare("UPDATE t SET a = ?2 WHERE id = ?1").run(id, value)
            }
            database.rollback()
            for id in 61...70 { try Self.insert(id, bytes: 1500, into: other) }
            #expect(try Self.ids(database) == Array(1...70))
            try Self.insert(71, bytes: 1500, into: database)
            #expect(try Self.ids(other) == Array(1...71))
            try Self.check(database)
            let undone = "hex(substr(a, 1, 1)) = 'FF'"
            try Self.crash(
                disk,
                database,
                losingPower: true,
                keeps: Array(1...71),
                0,
                where: undone
            )
        }
    }
}
