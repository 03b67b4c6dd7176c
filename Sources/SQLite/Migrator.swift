// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Platform

/// One step of the schema: a file of `migrations/sql`.
package struct Migration: Sendable {
    /// 1 for the first, and one more for each that follows.
    let number: Int
    let name: String
    /// A script without BEGIN and COMMIT: it runs in a transaction that is not its own.
    let sql: String
    /// `Database.schemaFingerprint` of what it and those before it make; nil where any schema of its number is taken.
    package let fingerprint: UInt64?

    package init(number: Int, name: String, sql: String, fingerprint: UInt64? = nil) {
        (self.number, self.name, self.sql) = (number, name, sql)
        self.fingerprint = fingerprint
    }
}

/// Brings the schema of a database up to the newest migration.
package struct Migrator: Sendable {
    private let migrations: [Migration]

    /// `migrations` in order, all that were ever released.
    package init(_ migrations: [Migration]) {
        // They are part of the binary: a gap would be applied in one release and not in the next.
        precondition(
            migrations.enumerated().allSatisfy { $0.element.number == $0.offset + 1 },
            "migrations are numbered from 1 without a gap: \(migrations.map(\.number))"
        )
        self.migrations = migrations
    }

    /// Applies what is missing: all of it, or nothing, so that the program that made the database can
    /// still open it after an upgrade that failed.
    ///
    /// The database's `user_version` is the number of the last one applied.
    ///
    /// - Throws: what `check` throws, or if a migration fails or they make another schema than is stated, which leaves the file
    ///   as it was. The connection is then good for nothing but `close`.
    package func migrate(_ database: Database) throws(DatabaseError) {
        let version = try check(database)
        guard version < migrations.count else { return }
        // A table is altered by making it anew, and dropping the old one must not delete the rows that refer
        // to it (https://www.sqlite.org/lang_altertable.html, part 7). The pragma has no effect within a
        // transaction, so it is set around it.
        try database.execute("PRAGMA foreign_keys = OFF")
        try database.begin()
        do throws(DatabaseError) {
            for migration in migrations[version...] { try apply(migration, to: database) }
            try checkSchema(database)
            try database.commit()
        } catch {
            database.rollback()
            throw error
        }
        try database.execute("PRAGMA foreign_keys = ON")
    }

    /// Reads which schema the database has: the number of the last migration that was applied to it.
    ///
    /// - Throws: if the database is newer than this program, has what no program of this name has made, or was made by a
    ///   build whose migrations of that number were others.
    package func check(_ database: Database) throws(DatabaseError) -> Int {
        let version = try database.prepare("PRAGMA user_version").value(as: Int.self) ?? 0
        let schema = "database '\(database.path)' has schema version \(version)"
        guard version <= migrations.count else {
            throw DatabaseError(
                code: SQLITE_SCHEMA,
                message: "\(schema), and this timerd knows versions up to \(migrations.count);"
                    + " run a newer timerd",
                path: database.path
            )
        }
        var isOurs = version > 0
        if version == 0 { isOurs = try isEmpty(database) }
        guard isOurs else {
            throw DatabaseError(
                code: SQLITE_NOTADB,
                message: "\(schema),"
                    + " accepted are 1 to \(migrations.count), and 0 of one without tables; it was left alone;"
                    + " restore a backup, or move it away to begin anew",
                path: database.path
            )
        }
        guard version > 0, let fingerprint = migrations[version - 1].fingerprint else {
            return version
        }
        guard try database.schemaFingerprint() == fingerprint else {
            throw DatabaseError(
                code: SQLITE_SCHEMA,
                message: "\(schema), and was made by another build of that number,"
                    + " or changed by another program: its tables, indexes or triggers are not this timerd's;"
                    + " it needs the timerd that made it",
                path: database.path
            )
        }
        return version
    }

    /// Whether it has no tables: all of it is committed with its first version.
    private func isEmpty(_ database: Database) throws(DatabaseError) -> Bool {
        try database.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").value(as: Int.self) == nil
    }

    private func apply(_ migration: Migration, to database: Database) throws(DatabaseError) {
        do throws(DatabaseError) {
            try database.execute(migration.sql)
            // A pragma takes no bound value; this is a number of our own.
            try database.execute("PRAGMA user_version = " + String(migration.number))
            try checkForeignKeys(database, after: migration)
        } catch {
            throw DatabaseError(
                code: error.code,
                systemError: error.systemError,
                message: "cannot migrate database '\(database.path)' to version"
                    + " \(migration.number) ('\(migration.name)'): \(error.message)",
                path: database.path
            )
        }
    }

    /// Whether the migrations have made what this program states, and takes for its own at the next start.
    private func checkSchema(_ database: Database) throws(DatabaseError) {
        guard let stated = migrations.last?.fingerprint,
            try database.schemaFingerprint() != stated
        else { return }
        throw DatabaseError(
            code: SQLITE_SCHEMA,
            message: "the migrations of this timerd make another schema than it states;"
                + " database '\(database.path)' was left as it was",
            path: database.path
        )
    }

    private func checkForeignKeys(
        _ database: Database,
        after migration: Migration
    ) throws(DatabaseError) {
        let check = "SELECT \"table\" FROM pragma_foreign_key_check LIMIT 1"
        guard let table = try database.prepare(check).value(as: String.self) else { return }
        throw DatabaseError(
            code: 0,
            message: "a row of '\(table)' refers to one that is missing",
            path: database.path
        )
    }
}

extension Database {
    /// Of the words in which each table, index and trigger was made, but for what SQLite makes itself.
    ///
    /// Any change of these words is another one: no other build's tables are taken for this one's.
    package func schemaFingerprint() throws(DatabaseError) -> UInt64 {
        // SQLite keeps names that begin so for what it makes: https://www.sqlite.org/fileformat2.html#intschema
        let words = try prepare(
            "SELECT sql FROM sqlite_schema WHERE sql NOT NULL AND name NOT GLOB 'sqlite_*' ORDER BY name"
        )
        _ = words.begin()
        defer { words.reset() }
        var hash = FNV1a()
        while try words.step() {
            let text = try words.row.get(0, as: String.self)
            // A zero behind each, so that nothing passes from one to the next.
            hash.add(text.utf8)
            hash.add(0)
        }
        return hash.hash
    }
}
