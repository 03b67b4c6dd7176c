// SPDX-License-Identifier: Apache-2.0

import TestRandom
import Testing

@testable import SQLite
@testable import TimerD

/// Two connections that write in turn, with transactions larger than their caches, on a disk that fails.
@Suite("Gathered log, by chance", .timeLimit(.minutes(1))) struct GatheredLogRandomTests {
    /// A value: one byte so many times.
    private struct Value: Hashable {
        var count: Int
        var byte: UInt8

        var bytes: [UInt8] { [UInt8](repeating: byte, count: count) }
    }

    private typealias Rows = [Int: Value]

    private static func open(_ disk: CrashDisk) throws -> Database {
        let database = try Database(path: CrashDisk.database, mode: .readWriteCreate, on: disk)
        // Some of a transaction goes to the log before its commit, which timerd's do not.
        try database.execute("PRAGMA cache_size = 20; PRAGMA cache_spill = ON")
        return database
    }

    private static func rows(_ database: Database) throws -> Rows {
        let found = try database.prepare("SELECT id, a FROM t").all { row in
            let bytes = try row.get(1, as: [UInt8].self)
            return (try row.get(0, as: Int.self), Value(count: bytes.count, byte: bytes.first ?? 0))
        }
        // Not trapping: a table that is damaged may have a row twice.
        return Rows(found) { _, last in last }
    }

    private static func change(
        _ rows: inout Rows,
        in database: Database,
        _ random: inout SplitMix
    ) throws {
        // Pages that change in place, and none that comes or goes: then what undoes them reads none again.
        let isInPlace = Bool.random(using: &random)
        for _ in 0..<Int.random(in: 1...60, using: &random) {
            let id = Int.random(in: 1...80, using: &random)
            let byte = UInt8.random(in: 1...255, using: &random)
            if isInPlace {
                guard let value = rows[id] else { continue }
                let changed = Value(count: value.count, byte: byte)
                rows[id] = changed
                try database.prepare("UPDATE t SET a = ?2 WHERE id = ?1").run(id, changed.bytes)
            } else if Int.random(in: 0..<10, using: &random) == 0 {
                rows[id] = nil
                try database.prepare("DELETE FROM t WHERE id = ?1").run(id)
            } else {
                let value = Value(count: Int.random(in: 1...7000, using: &random), byte: byte)
                rows[id] = value
                try database.prepare("REPLACE INTO t VALUES (?1, ?2)").run(id, value.bytes)
            }
        }
    }

    @Test("What is there is what was committed, for both, and after a crash", arguments: 1...100)
    func life(seed: Int) throws {
        var random = SplitMix(seed: UInt64(seed))
        let disk = CrashDisk(name: "gathered-random-\(seed)", seed: UInt64(seed))
        let databases = try [Self.open(disk), Self.open(disk)]
        try databases[0].execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a BLOB)")
        var rows = Rows()
        // Commits that failed: one may be found after a crash, until another takes its place in the log.
        var failed: [Rows] = []
        for _ in 0..<40 {
            let database = try #require(databases.randomElement(using: &random))
            var changed = rows
            let isCommit = Int.random(in: 0..<3, using: &random) > 0
            if let fault = CrashDisk.Fault.allCases.randomElement(using: &random),
                Int.random(in: 0..<4, using: &random) == 0
            {
                disk.fail(at: disk.operations + Int64.random(in: 1...12, using: &random), fault)
            }
            do {
                // Then pages are read from the database, and no read has what waits for the log written.
                if Bool.random(using: &random) { try database.execute("PRAGMA wal_checkpoint") }
                try database.begin()
                try Self.change(&changed, in: database, &random)
                if Int.random(in: 0..<4, using: &random) == 0 {
                    #expect(try Self.rows(database) == changed)
                }
                if isCommit {
                    try database.commit()
                    (rows, failed) = (changed, [])
                }
            } catch is DatabaseError {
                if isCommit { failed.append(changed) }
            }
            database.rollback()
            disk.neverFail()
            disk.repair()
            // Not always: what an undone transaction left would be written before the other's next commit.
            guard Bool.random(using: &random) else { continue }
            for database in databases { #expect(try Self.rows(database) == rows) }
        }
        disk.crash()
        for database in databases { database.close() }
        disk.restart(losingPower: Bool.random(using: &random))
        let later = try Self.open(disk)
        defer { later.close() }
        let sound = try later.prepare("PRAGMA integrity_check(100)").value(as: String.self)
        #expect(sound == "ok")
        let found = try Self.rows(later)
        #expect(found == rows || failed.contains(found))
    }
}
