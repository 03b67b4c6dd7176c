// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Postgres
import SQLite

/// Finds which rows a transaction changes, by SQLite's session extension: whichever statement or trigger did it.
///
/// What a savepoint has undone is none of it.
final class ChangedRows {
    private let tables: [String: SharedTable]
    private var session: OpaquePointer?

    init(_ tables: [SharedTable]) {
        self.tables = Dictionary(uniqueKeysWithValues: tables.map { ($0.name, $0) })
    }

    deinit { forget() }

    /// Begins to note; the transaction has been begun.
    func note(in database: Database) throws(DatabaseError) {
        forget()
        var session: OpaquePointer?
        var result = sqlite3session_create(database.handle, "main", &session)
        if result == SQLITE_OK { result = sqlite3session_attach(session, nil) }
        guard result == SQLITE_OK else {
            sqlite3session_delete(session)
            throw Self.failure(result, database)
        }
        self.session = session
    }

    /// Notes no more.
    func forget() {
        // Deleting none does nothing.
        if let session { sqlite3session_delete(session) }
        session = nil
    }

    /// What was changed, in the order of the tables' names.
    func tables(in database: Database) throws(DatabaseError) -> [ChangedTable] {
        guard let session else { return [] }
        var size: Int32 = 0
        var bytes: UnsafeMutableRawPointer?
        var result = sqlite3session_changeset(session, &size, &bytes)
        defer { sqlite3_free(bytes) }
        guard result == SQLITE_OK else { throw Self.failure(result, database) }
        guard size > 0 else { return [] }
        var cursor: OpaquePointer?
        result = sqlite3changeset_start(&cursor, size, bytes)
        guard result == SQLITE_OK, let cursor else { throw Self.failure(result, database) }
        var changes: [String: ChangedTable] = [:]
        while true {
            result = sqlite3changeset_next(cursor)
            guard result == SQLITE_ROW else { break }
            do throws(DatabaseError) {
                try add(cursor, to: &changes, database)
            } catch {
                sqlite3changeset_finalize(cursor)
                throw error
            }
        }
        sqlite3changeset_finalize(cursor)
        guard result == SQLITE_DONE else { throw Self.failure(result, database) }
        return changes.sorted { $0.key < $1.key }.map(\.value)
    }

    private func add(
        _ cursor: OpaquePointer,
        to changes: inout [String: ChangedTable],
        _ database: Database
    ) throws(DatabaseError) {
        var name: UnsafePointer<CChar>?
        var (count, operation, isIndirect) = (Int32(0), Int32(0), Int32(0))
        let result = sqlite3changeset_op(cursor, &name, &count, &operation, &isIndirect)
        guard result == SQLITE_OK, let name else { throw Self.failure(result, database) }
        let table = String(cString: name)
        guard let shape = tables[table] else { return }
        // Removed from its place while it grows: else each row would copy all of them.
        var change = changes.removeValue(forKey: table) ?? ChangedTable(shape)
        defer { changes[table] = change }
        switch operation {
        case SQLITE_DELETE:
            change.removed.addRow { column in
                var value: OpaquePointer?
                sqlite3changeset_old(cursor, Int32(shape.key[column]), &value)
                return value
            }
        case SQLITE_INSERT:
            change.written.addRow { column in
                var value: OpaquePointer?
                sqlite3changeset_new(cursor, Int32(column), &value)
                return value
            }
        default:
            try database.readWhole(shape, into: &change.written) { place in
                var value: OpaquePointer?
                sqlite3changeset_old(cursor, Int32(shape.key[place]), &value)
                return value
            }
        }
    }

    private static func failure(_ result: Int32, _ database: Database) -> DatabaseError {
        DatabaseError(
            code: result,
            message: "cannot tell which rows were changed in '\(database.path)'",
            path: database.path
        )
    }
}

/// What a transaction has done to one table: what PostgreSQL is to store.
struct ChangedTable {
    let table: SharedTable
    /// Rows as they are now, all columns.
    fileprivate(set) var written: SharedColumns
    /// The primary keys of rows that are gone.
    fileprivate(set) var removed: SharedColumns

    fileprivate init(_ table: SharedTable) {
        self.table = table
        written = SharedColumns(table.columns.map(\.kind))
        removed = SharedColumns(table.key.map { table.columns[$0].kind })
    }

    /// Have PostgreSQL store it.
    ///
    /// Removals first: a row whose key has changed is one removed and another written. Many rows in portions, so that it shows
    /// that PostgreSQL gets on with them, however long all of them take.
    var statements: [PostgresStatement] {
        Self.statements(table.deletion, removed.portions)
            + Self.statements(table.writing, written.portions)
    }

    private static func statements(
        _ sql: String,
        _ portions: [[PostgresValue]]
    ) -> [PostgresStatement] {
        portions.map {
            PostgresStatement(sql, $0, isPrepared: true, isPortion: portions.count > 1)
        }
    }
}

extension Database {
    /// Adds the row with the primary key that `key` gives, column by column.
    fileprivate func readWhole(
        _ table: SharedTable,
        into rows: inout SharedColumns,
        key: (Int) -> OpaquePointer?
    ) throws(DatabaseError) {
        let statement = try prepare(table.selection)
        try statement.withRaw { (handle) throws(DatabaseError) in
            for place in table.key.indices {
                sqlite3_bind_value(handle, Int32(place + 1), key(place))
            }
            guard sqlite3_step(handle) == SQLITE_ROW else {
                throw DatabaseError(of: self.handle, sql: table.selection, path: path)
            }
            rows.addRow { sqlite3_column_value(handle, Int32($0)) }
        }
    }

    /// Adds the rows that `statement` yields, `limit` at a time, and calls `body` with them.
    func readRows(
        of table: SharedTable,
        limit: Int,
        body: ([PostgresValue]) throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        let selection = table.localReading
        let kinds = table.columns.map(\.kind)
        try prepare(selection).withRaw { (handle) throws(DatabaseError) in
            var rows = SharedColumns(kinds)
            var result = sqlite3_step(handle)
            while result == SQLITE_ROW {
                rows.addRow { sqlite3_column_value(handle, Int32($0)) }
                if rows.count == limit {
                    try body(rows.values)
                    rows = SharedColumns(kinds)
                }
                result = sqlite3_step(handle)
            }
            guard result == SQLITE_DONE else {
                throw DatabaseError(of: self.handle, sql: selection, path: path)
            }
            if rows.count > 0 { try body(rows.values) }
        }
    }
}
