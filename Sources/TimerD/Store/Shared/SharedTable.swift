// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Postgres

/// One table as both databases have it: the same columns, and the same primary key.
///
/// The tables in PostgreSQL are made from those in SQLite, so that the migrations say once what a table is. They have no
/// index but the primary key, and neither triggers nor checks: one node at a time writes them, row by row as they are in its
/// copy.
struct SharedTable: Hashable, Sendable {
    struct Column: Hashable, Sendable {
        var name: String
        var kind: Kind
        /// Its place in the primary key, from 1; 0 if it is not in that.
        var keyPlace: Int
    }

    /// What a column of a STRICT table may hold.
    enum Kind: String, Sendable {
        case integer = "INTEGER"
        case text = "TEXT"
        case bytes = "BLOB"

        var inPostgres: String {
            switch self {
            case .integer: "bigint"
            case .text: "text"
            case .bytes: "bytea"
            }
        }
    }

    var name: String
    var columns: [Column]

    /// The columns of the primary key, by their places in `columns`.
    var key: [Int] {
        columns.indices.filter { columns[$0].keyPlace > 0 }
            .sorted { columns[$0].keyPlace < columns[$1].keyPlace }
    }

    /// The tables of a migrated database, by name.
    static func all(of database: Database) throws -> [SharedTable] {
        try database.prepare(Statements.tables).all { try $0.get(0, as: String.self) }.map { name in
            let columns = try database.prepare(Statements.columns).all(name) { row in
                let type = try row.get(1, as: String.self)
                guard let kind = Kind(rawValue: type) else {
                    throw StoreError.unreadable("a column of '\(name)' is of type '\(type)'")
                }
                return Column(name: try row.get(0), kind: kind, keyPlace: try row.get(2))
            }
            return SharedTable(name: name, columns: columns)
        }
    }

    enum Statements {
        static let tables = """
            SELECT name FROM sqlite_schema
            WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name
            """
        static let columns = "SELECT name, type, pk FROM pragma_table_info(?1) ORDER BY cid"
    }
}

/// Its statements. The names are those of the migrations, words that need no quotes but for what SQL has a meaning for.
extension SharedTable {
    private var place: String { "timerd.\"\(name)\"" }
    private func list(_ columns: some Sequence<Column>, _ text: (Column) -> String) -> String {
        columns.map(text).joined(separator: ", ")
    }
    private func quoted(_ column: Column) -> String { "\"\(column.name)\"" }
    private var keyColumns: [Column] { key.map { columns[$0] } }

    // MARK: - In PostgreSQL

    var creation: String {
        let rows = list(columns) { quoted($0) + " " + $0.kind.inPostgres }
        return "CREATE TABLE \(place) (\(rows), PRIMARY KEY (\(list(keyColumns, quoted))))"
            // Most rows are written again and again: with room beside them that needs no new entry in the index.
            + " WITH (fillfactor = 70)"
    }

    var removal: String { "DROP TABLE IF EXISTS \(place)" }

    /// All rows.
    var reading: String { "SELECT \(list(columns, quoted)) FROM \(place)" }

    /// Writes rows whole, whether they were there or not; takes an array for each column.
    var writing: String {
        let others = columns.filter { $0.keyPlace == 0 }
        let update =
            others.isEmpty
            ? "NOTHING" : "UPDATE SET " + list(others) { "\(quoted($0)) = EXCLUDED.\(quoted($0))" }
        return
            "INSERT INTO \(place) (\(list(columns, quoted))) SELECT * FROM \(arrays(of: columns))"
            + " ON CONFLICT (\(list(keyColumns, quoted))) DO \(update)"
    }

    /// Removes rows; takes an array for each column of the primary key.
    var deletion: String {
        let keys = keyColumns
        if let only = keys.first, keys.count == 1 {
            return
                "DELETE FROM \(place) WHERE \(quoted(only)) = ANY ($1::\(only.kind.inPostgres)[])"
        }
        return
            "DELETE FROM \(place) WHERE (\(list(keys, quoted))) IN (SELECT * FROM \(arrays(of: keys)))"
    }

    private func arrays(of columns: [Column]) -> String {
        let types = columns.enumerated().map {
            "$\($0.offset + 1)::\($0.element.kind.inPostgres)[]"
        }
        return "unnest(\(types.joined(separator: ", ")))"
    }

    // MARK: - In SQLite

    /// The row with a primary key, or all rows.
    func local(byKey: Bool) -> String {
        let condition = keyColumns.enumerated().map { "\(quoted($0.element)) = ?\($0.offset + 1)" }
        return "SELECT \(list(columns, quoted)) FROM \"\(name)\""
            + (byKey ? " WHERE " + condition.joined(separator: " AND ") : "")
    }

    var localInsertion: String {
        let marks = columns.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
        return "INSERT INTO \"\(name)\" (\(list(columns, quoted))) VALUES (\(marks))"
    }
}
