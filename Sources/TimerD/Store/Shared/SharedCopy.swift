// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Cluster
import Glibc
import Postgres
import SQLite

/// Makes the copy from which a node leads: all tables, as they are in PostgreSQL.
///
/// The first node finds none there, and makes them. A newer timerd makes them anew, with what its migrations make of the
/// rows; from then on an older one is refused.
struct SharedCopy {
    /// Where the copy is; one of before is removed, and anything else that is there is left alone.
    let path: String
    let migrations: [Migration]

    init(at path: String, _ migrations: [Migration] = .released) {
        self.path = path
        self.migrations = migrations
    }

    /// How many rows are read or written at a time.
    fileprivate static let portion = 10_000
    /// How long the server may be silent.
    private static let limit = Duration.seconds(60)

    /// Makes the copy, and returns it with the number of the last transaction in it.
    ///
    /// This node leads: nobody else writes meanwhile. `disk`: where files are. `adopting`: if PostgreSQL has no jobs yet, those
    /// of a database that is in the place of the copy become its first.
    func make(
        _ connection: PostgresConnection,
        node: String,
        epoch: Int64,
        on disk: any Disk = SystemDisk(),
        adopting: Bool = false
    ) throws -> (database: Database, tables: [SharedTable], number: Int64) {
        guard csqlite_has_sessions() != 0 else {
            throw refusal(
                "this SQLite was built without its session extension, SQLITE_ENABLE_SESSION"
            )
        }
        let (number, version, isRestored) = try stored(connection)
        guard version <= migrations.count else {
            // Nothing that lasts: it gives back the lease, and carries its clients to a newer node that leads.
            throw refusal(
                "the jobs in PostgreSQL have schema version \(version), and this timerd knows"
                    + " versions up to \(migrations.count); run a newer timerd",
                SQLITE_ERROR
            )
        }
        if version > 0 || !adopting {
            if let problem = Database.problem(withPlaceOfCopy: path) {
                throw refusal(problem, SQLITE_ERROR)
            }
            for ending in ["", "-wal", "-shm", ".new"] { unlink(path + ending) }
        }
        let database = try Database(path: path, mode: .copy, on: disk)
        do {
            if version > 0 {
                try Migrator(Array(migrations.prefix(version))).migrate(database)
                if isRestored { try markCopy(connection, epoch: epoch, node: node) }
                try load(SharedTable.all(of: database), into: database, connection, epoch: epoch)
            }
            try Migrator(migrations).migrate(database)
            let tables = try SharedTable.all(of: database)
            if version < migrations.count {
                try publish(
                    tables,
                    of: database,
                    connection,
                    [.integer(epoch), .text(node)],
                    after: number,
                    version
                )
                return (database, tables, number + 1)
            }
            return (database, tables, number)
        } catch {
            database.close()
            throw error
        }
    }

    /// `isRestored`: whether the tables were put in place from a dump, and are not marked as a copy yet.
    private func stored(
        _ connection: PostgresConnection
    ) throws -> (number: Int64, version: Int, isRestored: Bool) {
        let rows = try connection.execute(
            "SELECT number, version, table_id <> tableoid::bigint FROM timerd.store",
            within: Self.limit
        )
        guard rows.count == 1, let number = rows.integer(0, 0), let version = rows.integer(0, 1)
        else {
            throw refusal("timerd.store in PostgreSQL has \(rows.count) rows, and should have one")
        }
        return (number, Int(clamping: version), rows.boolean(0, 2) == true)
    }

    /// Has the daemon skip the numbers that may have been given out since a dump was made, as on a copy that a backup
    /// made.
    ///
    /// In PostgreSQL, and before anything else is written there: whoever leads next finds it, too.
    private func markCopy(_ connection: PostgresConnection, epoch: Int64, node: String) throws {
        _ = try connection.pipeline(
            [
                PostgresStatement(PostgresHome.Statements.fence, [.integer(epoch), .text(node)]),
                PostgresStatement("UPDATE timerd.store SET table_id = tableoid::bigint"),
                PostgresStatement("UPDATE timerd.daemon_state SET copied_at_us = 0"),
            ],
            within: Self.limit
        )
    }

    private func refusal(_ reason: String, _ code: CInt = SQLITE_SCHEMA) -> DatabaseError {
        DatabaseError(code: code, message: reason, path: path)
    }

    // MARK: - From PostgreSQL

    private func load(
        _ tables: [SharedTable],
        into database: Database,
        _ connection: PostgresConnection,
        epoch: Int64
    ) throws {
        // Whole tables, here alone: see `PostgresHome.connect`.
        try connection.script("SET enable_seqscan = on", within: Self.limit)
        try database.fill(tables, epoch: epoch) { table, insert in
            try connection.readRows(table.reading, within: Self.limit) { row in
                try insert { bind(row, table, to: $0) }
            }
        }
        try connection.script("SET enable_seqscan = off", within: Self.limit)
    }

