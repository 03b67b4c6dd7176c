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
    /// How long the server may be silent.
    var limit = Self.standardLimit

    init(at path: String, _ migrations: [Migration] = .released) {
        (self.path, self.migrations) = (path, migrations)
    }

    /// How many rows are read or written at a time.
    static let portion = 10_000
    static let standardLimit = Duration.seconds(60)

    /// Makes the copy, and returns it with the number of the last transaction in it.
    ///
    /// This node leads: nobody else writes meanwhile. `disk`: where files are.
    func make(
        _ connection: PostgresConnection,
        node: String,
        epoch: Int64,
        on disk: any Disk = SystemDisk()
    ) throws -> (database: Database, tables: [SharedTable], number: Int64) {
        guard csqlite_has_sessions() != 0 else {
            throw refusal(
                "this SQLite was built without its session extension, SQLITE_ENABLE_SESSION"
            )
        }
        let (number, version, hasOtherOrigin) = try stored(connection)
        if let problem = Database.problem(withPlaceOfCopy: path) {
            throw refusal(problem, SQLITE_ERROR)
        }
        for ending in ["", "-wal", "-shm"] { unlink(path + ending) }
        let database = try Database(path: path, mode: .copy, on: disk)
        do {
            if version > 0 {
                try Migrator(Array(migrations.prefix(version))).migrate(database)
                if hasOtherOrigin { try markCopy(connection, Epoch(number: epoch, node: node)) }
                try load(SharedTable.all(of: database), into: database, connection, epoch: epoch)
            }
            try Migrator(migrations).migrate(database)
            let tables = try SharedTable.all(of: database)
            if version < migrations.count {
                try publish(
                    tables,
                    of: database,
                    connection,
                    Epoch(number: epoch, node: node),
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

    /// Puts the database that is in the place of the copy into PostgreSQL, and returns it.
    ///
    /// It takes the place of tables that are there, whose jobs are lost but for their numbers: these are not given out again.
    func adopt(
        _ connection: PostgresConnection,
        node: String,
        epoch: Int64
    ) throws -> Database {
        let (number, version, _) = try stored(connection)
        let database = try Database(path: path, mode: .copy)
        do {
            try Migrator(migrations).migrate(database)
            if version > 0 { try skipNumbers(in: database, connection) }
            try publish(
                SharedTable.all(of: database),
                of: database,
                connection,
                Epoch(number: epoch, node: node),
                after: number,
                version
            )
            return database
        } catch {
            database.close()
            throw error
        }
    }

    /// Has a database go on behind the numbers that the tables in PostgreSQL have given out.
    private func skipNumbers(in database: Database, _ connection: PostgresConnection) throws {
        let used = try connection.execute(Statements.usedNumbers, within: limit)
        try database.prepare(Statements.skipNumbers).run(
            used.integer(0, 0),
            used.integer(0, 1),
            used.integer(0, 2),
            used.integer(0, 3),
            used.integer(0, 4),
            used.integer(0, 5)
        )
    }

    /// The version of the schema that the tables in PostgreSQL have; 0 where there are none of jobs.
    ///
    /// - Throws: as `make`, for tables that this timerd cannot read.
    func storedVersion(_ connection: PostgresConnection) throws -> Int {
        try stored(connection).version
    }

    /// `hasOtherOrigin`: whether the tables were put in place from a dump, or their server took over from another, since a node
    /// led last, and they are not marked as a copy yet.
    ///
    /// - Throws: also for tables of a newer timerd, and of another build whose schema has the same number.
    private func stored(
        _ connection: PostgresConnection
    ) throws -> (number: Int64, version: Int, hasOtherOrigin: Bool) {
        let rows = try connection.execute(Statements.stored, within: limit)
        guard rows.count == 1, let number = rows.integer(0, 0), let version = rows.integer(0, 1)
        else {
            // Nothing that lasts: a restore may be about to bring it.
            let problem = "timerd.store in PostgreSQL has \(rows.count) rows, and should have one"
            throw refusal(problem, SQLITE_ERROR)
        }
        guard version <= migrations.count else {
            // Nothing that lasts: it gives back the lease, and carries its clients to a newer node that leads.
            throw refusal(
                "the jobs in PostgreSQL have schema version \(version), and this timerd knows"
                    + " versions up to \(migrations.count); run a newer timerd",
                SQLITE_ERROR
            )
        }
        try checkFingerprint(rows.integer(0, 3), version: Int(clamping: version))
        return (number, Int(clamping: version), rows.boolean(0, 2) == true)
    }

    /// Refuses tables that another build's migrations have made: what they hold may not fit into this one's.
    ///
    /// `stored`: the fingerprint of the schema that they were made from; nil where there is no place for one.
    private func checkFingerprint(_ stored: Int64?, version: Int) throws {
        let own = version > 0 ? fingerprint(of: version) : 0
        guard let own, stored != own else { return }
        guard version > 0 else {
            throw refusal(
                "the tables of the schema 'timerd' in PostgreSQL were made by another build, and hold no jobs;"
                    + " remove that schema",
                SQLITE_ERROR
            )
        }
        let words = stored.map { "the fingerprint \(Self.hexadecimal($0))" } ?? "no fingerprint"
        // Nothing that lasts, as above.
        throw refusal(
            "the jobs in PostgreSQL have schema version \(version) with \(words), and this timerd's has"
                + " \(Self.hexadecimal(own)): they were made by another build of that number;"
                + " run the timerd that made them, or remove the schema 'timerd' to begin anew without jobs",
            SQLITE_ERROR
        )
    }

    /// Of what the migrations up to a version make, as PostgreSQL has it; nil where any is taken, 0 stands for that there.
    private func fingerprint(of version: Int) -> Int64? {
        migrations[version - 1].fingerprint.map { Int64(bitPattern: $0) }
    }

    private static func hexadecimal(_ fingerprint: Int64) -> String {
        "0x" + String(UInt64(bitPattern: fingerprint), radix: 16)
    }

    /// Has the daemon skip the numbers that may have been given out and are not in these tables, as on a copy that a backup
    /// made: since a dump, or by a server whose last commits did not reach the one that was promoted.
    ///
    /// A promotion that lost nothing looks the same. In PostgreSQL, in one transaction, and before anything else is written
    /// there: whoever leads next finds it, too.
    private func markCopy(_ connection: PostgresConnection, _ epoch: Epoch) throws {
        try transact(connection, epoch) {
            try run("UPDATE timerd.store SET table_id = \(ClusterTables.origin)", on: connection)
            try run("UPDATE timerd.daemon_state SET copied_at_us = 0", on: connection)
        }
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
        try connection.script("SET enable_seqscan = on", within: limit)
        try database.fill(tables, epoch: epoch) { table, insert in
            try connection.readRows(table.reading, within: limit) { row in
                try insert { bind(row, table, to: $0) }
            }
        }
        try connection.script("SET enable_seqscan = off", within: limit)
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

    /// In which a node writes: it may until that has ended.
    private struct Epoch {
        var number: Int64
        var node: String
    }

    /// Has what `body` runs on the connection be one transaction of an epoch.
    ///
    /// - Throws: also where another node leads by now; then nothing was changed.
    private func transact(
        _ connection: PostgresConnection,
        _ epoch: Epoch,
        _ body: () throws -> Void
    ) throws {
        do {
            try run("BEGIN", on: connection)
            try run(
                PostgresHome.Statements.fence,
                [.integer(epoch.number), .text(epoch.node)],
                on: connection
            )
            try body()
            try run("COMMIT", on: connection)
        } catch {
            // try?: where the connection is lost, nothing is left to undo.
            try? run("ROLLBACK", on: connection)
            let state = (error as? PostgresError)?.sqlState
            guard state == PostgresHome.Statements.fenceState else { throw error }
            throw refusal("another node leads by now; nothing was changed", SQLITE_ERROR)
        }
    }

    private func run(
        _ sql: String,
        _ parameters: [PostgresValue] = [],
        on connection: PostgresConnection
    ) throws(PostgresError) {
        _ = try connection.execute(sql, parameters, within: limit)
    }

    /// Makes the tables there, with all rows of the copy, in one transaction.
    private func publish(
        _ tables: [SharedTable],
        of database: Database,
        _ connection: PostgresConnection,
        _ epoch: Epoch,
        after number: Int64,
        _ version: Int
    ) throws {
        try transact(connection, epoch) {
            try run(PostgresHome.Statements.count, [.integer(number + 1)], on: connection)
            for table in tables {
                // By their names, as no migration has removed a table: the schema may hold others, which somebody has added.
                if version > 0 { try run(table.removal, on: connection) }
                try run(table.creation, on: connection)
                try database.readRows(of: table, limit: Self.portion) {
                    values throws(DatabaseError) in
                    do throws(PostgresError) {
                        try run(table.writing, values, on: connection)
                    } catch {
                        throw refusal(error.message, SQLITE_IOERR)
                    }
                }
            }
            try run(
                "UPDATE timerd.store SET version = $1, fingerprint = $2",
                [
                    .integer(Int64(migrations.count)),
                    .integer(fingerprint(of: migrations.count) ?? 0),
                ],
                on: connection
            )
        }
    }

    enum Statements {
        /// As JSON: the fingerprint is null where another build has made the table without one.
        static let stored = """
            SELECT number, version, table_id <> \(ClusterTables.origin),
                (to_jsonb(store) ->> 'fingerprint')::bigint
            FROM timerd.store AS store
            """
        /// The numbers that were given out, and whether the tables are a copy's, whose original may have given out more.
        static let usedNumbers = """
            SELECT greatest(event_seq_end, (SELECT max(seq) + 1 FROM timerd.events)),
                greatest(jobs_through, (SELECT max(id) FROM timerd.jobs)),
                greatest(fires_through, (SELECT max(id) FROM timerd.fires)),
                greatest(runs_through, (SELECT max(id) FROM timerd.runs)),
                greatest(notices_through, (SELECT max(id) FROM timerd.notices)), copied_at_us
            FROM timerd.daemon_state
            """
        /// An empty table there leaves all as it is.
        static let skipNumbers = """
            UPDATE daemon_state SET event_seq_end = max(event_seq_end, coalesce(?1, 0)),
                jobs_through = max(jobs_through, coalesce(?2, 0)),
                fires_through = max(fires_through, coalesce(?3, 0)),
                runs_through = max(runs_through, coalesce(?4, 0)),
                notices_through = max(notices_through, coalesce(?5, 0)),
                copied_at_us = coalesce(copied_at_us, ?6)
            """
    }
}
