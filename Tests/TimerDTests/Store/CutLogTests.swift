// SPDX-License-Identifier: Apache-2.0

import Glibc
import Locks
import Testing

@testable import SQLite
@testable import TimerD

/// Somebody truncates the write-ahead log of an open database.
@Suite("A log that is cut off", .timeLimit(.minutes(1))) struct CutLogTests {
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
        let loss = try #require(database.loss())
        #expect(loss.text == "'\(path)-wal' was cut off")
        #expect(throws: DatabaseError.self) { try Self.insert(22...22, into: database) }
        let left = try logSize()
        database.close()
        #expect(try logSize() == left, "it is neither copied nor deleted")

        try checkStart(hasTable: halves > 0)
    }

    /// That a start finds the first of twenty rows, and no damage.
    private func checkStart(hasTable: Bool) throws {
        let later = try open()
        defer { later.close() }
        let check = try later.prepare("PRAGMA integrity_check(100)").value(as: String.self)
        #expect(check == "ok")
        guard hasTable else { return }
        let ids: [Int] = try later.prepare("SELECT id FROM t ORDER BY id").all { try $0.get(0) }
        #expect(ids == Array(1...max(1, ids.count)) && ids.count < 20, "\(ids)")
    }

    @Test("A log that is cut off while nothing is written is not copied at the end")
    func idle() throws {
        let database = try open()
        try database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a BLOB)")
        try Self.insert(1...20, into: database)
        #expect(database.loss() == nil)
        let left = try logSize() / 2
        #expect(truncate(path + "-wal", left) == 0)
        #expect(database.loss()?.text == "'\(path)-wal' was cut off")
        let before = try folder.contents()
        database.close()
        let after = try folder.contents()
        #expect(after["timerd.db"] == before["timerd.db"])
        #expect(after["timerd.db-wal"] == before["timerd.db-wal"])
        try checkStart(hasTable: true)
    }

    @Test(
        "It is told once, by the first request that cannot be read from it, or else at the end",
        arguments: [true, false]
    )
    func told(isAsked: Bool) async throws {
        let database = try Database(path: path, mode: .readWriteCreate)
        try database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a BLOB)")
        try Self.insert(1...20, into: database)
        // So that the next request reads pages from the log.
        try database.execute("PRAGMA shrink_memory")
        let losses = Locked<[String]>([])
        let thread = StoreThread(name: "test-store")
        let queue = WriteQueue(
            database: database,
            thread: thread,
            onTrouble: { _ in },
            onRecovered: {},
            onLost: { error in losses.withLock { $0.append(error.sentence) } }
        )
        #expect(truncate(path + "-wal", 0) == 0)
        if isAsked {
            await #expect(throws: DatabaseError.self) {
                try await queue.write { database in
                    try database.prepare("SELECT count(a) FROM t").value(as: Int.self)
                }
            }
        }
        let error = await #expect(throws: DatabaseError.self) { try await queue.close() }
        await thread.stop()
        #expect(error?.sentence.hasPrefix("'\(path)-wal' was cut off") == true)
        #expect(losses.withLock { $0.count } == 1)
        #expect(try logSize() == 0, "it is neither copied nor deleted")
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
        #expect(database.loss() == nil)
        #expect(try database.prepare("SELECT count(*) FROM t").value(as: Int.self) == 15)
    }
}