    private func bind(
        _ row: borrowing PostgresRow,
        _ table: SharedTable,
        to statement: OpaquePointer
    ) {
        for (column, shape) in table.columns.enumerated() {
            let place = Int32(column + 1)
            switch shape.kind {
            case .integer:
                if let value = row.integer(column) { _ = value.bind(to: statement, at: place) }
            case .text:
                if let value = row.text(column) {
                    _ = SharedText.decode(value).bind(to: statement, at: place)
                }
            case .bytes:
                if let value = row.bytes(column) { _ = value.bind(to: statement, at: place) }
            }
        }
    }

    // MARK: - To PostgreSQL

    /// Makes the tables there, with all rows of the copy, in one transaction.
    private func publish(
        _ tables: [SharedTable],
        of database: Database,
        _ connection: PostgresConnection,
        _ lead: [PostgresValue],
        after number: Int64,
        _ version: Int
    ) throws {
        func run(_ sql: String, _ parameters: [PostgresValue] = []) throws(PostgresError) {
            _ = try connection.execute(sql, parameters, within: Self.limit)
        }
        try run("BEGIN")
        try run(PostgresHome.Statements.fence, lead)
        try run(PostgresHome.Statements.count, [.integer(number + 1)])
        if version > 0 { try removeTables(connection) }
        for table in tables {
            try run(table.creation)
            try database.readRows(of: table, limit: Self.portion) { values throws(DatabaseError) in
                do throws(PostgresError) {
                    try run(table.writing, values)
                } catch {
                    throw refusal(error.message)
                }
            }
        }
        try run("UPDATE timerd.store SET version = $1", [.integer(Int64(migrations.count))])
        try run("COMMIT")
    }

    private func removeTables(_ connection: PostgresConnection) throws(PostgresError) {
        let tables = try connection.execute(Statements.tables, within: Self.limit)
        for row in 0..<tables.count {
            guard let name = tables.text(row, 0) else { continue }
            let removal = SharedTable(name: name, columns: []).removal
            _ = try connection.execute(removal, within: Self.limit)
        }
    }

    /// Removes tables without jobs, which a node has made that led once: as if none ever had.
    func removeEmptyTables(
        _ connection: PostgresConnection,
        node: String,
        epoch: Int64
    ) throws(PostgresError) {
        func run(_ sql: String, _ parameters: [PostgresValue] = []) throws(PostgresError) {
            _ = try connection.execute(sql, parameters, within: Self.limit)
        }
        try run("BEGIN")
        try run(PostgresHome.Statements.fence, [.integer(epoch), .text(node)])
        try removeTables(connection)
        try run("UPDATE timerd.store SET version = 0")
        try run("COMMIT")
    }

    enum Statements {
        /// The tables of jobs, without those of the cluster itself.
        static let tables = """
            SELECT tablename::text FROM pg_tables WHERE schemaname = 'timerd'
                AND tablename NOT IN ('cluster', 'lease', 'nodes', 'store')
            """
    }
}

extension Database {
    /// Adds a row, whose columns are bound to the statement that it calls with.
    typealias Insertion = (_ bind: (OpaquePointer) -> Void) throws(DatabaseError) -> Void

    /// Fills the tables of a copy, in place of what its migrations have put there.
    ///
    /// `rows`: adds the rows of a table.
    func fill(
        _ tables: [SharedTable],
        epoch: Int64,
        rows: (SharedTable, Insertion) throws -> Void
    ) throws {
        csqlite_keep_rules(handle, 0)
        defer { csqlite_keep_rules(handle, 1) }
        for table in tables {
            try execute("DELETE FROM \"\(table.name)\"")
            let insertion = try prepare(table.localInsertion)
            var count = 0
            try begin()
            try rows(table) { (bind) throws(DatabaseError) in
                try insertion.withRaw { (statement) throws(DatabaseError) in
                    bind(statement)
                    guard sqlite3_step(statement) == SQLITE_DONE else {
                        throw DatabaseError(of: handle, sql: table.localInsertion, path: path)
                    }
                }
                count += 1
                if count % SharedCopy.portion == 0 {
                    try commit()
                    try begin()
                }
            }
            try commit()
        }
        // Numbers that were given out and whose rows are gone are in the tables, but for those that SQLite counts itself.
        try execute(
            "DELETE FROM sqlite_sequence;"
                + "INSERT INTO sqlite_sequence VALUES ('upload_parts', \(epoch << 32))"
        )
    }
}
