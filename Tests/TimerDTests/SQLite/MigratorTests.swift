// SPDX-License-Identifier: Apache-2.0

import Migrations
import Testing

@testable import SQLite
@testable import TimerD

@Suite("Migrator") struct MigratorTests {
    private let folder: TemporaryFolder
    private let path: String

    private static let first = Migration(
        number: 1,
        name: "create_t",
        sql: "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT); INSERT INTO t VALUES (1, 'one');"
    )
    private static let second = Migration(
        number: 2,
        name: "add_b",
        sql: "ALTER TABLE t ADD COLUMN b TEXT; UPDATE t SET b = a;"
    )

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file("timerd.db")
    }

    private func open() throws -> Database {
        try Database(path: path, mode: .readWriteCreate)
    }

    private func version(_ database: Database) throws -> Int? {
        try database.prepare("PRAGMA user_version").value()
    }

    private func schema(_ database: Database) throws -> [String] {
        try database.prepare("SELECT sql FROM sqlite_schema ORDER BY name").all { try $0.get(0) }
    }

    @Test("A new database gets every migration, and its version is the last one's number")
    func migratesNew() throws {
        let database = try open()
        try Migrator([Self.first, Self.second]).migrate(database)
        #expect(try version(database) == 2)
        #expect(try database.prepare("SELECT b FROM t").value() == "one")
    }

    @Test("An older database gets what it lacks, and keeps its rows")
    func migratesOlder() throws {
        try Migrator([Self.first]).migrate(open())
        let database = try open()
        try database.execute("INSERT INTO t VALUES (2, 'two')")
        try Migrator([Self.first, Self.second]).migrate(database)
        #expect(try version(database) == 2)
        let rows: [String] = try database.prepare("SELECT b FROM t").all { try $0.get(0) }
        #expect(rows == ["one", "two"])
    }

    @Test("A database that is up to date is not written")
    func leavesCurrent() throws {
        try Migrator([Self.first]).migrate(open())
        let before = try folder.contents()
        try Migrator([Self.first]).migrate(open())
        #expect(try folder.contents() == before)
    }

    @Test("A newer database is refused, naming it and both versions, and is left as it was")
    func refusesNewer() throws {
        try Migrator([Self.first, Self.second]).migrate(open())
        let before = try folder.contents()
        expectError(
            "database '\(path)' has schema version 2, and this timerd knows versions up to 1;"
                + " run a newer timerd"
        ) {
            try Migrator([Self.first]).migrate(open())
        }
        #expect(try folder.contents() == before)
    }

    @Test(
        "A version that no database with tables has is refused for good, and nothing is changed",
        arguments: [0, -1, -2_147_483_647]
    )
    func refusesDamaged(version: Int) throws {
        let database = try open()
        try Migrator([Self.first]).migrate(database)
        try database.execute("PRAGMA user_version = \(version)")
        database.close()
        let before = try folder.contents()
        let error = #expect(throws: DatabaseError.self) {
            try Migrator([Self.first, Self.second]).migrate(open())
        }
        let words = "has schema version \(version), accepted are 1 to 2, and 0 of one without "
        #expect(error?.sentence.contains(words) == true)
        #expect(error.map { DaemonError(starting: $0).status } == .configuration)
        #expect(try folder.contents() == before)
    }

    @Test(
        "A migration that fails leaves the database as it was",
        arguments: [
            "CREATE TABLE u (a); INSERT INTO t VALUES (3, 'x'); SELEKT",
            "DELETE FROM t; INSERT INTO t VALUES (1, 'x'), (1, 'y');",
        ]
    )
    func undoesFailed(sql: String) throws {
        let broken = Migration(number: 3, name: "break_t", sql: sql)
        let database = try open()
        try Migrator([Self.first, Self.second]).migrate(database)
        let before = try schema(database)
        let error = #expect(throws: DatabaseError.self) {
            try Migrator([Self.first, Self.second, broken]).migrate(database)
        }
        #expect(
            error?.description.hasPrefix(
                "cannot migrate database '\(path)' to version 3 ('break_t'): "
            ) == true
        )
        database.close()
        let reopened = try open()
        #expect(try version(reopened) == 2)
        #expect(try schema(reopened) == before)
        #expect(try reopened.prepare("SELECT a FROM t").all { try $0.get(0) } == ["one"])
    }

    @Test("When the second of two fails, neither is there")
    func allOrNothing() throws {
        let broken = Migration(number: 3, name: "break", sql: "nonsense")
        try Migrator([Self.first]).migrate(open())
        let before = try folder.contents()
        let database = try open()
        #expect(throws: DatabaseError.self) {
            try Migrator([Self.first, Self.second, broken]).migrate(database)
        }
        database.close()
        #expect(try folder.contents() == before)
    }

    private static let withReferences = Migration(
        number: 1,
        name: "create",
        sql: """
            CREATE TABLE t (id INTEGER PRIMARY KEY);
            CREATE TABLE u (t INTEGER REFERENCES t (id) ON DELETE CASCADE);
            INSERT INTO t VALUES (1);
            INSERT INTO u VALUES (1);
            """
    )

    @Test("A table may be made anew without losing the rows that refer to it")
    func rebuildsTable() throws {
        let rebuild = Migration(
            number: 2,
            name: "rebuild_t",
            sql: """
                CREATE TABLE t2 (id INTEGER PRIMARY KEY, a TEXT);
                INSERT INTO t2 SELECT id, 'a' FROM t;
                DROP TABLE t;
                ALTER TABLE t2 RENAME TO t;
                """
        )
        let database = try open()
        try Migrator([Self.withReferences, rebuild]).migrate(database)
        #expect(try database.prepare("SELECT count(*) FROM u").value() == 1)
        #expect(try database.prepare("PRAGMA foreign_keys").value(as: Bool.self) == true)
        let refused = #expect(throws: DatabaseError.self) {
            try database.execute("INSERT INTO u VALUES (9)")
        }
        #expect(refused?.codeName == "SQLITE_CONSTRAINT_FOREIGNKEY")
    }

    @Test("A migration that leaves a row without the one it refers to fails")
    func checksReferences() throws {
        let orphan = Migration(number: 2, name: "orphan", sql: "DELETE FROM t")
        let database = try open()
        try Migrator([Self.withReferences]).migrate(database)
        expectError(
            "cannot migrate database '\(path)' to version 2 ('orphan'):"
                + " a row of 'u' refers to one that is missing"
        ) {
            try Migrator([Self.withReferences, orphan]).migrate(database)
        }
        #expect(try database.prepare("SELECT count(*) FROM t").value() == 1)
    }

    @Test("Migrations that are not numbered 1, 2, 3 stop the program")
    func numbering() async {
        expectStopped(
            await #expect(processExitsWith: .failure) {
                _ = Migrator([Migration(number: 2, name: "", sql: "")])
            }
        )
    }

    @Test("The migrations of this program make a database, one by one, of the stated fingerprints")
    func embedded() throws {
        let all = Migrations.all.map { Migration(number: $0.number, name: $0.name, sql: $0.sql) }
        for count in 1...all.count {
            let database = try open()
            try Migrator(Array(all.prefix(count))).migrate(database)
            let made = try database.schemaFingerprint()
            #expect(
                made == Migrations.all[count - 1].fingerprint,
                "migrations/Migrations.swift: that of \(count) is 0x\(String(made, radix: 16))"
            )
        }
        #expect(try version(open()) == all.count)
    }

    /// `first`, as a build has it that made the database at `path`.
    private func stated() throws -> Migration {
        let database = try open()
        try Migrator([Self.first]).migrate(database)
        return Migration(
            number: Self.first.number,
            name: Self.first.name,
            sql: Self.first.sql,
            fingerprint: try database.schemaFingerprint()
        )
    }

    @Test(
        "A schema of the same number that is another build's is refused for good, and nothing is changed",
        arguments: [
            "ALTER TABLE t ADD COLUMN c TEXT", "CREATE INDEX t_by_a ON t (a)", "DROP TABLE t",
            "CREATE TRIGGER u AFTER INSERT ON t BEGIN DELETE FROM t; END",
        ]
    )
    func refusesOtherBuild(change: String) throws {
        let first = try stated()
        let database = try open()
        try database.execute(change)
        database.close()
        let before = try folder.contents()
        let error = #expect(throws: DatabaseError.self) {
            try Migrator([first, Self.second]).migrate(open())
        }
        let words =
            "database '\(path)' has schema version 1, and was made by another build of that number"
        #expect(error?.sentence.hasPrefix(words) == true, "\(error as Any)")
        // Also of a backup that is to be restored, which nobody is to move away.
        #expect(error?.sentence.hasSuffix("it needs the timerd that made it") == true)
        #expect(error.map { DaemonError(starting: $0).status } == .configuration)
        #expect(try folder.contents() == before)
    }

    @Test("Migrations that make another schema than is stated are refused, with nothing made")
    func refusesOwnSlip() throws {
        let slip = Migration(
            number: Self.first.number,
            name: Self.first.name,
            sql: Self.first.sql,
            fingerprint: 1
        )
        let database = try open()
        expectError(
            "the migrations of this timerd make another schema than it states;"
                + " database '\(path)' was left as it was"
        ) {
            try Migrator([slip]).migrate(database)
        }
        database.close()
        let reopened = try open()
        #expect(try version(reopened) == 0)
        #expect(try schema(reopened).isEmpty)
    }

    @Test("What SQLite has made itself, and what a backup has written, is no other build's")
    func acceptsOwn() throws {
        let first = try stated()
        let database = try open()
        try database.execute("ANALYZE")
        try Migrator([first]).migrate(database)
        let copy = folder.file("copy.db")
        try database.prepare("VACUUM INTO ?1").run(copy)
        try Migrator([first]).migrate(Database(path: copy, mode: .readWriteCreate))
    }
}
