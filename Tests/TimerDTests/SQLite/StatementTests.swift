// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import SQLite
@testable import TimerD

@Suite("Statement") struct StatementTests {
    private let folder: TemporaryFolder
    private let database: Database

    init() throws {
        folder = try TemporaryFolder()
        database = try Database(path: folder.file("timerd.db"), mode: .readWriteCreate)
    }

    private func roundTrip<T: SQLBindable & SQLReadable & Equatable>(_ value: T) throws {
        let select = try database.prepare("SELECT ?1, ?1 IS NULL")
        let row = try select.first(value) { row in
            (try row.get(0, as: T.self), try row.get(1, as: Bool.self))
        }
        let (read, isNull) = try #require(row)
        #expect(read == value)
        #expect(!isNull)
    }

    @Test("An integer is read as it was bound", arguments: [0, 1, -1, Int64.min, .max])
    func integers(value: Int64) throws {
        try roundTrip(value)
        if abs(value / 4) < 1 << 60 { try roundTrip(Int(value)) }
    }

    @Test(
        "A count that nobody has counted up to cannot be read, and is told",
        arguments: [Int64.max, .min, 1 << 62, -1 << 62]
    )
    func beyondCounting(value: Int64) throws {
        let select = try database.prepare("SELECT ?1 AS count")
        let error = #expect(throws: DatabaseError.self) { try select.value(value, as: Int.self) }
        #expect(error?.message == "column 0 ('count') holds an integer, not Int: '\(value)'")
        #expect(error?.codeName == "SQLITE_MISMATCH")
        #expect(try select.value(value / 4, as: Int.self) == Int(value / 4))
    }

    @Test("A text is read as it was bound", arguments: ["", "a", "é€😀", "a\0b", "'; DROP TABLE t"])
    func texts(value: String) throws {
        try roundTrip(value)
        try roundTrip(String(repeating: value, count: 1000))
        // A substring's text may not be stored in one piece.
        try roundTrip(String(("x" + value).dropFirst()))
    }

    @Test("Bytes are read as they were bound", arguments: [[], [0], [1, 0, 255]] as [[UInt8]])
    func bytes(value: [UInt8]) throws {
        try roundTrip(value)
    }

    @Test("A truth is read as it was bound", arguments: [true, false])
    func truths(value: Bool) throws {
        try roundTrip(value)
    }

    @Test("NULL is nil, and only where nil is expected")
    func null() throws {
        let select = try database.prepare("SELECT ?1 AS name")
        let absent: String? = nil
        #expect(try select.first(absent) { try $0.get(0, as: Int?.self) } == .some(nil))
        #expect(try select.first(absent) { try $0.get(0, as: String?.self) } == .some(nil))
        #expect(try select.first("a") { try $0.get(0, as: String?.self) } == "a")
        let error = #expect(throws: DatabaseError.self) {
            try select.first(absent) { try $0.get(0, as: Int64.self) }
        }
        #expect(error?.message == "column 0 ('name') holds NULL, not Int64")
    }

    @Test(
        "A column of another type is an error that names both, never a converted value",
        arguments: [
            ("SELECT 'a'", "a text"), ("SELECT 1.5", "a float"), ("SELECT x'00'", "a blob"),
            ("SELECT NULL", "NULL"),
        ]
    )
    func mismatch(sql: String, type: String) throws {
        let select = try database.prepare(sql)
        let error = #expect(throws: DatabaseError.self) { try select.value(as: Int.self) }
        #expect(error?.message.contains("holds \(type), not Int") == true)
        #expect(error?.sql == sql)
    }

    @Test("The four ways to run a statement give nothing, the first, all, and each")
    func waysToRun() throws {
        try database.execute("CREATE TABLE t (a INTEGER)")
        try database.prepare("INSERT INTO t VALUES (?), (?), (?)").run(1, 2, 3)
        let select = try database.prepare("SELECT a FROM t WHERE a > ? ORDER BY a")
        #expect(try select.value(1) == 2)
        #expect(try select.value(9, as: Int.self) == nil)
        #expect(try select.first(0) { try $0.get(0, as: Int.self) } == 1)
        #expect(try select.first(9) { try $0.get(0, as: Int.self) } == nil)
        #expect(try select.all(1) { try $0.get(0, as: Int.self) } == [2, 3])
        var seen: [Int] = []
        try select.forEach(0) { seen.append(try $0.get(0)) }
        #expect(seen == [1, 2, 3])
    }

    @Test("A write that returns rows is carried out to its end by run")
    func runsToTheEnd() throws {
        try database.execute("CREATE TABLE t (a INTEGER)")
        try database.prepare("INSERT INTO t VALUES (1), (2), (3) RETURNING a").run()
        #expect(try database.prepare("SELECT count(*) FROM t").value(as: Int.self) == 3)
    }

    @Test("A statement can be used again after it failed, and holds no lock meanwhile")
    func resetsAfterFailure() throws {
        try database.execute("CREATE TABLE t (a INTEGER UNIQUE); INSERT INTO t VALUES (1), (2)")
        let insert = try database.prepare("INSERT INTO t VALUES (?)")
        let error = #expect(throws: DatabaseError.self) { try insert.run(1) }
        #expect(error?.code == 2067, "SQLITE_CONSTRAINT_UNIQUE")
        try insert.run(3)

        struct Enough: Error {}
        let select = try database.prepare("SELECT a FROM t ORDER BY a")
        #expect(throws: Enough.self) { try select.forEach(row: { _ in throw Enough() }) }
        // A statement that still stood on a row would keep this from succeeding.
        try database.execute("DROP TABLE t")
    }

    @Test("Too few or too many values are a bug, and stop the program")
    func valueCount() async {
        expectStopped(
            await #expect(processExitsWith: .failure) {
                let database = try openUnlinked()
                try database.prepare("SELECT ?1, ?2").run(1)
            }
        )
        expectStopped(
            await #expect(processExitsWith: .failure) {
                let database = try openUnlinked()
                try database.prepare("SELECT ?1").run(1, 2)
            }
        )
    }

    @Test("A text that is made anew stands for itself, wherever in memory that is")
    func texts() throws {
        let database = try openUnlinked()
        // Each is freed before the next, which often stands in the same place.
        for number in 0..<2000 {
            let found: Int? = try database.prepare("SELECT 1000000 + \(number + 1000)").value()
            #expect(found == 1_001_000 + number)
        }
        let kept = (0..<3).map { "SELECT 1000000 + \($0) AS kept" }
        for _ in 0..<2 {
            for (number, sql) in kept.enumerated() {
                let statement = try database.prepare(sql)
                #expect(try statement.value() == 1_000_000 + number)
                let copy = String(sql.reversed().reversed())
                #expect(try database.prepare(copy) === statement)
            }
        }
    }

    @Test("Running a statement inside itself, or after its database, stops the program")
    func misuse() async {
        expectStopped(
            await #expect(processExitsWith: .failure) {
                let database = try openUnlinked()
                let select = try database.prepare("SELECT 1")
                try select.forEach(row: { _ in try select.run() })
            }
        )
        expectStopped(
            await #expect(processExitsWith: .failure) {
                let database = try openUnlinked()
                let select = try database.prepare("SELECT 1")
                database.close()
                try select.run()
            }
        )
    }
}
